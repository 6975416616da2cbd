package running

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// Whoever looks at all leases in parts sees each once, but perhaps one that took the place of one that ended meanwhile.
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
				ls.Drop(job, ls.Run(job))
				delete(there, job)
			}
		}
		jobs := rapid.SliceOfN(rapid.Int64Range(1, 60), 1, 100)
		for _, job := range jobs.Draw(t, "jobs") {
			if add(job); rapid.Bool().Draw(t, "end one") {
				drop(rapid.Int64Range(1, 60).Draw(t, "job"))
			}
		}
		part, ended := rapid.IntRange(1, 70).Draw(t, "part"), 0
		always, seen := maps.Clone(there), map[int64]bool{}
		for from := 0; from < ls.Many(); from += part {
			for l := range ls.Unordered(from, part) {
				if seen[l.Job] || !there[l.Job] {
					t.Fatalf("job %d is seen twice, or has no lease", l.Job)
				}
				seen[l.Job] = true
			}
			if job := rapid.Int64Range(1, 60).Draw(t, "ends"); there[job] {
				drop(job)
				delete(always, job)
				ended++
			}
		}
		missed := slices.DeleteFunc(slices.Collect(maps.Keys(always)), func(job int64) bool { return seen[job] })
		if len(missed) > ended {
			t.Fatalf("%v are not seen, while %d ended", missed, ended)
		}
	})
}
