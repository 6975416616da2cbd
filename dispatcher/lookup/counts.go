package lookup

import (
	"context"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
)

// Ended is how many jobs reached their final state within a time, to the hour, as of what is folded. Jobs that a rule
// gave up are of the queue of their last attempt; those that ended without a lease have none.
func (r *Reader) Ended(ctx context.Context, within time.Duration) ([]explain.Count, error) {
	type row struct {
		ShareID int32
		Share   string
		ShapeID int32
		Queue   string
		Pool    string
		State   string
		N       int64
	}
	rows, err := pg.Collect[row](ctx, r.cfg.DB, query["ends"], pg.Args{"minutes": int(within.Minutes())})
	if err != nil {
		return nil, fmt.Errorf("ended jobs: %w", err)
	}
	shapes := make([]int32, len(rows))
	for i, e := range rows {
		shapes[i] = e.ShapeID
	}
	needs, err := r.needsOf(ctx, shapes)
	if err != nil {
		return nil, fmt.Errorf("ended jobs: %w", err)
	}
	names := map[string]string{}
	for name, letter := range finals {
		names[letter] = name
	}
	out := make([]explain.Count, 0, len(rows))
	for _, e := range rows {
		need, ok := needs[e.ShapeID]
		if !ok {
			continue
		}
		c := explain.Count{Share: e.Share, Class: job.Class(need), Label: need.Label, State: names[e.State], N: e.N}
		if e.Queue != "" {
			c.Queues, c.Pools = []string{e.Queue}, []string{e.Pool}
		}
		out = append(out, c)
	}
	return out, nil
}

// TaskCounts returns how many jobs of tasks are in each state, by task. Tasks of which the log has no job are not there.
func (r *Reader) TaskCounts(ctx context.Context, tasks []int64) (map[int64]TaskCount, error) {
	rows, err := pg.Collect[TaskCount](ctx, r.cfg.DB, query["task_counts"], pg.Args{"tasks": tasks})
	if err != nil {
		return nil, fmt.Errorf("counts of tasks: %w", err)
	}
	by := make(map[int64]TaskCount, len(rows))
	for _, c := range rows {
		by[c.Task] = c
	}
	return by, nil
}
