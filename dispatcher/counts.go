package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// Counts is how many jobs are ready and leased, as this daemon knows it now: live counters, no look at jobs. Grants wait
// for it, so it does the same little for each kind of jobs however many queues there are; the names of queues are shared
// between counts and not to be changed.
func (d *Dispatcher) Counts() []Count {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	n := len(s.windows)
	for _, of := range s.held {
		n += len(of)
	}
	out, at := make([]Count, 0, n), s.naming()
	for key, w := range s.windows {
		if w.ready > 0 {
			out = append(out, countAt(s.countOf(key.share, w.shape, "ready", w.ready), at.all(w)))
		}
	}
	for share, of := range s.held {
		for key, h := range of {
			if sh := s.shapes[key.shape]; sh != nil && h.jobs > 0 && !sh.need.Charges() {
				out = append(out, countAt(s.countOf(share, sh, "leased", h.jobs), at.one(key.queue)))
			}
		}
	}
	return out
}

func (s *state) countOf(share shares.ShareID, sh *shape, state string, n int64) Count {
	return Count{Share: s.pathOf(share), Class: sh.class, Label: sh.need.Label, State: state, N: n}
}

// at puts a count at queues.
func countAt(c Count, p *places) Count {
	c.Queues, c.Pools = p.queues, p.pools
	return c
}

// places are queues and their pools, by name.
type places struct{ queues, pools []string }

// naming makes places, each once.
type naming struct {
	s        *state
	queues   map[shares.QueueID]*places
	outlines map[placed]*places
}

// placed is what says where jobs may run: their outline and, where queues do not run all shares, whose they are.
type placed struct {
	outline *outline
	leaf    int // 0: whoever's they are
}

func (s *state) naming() naming {
	return naming{s, map[shares.QueueID]*places{}, map[placed]*places{}}
}

// one is a queue; nowhere when it is not there any more.
func (n naming) one(id shares.QueueID) *places {
	p := n.queues[id]
	if p == nil {
		p = &places{}
		if q := n.s.queues[id]; q != nil {
			p.add(n.s.version.Queues[q.pos])
		}
		n.queues[id] = p
	}
	return p
}

// all are the queues that jobs of a window may run at.
func (n naming) all(w *window) *places {
	key := placed{outline: w.shape.outline}
	if len(n.s.policies) > 0 {
		key.leaf = w.leaf
	}
	p := n.outlines[key]
	if p == nil {
		p = &places{}
		for i := range key.outline.queues {
			if w.leaf >= 0 && n.s.mayRun(i, w.leaf, key.outline) {
				p.add(n.s.version.Queues[i])
			}
		}
		n.outlines[key] = p
	}
	return p
}

func (p *places) add(q shares.Queue) {
	p.queues = append(p.queues, q.Name)
	if !slices.Contains(p.pools, q.Pool) {
		p.pools = append(p.pools, q.Pool)
	}
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
	out, at := make([]Count, 0, len(rows)), d.state.naming()
	for _, r := range rows {
		if sh := d.state.shapes[r.ShapeID]; sh != nil {
			out = append(out, countAt(d.state.countOf(r.ShareID, sh, finalStates[r.State], r.N), at.one(r.QueueID)))
		}
	}
	return out, nil
}
