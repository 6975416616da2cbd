package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// headJob is the oldest of the jobs that are first in the windows of a leaf. Mostly it is in memory, so that a standing takes a look
// at one row a leaf, however many jobs are ready; where no pull has asked for them yet it is looked for among the first ones.
type headJob struct {
	pool  string
	leaf  int   // node of the tree
	job   int64 // 0: the first one of the window
	share int32
	shape int32
}

// headsIn lists the heads of the leaves that have jobs for a pool.
func (s *state) headsIn(p *pool) (heads []headJob) {
	for i := range s.leaves {
		if w := s.leaves[i].oldest(p); w != nil {
			heads = append(heads, headJob{p.name, i, w.first(), int32(w.key.share), w.key.shape})
		}
	}
	return heads
}

// oldest is the window whose first job has the lowest id, for ids are given in the order of time; if none is known, any with ready
// jobs; nil: there is none.
func (l *leaf) oldest(p *pool) (best *window) {
	for _, w := range l.windows {
		if w.ready > 0 && w.shape.power[p.name] > 0 && (best == nil || best.first() == 0 || w.first() > 0 && w.first() < best.first()) {
			best = w
		}
	}
	return best
}

// first is the first job that is in memory; 0: none is.
func (w *window) first() int64 {
	if len(w.jobs) == 0 {
		return 0
	}
	return w.jobs[0].id
}

// waited is how many seconds the heads have waited, from the submission of their tasks on; nil: it has gone.
func (d *Dispatcher) waited(ctx context.Context, heads []headJob) ([]*float64, error) {
	if len(heads) == 0 {
		return nil, nil
	}
	jobs, of, shapes := make([]int64, len(heads)), make([]int32, len(heads)), make([]int32, len(heads))
	for i, h := range heads {
		jobs[i], of[i], shapes[i] = h.job, h.share, h.shape
	}
	rows, err := d.cfg.Pool.Query(ctx, query["waited"], pgx.StrictNamedArgs{"jobs": jobs, "shares": of, "shapes": shapes})
	if err != nil {
		return nil, fmt.Errorf("waited: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[*float64])
}

// addWaited fills in how long the next jobs of leaves have waited, and the longest of it in what is above them.
func standingAddWaited(st *Standing, heads []headJob, waited []*float64) {
	for i := range st.Pools {
		p := &st.Pools[i]
		for k, h := range heads {
			if h.pool == p.Pool && waited[k] != nil {
				seconds := max(0, *waited[k])
				p.Shares[h.leaf-1].Waited = &seconds // the root is no share
			}
		}
		var above []int // positions of the shares that the present one is below
		for i := range p.Shares {
			for len(above) > 0 && p.Shares[above[len(above)-1]].Depth >= p.Shares[i].Depth {
				above = above[:len(above)-1]
			}
			for _, a := range above {
				if w, of := p.Shares[i].Waited, p.Shares[a].Waited; w != nil && p.Shares[i].Leaf && (of == nil || *of < *w) {
					p.Shares[a].Waited = w
				}
			}
			above = append(above, i)
		}
	}
}
