package running

import (
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// Whoever looks at all leases in parts sees each once that is there all the time, whatever begins and ends meanwhile.
func TestUnorderedInParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ls, there := New(), map[int64]bool{}
		add := func(job int64) {
			if !there[job] {
				ls.Add(entry.Granted{Job: job, Attempt: 1, Task: job % 3}, "ann", time.Time{})
				there[job] = true
			}
		}
		drop := func(job int64) {
			if there[job] {
				ls.Drop(ls.Run(job))
				delete(there, job)
			}
		}
		jobs := rapid.SliceOfN(rapid.Int64Range(1, 60), 1, 100)
		for _, job := range jobs.Draw(t, "jobs") {
			if add(job); rapid.Bool().Draw(t, "end one") {
				drop(rapid.Int64Range(1, 60).Draw(t, "job"))
			}
		}
		size := rapid.IntRange(1, 70).Draw(t, "part")
		always, seen := maps.Clone(there), map[int64]bool{}
		for from, all := 0, 1; from < all; from += size {
			var part iter.Seq[*Run]
			part, all = ls.Unordered(from, size)
			for l := range part {
				if seen[l.Job] && always[l.Job] || !there[l.Job] {
					t.Fatalf("job %d is seen twice, or has no lease", l.Job)
				}
				seen[l.Job] = true
			}
			job := rapid.Int64Range(1, 60).Draw(t, "ends")
			drop(job)
			delete(always, job)
			add(rapid.Int64Range(61, 99).Draw(t, "begins"))
		}
		if missed := slices.DeleteFunc(slices.Collect(maps.Keys(always)), func(job int64) bool { return seen[job] }); len(missed) > 0 {
			t.Fatalf("%v are not seen", missed)
		}
	})
}
