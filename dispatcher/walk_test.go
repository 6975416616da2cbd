package dispatcher

import (
	"context"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// A walk along several tasks reaches each job of each of them once, however it is cut off, and a task with many jobs does not
// keep it from the others.
func TestWalkAlongManyTasks(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	sizes := map[int64]int{}
	var all []Stretch
	for _, n := range []int{1, 450, 3, 250, 7} {
		f.enqueue(batch{share: "A", n: n})
		sizes[f.tasks] = n
		all = append(all, Stretch{Task: f.tasks})
	}
	all = append(all, Stretch{Task: f.tasks + 1}) // it has no jobs
	reached := map[int64]int{}
	steps, along := 0, all
	for ; len(along) > 0 && steps < 100; steps++ {
		var out []Walked
		err := beginFunc(ctx, f.pool, func(tx pgxTx) (err error) {
			out, err = HoldTasks(ctx, tx, Walk{Along: along, Limit: 300})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		var rest []Stretch
		for i, w := range out {
			reached[along[i].Task] += w.Idle
			if total += w.Idle; w.Idle > sizes[along[i].Task] || w.Next < along[i].After {
				t.Fatalf("step %d, task %d: %+v", steps, along[i].Task, w)
			}
			if w.More {
				rest = append(rest, Stretch{along[i].Task, w.Next})
			}
		}
		if total > 300 {
			t.Fatalf("step %d: %d jobs, the limit is 300", steps, total)
		}
		if steps == 0 && (reached[all[0].Task] != 1 || reached[all[1].Task] < fairShare || reached[all[1].Task] == 450) {
			t.Errorf("the first step: %v", reached)
		}
		along = rest
	}
	for task, n := range sizes {
		if reached[task] != n {
			t.Errorf("task %d: %d of %d jobs", task, reached[task], n)
		}
	}
	if steps > 8 {
		t.Errorf("%d steps", steps)
	}
	f.recount()
	var ready int
	f.scan(&ready, "SELECT count(*) FROM jobs WHERE state = 'ready'")
	if ready != 0 {
		t.Errorf("%d jobs are ready still", ready)
	}
}
