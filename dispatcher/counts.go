package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// Count is how many jobs that are alike are in one state.
type Count struct {
	Share  string   // path of the share that pays
	Class  string   // see JobClass
	Label  string   // of the task
	State  string   // of the jobs: waiting, ready, leased, or a final one
	Queues []string // where they run or ran; of ready jobs where they may; none: nowhere
	Pools  []string // of these queues, each once
	N      int64
}

// Counts is how many jobs are ready and leased, as this daemon knows it now: live counters, no look at jobs.
func (d *Dispatcher) Counts() []Count {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	var out []Count
	for key, w := range s.windows {
		if w.ready > 0 {
			out = append(out, s.countOf(key.share, w.shape, "ready", w.ready, w.shape.queues))
		}
	}
	for share, of := range s.held {
		for key, h := range of {
			if sh := s.shapes[key.shape]; sh != nil && h.jobs > 0 {
				out = append(out, s.countOf(share, sh, "leased", h.jobs, s.only(key.queue)))
			}
		}
	}
	return out
}

// only marks one queue, by position.
func (s *state) only(id shares.QueueID) []bool {
	marks := make([]bool, len(s.version.Queues))
	if q := s.queues[id]; q != nil {
		marks[q.pos] = true
	}
	return marks
}

func (s *state) countOf(share shares.ShareID, sh *shape, state string, n int64, at []bool) Count {
	c := Count{Share: s.pathOf(share), Class: sh.class, Label: sh.need.Label, State: state, N: n}
	for i, in := range at {
		if q := s.version.Queues[i]; in {
			c.Queues = append(c.Queues, q.Name)
			if !slices.Contains(c.Pools, q.Pool) {
				c.Pools = append(c.Pools, q.Pool)
			}
		}
	}
	return c
}

// endCount is a sum over end_counters.
type endCount struct {
	ShareID shares.ShareID
	ShapeID int32
	QueueID shares.QueueID
	State   string
	N       int64
}

var finalStates = map[string]string{isFinished: "finished", isFailed: "failed", isCancelled: "cancelled"}

// Ended is how many jobs reached their final state within a time, to the hour: what the fold has counted, a few seconds
// ago. Jobs that were cancelled before they ran have no queue.
func (d *Dispatcher) Ended(ctx context.Context, within time.Duration) ([]Count, error) {
	rows, err := collect[endCount](ctx, d.cfg.Pool, "count_ends", pgx.StrictNamedArgs{"minutes": int(within.Minutes())})
	if err != nil {
		return nil, fmt.Errorf("ended jobs: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Count, 0, len(rows))
	for _, r := range rows {
		if sh := d.state.shapes[r.ShapeID]; sh != nil {
			out = append(out, d.state.countOf(r.ShareID, sh, finalStates[r.State], r.N, d.state.only(r.QueueID)))
		}
	}
	return out, nil
}
