package machine

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// plays are the recorded tapes, and what each must have: it is there for that.
var plays = map[string]func([]tapeEntry, tapeTally) bool{
	"day": func(all []tapeEntry, c tapeTally) bool {
		return c.Grants-c.TakenBack >= 19_000 && c.Grants >= 20_000 && c.Again >= 1000 && c.Sites >= 10 && c.Shapes >= 100 && has(all, longest(4), floored, withdrew, movedOn)
	},
	"limits":  func(all []tapeEntry, _ tapeTally) bool { return lacks(all, "queue", "pool", "share", "target_slots") },
	"floors":  func(all []tapeEntry, _ tapeTally) bool { return has(all, floored) },
	"lending": func(all []tapeEntry, _ tapeTally) bool { return lacks(all, "lend", "borrow") },
	"users":   func(all []tapeEntry, _ tapeTally) bool { return has(all, ofUser, withdrew) },
	"locality": func(all []tapeEntry, _ tapeTally) bool {
		return has(all, func(e tapeEntry) bool { return e.Elder != nil })
	},
	"wide":   func(all []tapeEntry, _ tapeTally) bool { return has(all, wide) },
	"only":   func(all []tapeEntry, _ tapeTally) bool { return has(all, only) },
	"labels": func(all []tapeEntry, _ tapeTally) bool { return has(all, labelled) },
	"many":   func(all []tapeEntry, _ tapeTally) bool { return has(all, longest(16)) },
	"aging":  func(all []tapeEntry, _ tapeTally) bool { return has(all, aged, withdrew) },
	"memory": func(all []tapeEntry, _ tapeTally) bool {
		return has(all, func(e tapeEntry) bool { return e.Remembered != nil })
	},
	"windows": func(_ []tapeEntry, c tapeTally) bool { return c.Sites >= 4 },
	"resources": func(all []tapeEntry, _ tapeTally) bool {
		return has(all, timed, func(e tapeEntry) bool { return e.Seen != nil }) && lacks(all, "resource_")
	},
	"retry": func(all []tapeEntry, _ tapeTally) bool { return has(all, waits, again) },
	"verbs": func(all []tapeEntry, _ tapeTally) bool { return has(all, withdrew, movedOn) },
	"unmade": func(all []tapeEntry, c tapeTally) bool {
		return c.Pulls[tapeMaking] > 20 && has(all, passedOver, awaited)
	},
}

// has says whether each of some kinds of entries is there.
func has(all []tapeEntry, kinds ...func(tapeEntry) bool) bool {
	return !slices.ContainsFunc(kinds, func(kind func(tapeEntry) bool) bool { return !slices.ContainsFunc(all, kind) })
}

// lacks says whether each of some kinds of limits kept somebody back.
func lacks(all []tapeEntry, kinds ...string) bool {
	return !slices.ContainsFunc(kinds, func(kind string) bool {
		return !slices.ContainsFunc(all, func(e tapeEntry) bool { return e.Pull != nil && strings.HasPrefix(e.Pull.Lacked, kind) })
	})
}

func longest(n int) func(tapeEntry) bool {
	return func(e tapeEntry) bool {
		return e.Pull != nil && len(e.Pull.Grants) >= min(n, e.Pull.Max) && e.Pull.Max > 1
	}
}

func granted(is func(tapeGrant) bool) func(tapeEntry) bool {
	return func(e tapeEntry) bool { return e.Pull != nil && slices.ContainsFunc(e.Pull.Grants, is) }
}

var (
	floored  = granted(func(g tapeGrant) bool { return g.Floor })
	withdrew = func(e tapeEntry) bool { return e.Withdrawn != nil }
	movedOn  = func(e tapeEntry) bool { return e.Moved != nil }
	ofUser   = func(e tapeEntry) bool { return e.Shape != nil && e.Shape.Need.User != "" }
	wide     = func(e tapeEntry) bool {
		return e.Adopt != nil && e.Adopt.Site != nil && slices.ContainsFunc(e.Adopt.Site.Queues, func(q shares.Queue) bool { return q.Prefer == "wide" })
	}
	only = func(e tapeEntry) bool {
		return e.Pull != nil && e.Pull.Only != nil && e.Pull.Only.User != "" && len(e.Pull.Grants) > 0
	}
	labelled   = func(e tapeEntry) bool { return e.Pull != nil && len(e.Pull.Slot.Labels) > 0 && len(e.Pull.Grants) > 0 }
	aged       = func(e tapeEntry) bool { return e.Ready != nil && e.Ready.Place > 1_000_000 }
	timed      = func(e tapeEntry) bool { return e.Pull != nil && e.Pull.AtUS > 0 }
	waits      = func(e tapeEntry) bool { return e.Ended != nil && e.Ended.Next == tapeWaits }
	again      = func(e tapeEntry) bool { return e.Ready != nil && !e.Ready.Made }
	passedOver = func(e tapeEntry) bool { return e.Pull != nil && len(e.Pull.Passed) > 0 }
	awaited    = func(e tapeEntry) bool { return e.Awaited != nil }
)

// Every recorded tape is whole: who is granted was ready and not held, what ended was held, and all that decisions name is known.
func TestTapes(t *testing.T) {
	files, err := filepath.Glob("testdata/tapes/*.jsonl.gz")
	if err != nil || len(files) != len(plays) {
		t.Fatalf("%d tapes, want %d: %v", len(files), len(plays), err)
	}
	size := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			size += len(content)
			all, err := readTape(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			c, err := checkTape(all)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", c)
			if c.Gone > 0 || c.Pulls[tapeGiven] < 80 || c.Contests < 40 || c.Grants < c.Contests {
				t.Errorf("%+v: want no job that was gone, and decisions", c)
			}
			if of := plays[name]; of == nil || !of(all, c) {
				t.Error("it has not what it is there for")
			}
		})
	}
	if size > 1_500_000 {
		t.Errorf("%d bytes, at most 1.5 MB", size)
	}
}

// A tape that cannot be is found out.
func TestCheckRefuses(t *testing.T) {
	tree, err := shares.Build([]shares.Spec{{Name: "A", Plan: shares.DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(string) shares.ShareID { return 7 })
	key := tapeKey{7, 1}
	start := []tapeEntry{{Begin: &tapeBegin{}}, {Adopt: &tapeAdopt{Number: 1, Site: &shares.Version{Number: 1, Tree: tree}}}, {Shape: &tapeShape{ID: 1}}, {Ready: &tapeReady{tapeKey: key, Jobs: []tapeSpan{{1, 3}}}}}
	grant := func(verdict string, job int64) tapeEntry {
		return tapeEntry{Pull: &tapePull{Max: 1, Verdict: verdict, Grants: []tapeGrant{{Job: job, tapeKey: key}}}}
	}
	for name, more := range map[string][]tapeEntry{
		"twice":          {grant(tapeGiven, 1), grant(tapeGiven, 1)},
		"never ready":    {grant(tapeGiven, 4)},
		"not taken back": {grant(tapeUndone, 1), {Seen: &tapeSeen{}}},
		"not held":       {{Ended: &tapeEnded{Job: 1, Next: tapeOver}}},
		"held":           {grant(tapeGiven, 1), {Withdrawn: &tapeReady{tapeKey: key, Jobs: []tapeSpan{{1, 1}}}}},
		"other place":    {{Withdrawn: &tapeReady{tapeKey: key, Place: 1, Jobs: []tapeSpan{{1, 1}}}}},
		"there already":  {{Ready: &tapeReady{tapeKey: key, Jobs: []tapeSpan{{3, 4}}}}},
		"other share":    {grant(tapeGiven, 1), {Moved: &tapeMoved{From: tapeKey{8, 1}, To: key, Jobs: []tapeSpan{{1, 1}}}}},
		"none with jobs": {grant(tapeNone, 1)},
		"nothing":        {{}},
		"unknown site":   {{Adopt: &tapeAdopt{Number: 2}}},
	} {
		if _, err := checkTape(append(slices.Clone(start), more...)); err == nil {
			t.Errorf("%s: it passed", name)
		}
	}
	if c, err := checkTape(append(slices.Clone(start), grant(tapeGiven, 2), tapeEntry{Ended: &tapeEnded{Job: 2, Next: tapeAgain, Place: 5}})); err != nil || c.Left != 3 || c.Held != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}
