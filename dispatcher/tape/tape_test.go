package tape

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// plays are the recorded tapes, and what each must have: it is there for that.
var plays = map[string]func([]Entry, Tally) bool{
	"day": func(all []Entry, c Tally) bool {
		return c.Grants-c.TakenBack >= 19_000 && c.Grants >= 20_000 && c.Again >= 1000 && c.Sites >= 10 && c.Shapes >= 100 && has(all, longest(4), floored, withdrew, movedOn)
	},
	"limits":    func(all []Entry, _ Tally) bool { return lacks(all, "queue", "pool", "share", "target_slots") },
	"floors":    func(all []Entry, _ Tally) bool { return has(all, floored) },
	"lending":   func(all []Entry, _ Tally) bool { return lacks(all, "lend", "borrow") },
	"users":     func(all []Entry, _ Tally) bool { return has(all, named, withdrew) },
	"locality":  func(all []Entry, _ Tally) bool { return has(all, func(e Entry) bool { return e.Elder != nil }) },
	"wide":      func(all []Entry, _ Tally) bool { return has(all, wide) },
	"only":      func(all []Entry, _ Tally) bool { return has(all, narrow) },
	"labels":    func(all []Entry, _ Tally) bool { return has(all, labelled) },
	"many":      func(all []Entry, _ Tally) bool { return has(all, longest(16)) },
	"aging":     func(all []Entry, _ Tally) bool { return has(all, aged, withdrew) },
	"memory":    func(all []Entry, _ Tally) bool { return has(all, func(e Entry) bool { return e.Remembered != nil }) },
	"windows":   func(_ []Entry, c Tally) bool { return c.Sites >= 4 },
	"resources": func(all []Entry, _ Tally) bool { return has(all, timed, seen) && lacks(all, "resource_") },
	"retry":     func(all []Entry, _ Tally) bool { return has(all, waits, again) },
	"verbs":     func(all []Entry, _ Tally) bool { return has(all, withdrew, movedOn) },
	"unmade":    func(all []Entry, c Tally) bool { return c.Pulls[Making] > 20 && has(all, passed, awaited) },
}

// has says whether each of some kinds of entries is there.
func has(all []Entry, kinds ...func(Entry) bool) bool {
	return !slices.ContainsFunc(kinds, func(kind func(Entry) bool) bool { return !slices.ContainsFunc(all, kind) })
}

// lacks says whether each of some kinds of limits kept somebody back.
func lacks(all []Entry, kinds ...string) bool {
	return !slices.ContainsFunc(kinds, func(kind string) bool {
		return !slices.ContainsFunc(all, func(e Entry) bool { return e.Pull != nil && strings.HasPrefix(e.Pull.Lacked, kind) })
	})
}

func longest(n int) func(Entry) bool {
	return func(e Entry) bool { return e.Pull != nil && len(e.Pull.Grants) >= min(n, e.Pull.Max) && e.Pull.Max > 1 }
}

func granted(is func(Grant) bool) func(Entry) bool {
	return func(e Entry) bool { return e.Pull != nil && slices.ContainsFunc(e.Pull.Grants, is) }
}

var (
	floored  = granted(func(g Grant) bool { return g.Floor })
	withdrew = func(e Entry) bool { return e.Withdrawn != nil }
	movedOn  = func(e Entry) bool { return e.Moved != nil }
	named    = func(e Entry) bool { return e.Shape != nil && e.Shape.Need.User != "" }
	wide     = func(e Entry) bool {
		return e.Adopt != nil && e.Adopt.Site != nil && slices.ContainsFunc(e.Adopt.Site.Queues, func(q shares.Queue) bool { return q.Prefer == "wide" })
	}
	narrow = func(e Entry) bool {
		return e.Pull != nil && e.Pull.Only != nil && e.Pull.Only.User != "" && len(e.Pull.Grants) > 0
	}
	labelled = func(e Entry) bool { return e.Pull != nil && len(e.Pull.Slot.Labels) > 0 && len(e.Pull.Grants) > 0 }
	aged     = func(e Entry) bool { return e.Ready != nil && e.Ready.Place > 1_000_000 }
	timed    = func(e Entry) bool { return e.Pull != nil && e.Pull.AtUS > 0 }
	seen     = func(e Entry) bool { return e.Seen != nil }
	waits    = func(e Entry) bool { return e.Ended != nil && e.Ended.Next == Waits }
	again    = func(e Entry) bool { return e.Ready != nil && !e.Ready.Made }
	passed   = func(e Entry) bool { return e.Pull != nil && len(e.Pull.Passed) > 0 }
	awaited  = func(e Entry) bool { return e.Awaited != nil }
)

// Every recorded tape is whole: who is granted was ready and not held, what ended was held, and all that decisions name is known.
func TestTapes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl.gz")
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
			all, err := Read(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			c, err := Check(all)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", c)
			if c.Gone > 0 || c.Pulls[Given] < 80 || c.Contests < 40 || c.Grants < c.Contests {
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

// What is written is read again.
func TestWriteAndRead(t *testing.T) {
	tree, err := shares.Build([]shares.Spec{{Name: "A", Plan: shares.DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(string) shares.ShareID { return 7 })
	key, n := Key{7, 1}, 4
	all := []Entry{
		{Begin: &Begin{LocalWaitMS: 5, AtUS: 6}},
		{Adopt: &Adopt{Number: 1, Site: &shares.Version{Number: 1, Tree: tree, Queues: []shares.Queue{{ID: 3, Name: "q", State: shares.Online, Slots: &n}}}, Targets: []Target{{Queue: "q", Slots: 2, Floor: true}}}},
		{Shape: &Shape{ID: 1, Need: job.Requirements{Cores: 1}}},
		{Ready: &Ready{Task: 9, Key: key, Place: -1, Jobs: Spans([]int64{4, 5, 8}), Made: true}},
		{Pull: &Pull{Number: 1, Queue: 3, Max: 2, Only: &job.Only{Task: 9}, Verdict: Undone, Grants: []Grant{{Job: 8, Attempt: 1, Key: key, Units: 1000}}, Passed: []Pass{{key, 1}}}},
		{TakeBack: &TakeBack{Job: 8}},
	}
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, e := range all {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, got, cmp.Comparer(func(a, b *shares.Tree) bool { return cmp.Equal(a.Nodes, b.Nodes) })); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if node, ok := got[1].Adopt.Site.Tree.ByID(7); !ok || node != 1 {
		t.Errorf("share 7 is node %d, %v", node, ok)
	}
}

// A tape that cannot be is found out.
func TestCheckRefuses(t *testing.T) {
	tree, err := shares.Build([]shares.Spec{{Name: "A", Plan: shares.DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(string) shares.ShareID { return 7 })
	key := Key{7, 1}
	start := []Entry{{Begin: &Begin{}}, {Adopt: &Adopt{Number: 1, Site: &shares.Version{Number: 1, Tree: tree}}}, {Shape: &Shape{ID: 1}}, {Ready: &Ready{Key: key, Jobs: []Span{{1, 3}}}}}
	grant := func(verdict string, job int64) Entry {
		return Entry{Pull: &Pull{Max: 1, Verdict: verdict, Grants: []Grant{{Job: job, Key: key}}}}
	}
	for name, more := range map[string][]Entry{
		"twice":          {grant(Given, 1), grant(Given, 1)},
		"never ready":    {grant(Given, 4)},
		"not taken back": {grant(Undone, 1), {Seen: &Seen{}}},
		"not held":       {{Ended: &Ended{Job: 1, Next: Over}}},
		"held":           {grant(Given, 1), {Withdrawn: &Ready{Key: key, Jobs: []Span{{1, 1}}}}},
		"other place":    {{Withdrawn: &Ready{Key: key, Place: 1, Jobs: []Span{{1, 1}}}}},
		"there already":  {{Ready: &Ready{Key: key, Jobs: []Span{{3, 4}}}}},
		"other share":    {grant(Given, 1), {Moved: &Moved{From: Key{8, 1}, To: key, Jobs: []Span{{1, 1}}}}},
		"none with jobs": {grant(None, 1)},
		"nothing":        {{}},
		"unknown site":   {{Adopt: &Adopt{Number: 2}}},
	} {
		if _, err := Check(append(slices.Clone(start), more...)); err == nil {
			t.Errorf("%s: it passed", name)
		}
	}
	if c, err := Check(append(slices.Clone(start), grant(Given, 2), Entry{Ended: &Ended{Job: 2, Next: Again, Place: 5}})); err != nil || c.Left != 3 || c.Held != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}
