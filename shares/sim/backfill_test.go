package sim

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// easy starts jobs by the definition of EASY, second by second, and returns their waits by leaf.
func easy(jobs []Job, capacity shares.Units) map[int][]time.Duration {
	waits := map[int][]time.Duration{}
	type running struct {
		end   time.Duration
		units shares.Units
	}
	var waiting []Job
	var runs []running
	free := capacity
	start := func(now time.Duration, k int) {
		j := waiting[k]
		waiting = slices.Delete(waiting, k, k+1)
		waits[j.Leaf] = append(waits[j.Leaf], now-j.At)
		runs, free = append(runs, running{now + j.Runtime, j.Units}), free-j.Units
	}
	for now, left := time.Duration(0), jobs; len(left)+len(waiting)+len(runs) > 0; now += time.Second {
		for len(left) > 0 && left[0].At == now {
			waiting, left = append(waiting, left[0]), left[1:]
		}
		for again := true; again; { // jobs without a run time end at once
			again = false
			runs = slices.DeleteFunc(runs, func(r running) bool {
				if r.end <= now {
					free += r.units
				}
				return r.end <= now
			})
			for len(waiting) > 0 && waiting[0].Units <= free {
				again = again || waiting[0].Runtime == 0
				start(now, 0)
			}
			if len(waiting) == 0 {
				continue
			}
			slices.SortFunc(runs, func(a, b running) int { return int(a.end - b.end) })
			will, shadow := free, now
			for _, r := range runs {
				if will < waiting[0].Units || r.end == shadow {
					will, shadow = will+r.units, r.end
				}
			}
			extra := will - waiting[0].Units
			for k := 1; k < len(waiting); k++ {
				j := waiting[k]
				before := now+j.Runtime <= shadow
				if j.Units > free || !before && j.Units > extra {
					continue
				}
				if !before {
					extra -= j.Units
				}
				again = again || j.Runtime == 0
				start(now, k)
				k--
			}
		}
	}
	return waits
}

// TestEASYIsTheDefinition: every job starts when EASY as it is defined starts it.
func TestEASYIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, err := shares.Build([]shares.Spec{share("A", 1), share("B", 2), share("C", 1)})
		if err != nil {
			t.Fatal(err)
		}
		capacity := shares.Units(rapid.IntRange(1, 12).Draw(t, "slots")) * 1000
		var jobs []Job
		for i := range rapid.IntRange(1, 60).Draw(t, "jobs") {
			jobs = append(jobs, Job{ID: int64(i), Leaf: rapid.IntRange(1, 3).Draw(t, "leaf"),
				At:      time.Duration(rapid.IntRange(0, 60).Draw(t, "at")) * time.Second,
				Runtime: time.Duration(rapid.IntRange(1, 30).Draw(t, "run")) * time.Second,
				Units:   min(capacity, shares.Units(rapid.IntRange(1, 12).Draw(t, "cores"))*1000)})
		}
		slices.SortStableFunc(jobs, func(a, b Job) int { return int(a.At - b.At) })
		e := newRun(Config{Tree: tree, Capacity: capacity, Rule: EASY{}})
		if _, err := e.play(jobs, 0); err != nil {
			t.Fatal(err)
		}
		want := easy(jobs, capacity)
		for leaf := 1; leaf <= 3; leaf++ {
			got := slices.Clone(e.gauges[leaf].waits)
			slices.Sort(got)
			slices.Sort(want[leaf])
			if !slices.Equal(got, want[leaf]) {
				t.Fatalf("%s waits %v, want %v", tree.Nodes[leaf].Path, got, want[leaf])
			}
		}
	})
}
