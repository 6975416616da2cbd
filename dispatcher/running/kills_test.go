package running

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// Leases show the kills of their jobs as if each job had been looked at, also those that a checkpoint brings back.
func TestKillsAreOfEachJob(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type kill struct {
			order Order
			idle  bool
		}
		ls, want, attempt := New(), map[int64]*kill{}, int32(0)
		draw := func(t *rapid.T) (task, low, high int64) {
			low = rapid.Int64Range(1, 30).Draw(t, "low")
			return rapid.Int64Range(1, 2).Draw(t, "task"), low, low + rapid.SampledFrom([]int64{0, 1, 5, 100}).Draw(t, "more")
		}
		t.Repeat(map[string]func(*rapid.T){
			"grant": func(t *rapid.T) {
				task, job, _ := draw(t)
				if ls.Run(job) != nil {
					return
				}
				attempt++
				ls.Made(task, job, job) // it is another job
				ls.Add(entry.Granted{Job: job, Attempt: attempt, Task: task}, "ann", time.Time{})
				want[job] = nil
			},
			"end": func(t *rapid.T) {
				if _, job, _ := draw(t); ls.Run(job) != nil {
					ls.Drop(ls.Run(job))
					delete(want, job)
				}
			},
			"kill": func(t *rapid.T) {
				task, low, high := draw(t)
				e := entry.Killed{Task: task, Low: low, High: high, Reason: fmt.Sprint("reason ", rapid.IntRange(0, 3).Draw(t, "reason")), Idle: rapid.Bool().Draw(t, "idle")}
				ls.Kill(e)
				for job, had := range want {
					if ls.Run(job).Task == task && low <= job && job <= high && (had == nil || had.idle || !e.Idle) {
						want[job] = &kill{Order{e.Reason, e.GraceS}, e.Idle}
					}
				}
			},
			"restore": func(*rapid.T) {
				other := New()
				for l := range ls.All() {
					l.Order = nil
					other.Restore(l, time.Time{})
				}
				other.Remind(ls.Save())
				ls = other
			},
			"": func(t *rapid.T) {
				for job, k := range want {
					l, _ := ls.Of(job)
					switch {
					case l.Killed != (k != nil) || k != nil && l.Idle != k.idle:
						t.Fatalf("job %d: %+v, want %+v", job, l, k)
					case k != nil && !k.idle && (l.Order == nil || *l.Order != k.order), (k == nil || k.idle) && l.Order != nil:
						t.Fatalf("job %d: order %+v, want %+v", job, l.Order, k)
					}
					for outcome, killed := range map[entry.Outcome]entry.Next{entry.Finished: entry.Over, entry.Failed: entry.Undone, entry.Lost: entry.Undone} {
						next := l.Becomes(outcome, entry.Again)
						if want := map[bool]entry.Next{true: entry.Again, false: killed}[k == nil]; next != want {
							t.Fatalf("job %d with outcome %c becomes %q, want %q", job, outcome, next, want)
						}
					}
				}
			},
		})
	})
}
