package sim

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// mostUntilFound bounds how many histories may pass before a broken variant is found. The short form of TestHistories plays as many.
const mostUntilFound = 400

// partOf are parts that histories have for variants that show in few of the others.
var partOf = map[string]string{"start-without-waits": "waits", "owed-comes-not-first": "owned", "reclaim-of-more-than-is-owed": "owned"}

// found are seeds that find variants which show late, as of when somebody looked: they are tried first. The search is what holds, at
// night always and by day when histories have changed.
var found = map[string]uint64{
	"away-is-none":                 23,
	"borrowed-without-limit":       8,
	"claim-of-people-is-anywhere":  16,
	"claim-of-too-many":            59,
	"claim-on-two-nodes":           35,
	"closed-is-tried-again":        71,
	"deleted-claim-is-held":        74,
	"devices-not-taken":            57,
	"doubt-is-success":             37,
	"failover-unnoticed":           37,
	"handed-on-twice":              239,
	"move-without-leases":          12,
	"no-grace-after-outage":        17,
	"none-from-stale":              26,
	"owed-comes-not-first":         95,
	"paused-is-granted":            17,
	"place-ignored":                13,
	"reclaim-of-more-than-is-owed": 965,
	"reclaim-of-the-claimer":       12,
	"reclaim-of-the-oldest":        12,
	"reclaim-of-what-is-owned":     12,
	"reclaimed-is-over":            33,
	"report-counts-ours-twice":     10,
	"report-ignored":               222,
	"retry-of-one":                 265,
	"row-taken-twice":              53,
	"start-forgets-units":          35,
	"start-without-homes":          95,
	"start-without-pauses":         17,
	"start-without-pauses-unseen":  17,
	"start-without-waits":          537,
	"template-that-is-not-there":   65,
	"units-of-claims-are-free":     118,
	"units-of-each-queue":          10,
	"wait-ignored":                 24,
	"wall-clock":                   25,
	"weights-ignored":              19,
}

// Each broken rule is found. A check that finds none of them is no check.
func TestBrokenVariantsAreFound(t *testing.T) {
	t.Parallel()
	wanted := maps.Clone(wanted)
	maps.Copy(wanted, heldWanted)
	maps.Copy(wanted, ownedWanted)
	maps.Copy(wanted, asideWanted)
	for _, v := range slices.Concat(variants, heldVariants, ownedVariants, asideVariants) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			w := sound()
			v.bend(&w)
			w.Replays = false // the other checks find it
			finds := func(p Plan) bool {
				r := play(p, w)
				if len(r.Wrong) == 0 || !strings.Contains(r.Wrong[0], wanted[v.name]) {
					return false
				}
				t.Logf("seed %d: %s", p.Seed, first(r.Wrong[0]))
				return true
			}
			if seed, known := found[v.name]; known && os.Getenv("DIVVY_LONG") == "" && finds(Draw(seed)) {
				return
			}
			played := 0
			for seed := uint64(0); played < mostUntilFound; seed++ {
				p := Draw(seed)
				if part := partOf[v.name]; part != "" && !p.has(part) {
					continue
				}
				if played++; finds(p) {
					return
				}
			}
			t.Errorf("not found in %d histories", mostUntilFound)
		})
	}
}

// Ten variants and more are bugs that there were.
func TestVariantsAreBugsThatWere(t *testing.T) {
	text, err := os.ReadFile("testdata/bugs.md")
	if err != nil {
		t.Fatal(err)
	}
	bugs := map[string]bool{}
	for _, v := range variants {
		if bugs[v.bug] = v.bug != ""; !strings.Contains(string(text), v.bug) {
			t.Errorf("%s: testdata/bugs.md has no %q", v.name, v.bug)
		}
	}
	if n := len(bugs); n < 11 { // one of them is none
		t.Errorf("%d variants are bugs that there were, want ten", n-1)
	}
}

// A failure is shrunk to one that is no longer, and what is printed plays it again.
func TestShrink(t *testing.T) {
	t.Parallel()
	w := sound()
	variants[0].bend(&w)
	fails := func(p Plan) bool { return len(play(p, w).Wrong) > 0 }
	seed := uint64(0)
	for !fails(Draw(seed)) {
		seed++
	}
	whole := Draw(seed)
	shrunk, keep := Shrink(whole, 200, fails)
	again := Draw(seed)
	if err := again.Keep(keep); err != nil {
		t.Fatal(err)
	}
	if a, b := Run(shrunk, w, nil), Run(again, w, nil); a.Trace != b.Trace || len(b.Wrong) == 0 {
		t.Errorf("-keep '%s' plays another history: %x, %x", keep, a.Trace, b.Trace)
	}
	size := func(p Plan) int { return len(p.Faults) + len(p.Deeds) + len(p.Habits) }
	if a, b := size(shrunk), size(whole); a >= b {
		t.Errorf("shrunk from %d faults, deeds and pilots to %d", b, a)
	}
	for _, wrong := range []string{"faults=99", "daemons=2", "span=x", "less=pilots"} {
		if err := again.Keep(wrong); err == nil {
			t.Errorf("-keep '%s' is taken", wrong)
		}
	}
}

// What a failure does not need is taken away, and what it needs stays.
func TestShrinkTakesPartsAway(t *testing.T) {
	t.Parallel()
	rare := []string{"pauses", "waits", "spares", "haste"}
	whole := Draw(0)
	for seed := uint64(1); slices.ContainsFunc(rare, func(part string) bool { return !whole.has(part) }); seed++ {
		whole = Draw(seed)
	}
	for _, need := range rare {
		shrunk, keep := Shrink(whole, 1000, func(p Plan) bool { return p.has(need) })
		for part := range parts {
			if want := part == need || part == "claims" && need == "spares"; shrunk.has(part) != want { // a spare is of a claim
				t.Errorf("%s is needed, and seed %d is shrunk to %s: %s is there: %v", need, whole.Seed, keep, part, !want)
			}
		}
		again := Draw(whole.Seed)
		if err := again.Keep(keep); err != nil {
			t.Fatal(err)
		}
		if a, b := Run(shrunk, sound(), nil), Run(again, sound(), nil); a.Trace != b.Trace {
			t.Errorf("-keep '%s' plays another history", keep)
		}
	}
}

func first(text string) string {
	if len(text) > 150 {
		text = text[:150]
	}
	return text
}
