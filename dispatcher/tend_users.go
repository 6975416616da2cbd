package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// mostMisfits bounds the jobs of one TendUsers, and tendUserJobs those of one of its transactions: grants of one of them
// wait for it.
const (
	mostMisfits  = 5000
	tendUserJobs = 1000
)

// TendUsers gives jobs, ready and leased, the shapes that they have in their shares: after a site began to give those of a share by
// fair turn among users, or ceased to, and after tasks went from one share to another. Jobs that wait are seen to when they
// are ready. Where no share gives turns, or did, there is nothing to look at. It returns how many got another shape.
func (d *Dispatcher) TendUsers(ctx context.Context) (n int, err error) {
	d.mu.Lock()
	misfits := d.state.misfits()
	d.mu.Unlock()
	for _, key := range misfits {
		for n < mostMisfits {
			did, more, err := d.fitUsers(ctx, key)
			if err != nil {
				return n, fmt.Errorf("tend users: %w", err)
			}
			if n += did; !more {
				break
			}
		}
	}
	return n, nil
}

// misfits are the shares and shapes of jobs that should have another shape where they are.
func (s *state) misfits() []windowKey {
	found := map[windowKey]bool{}
	look := func(key windowKey) {
		node, ok := s.version.Tree.ByID(key.share)
		sh := s.shapes[key.shape]
		if ok && s.version.Tree.Leaf(node) && sh != nil && !sh.need.Charges() && (s.leaves[node].users != nil) != (sh.full.User != "") {
			found[key] = true
		}
	}
	if !s.turns {
		return nil
	}
	for key, w := range s.windows {
		if w.ready > 0 {
			look(key)
		}
	}
	for share, of := range s.held {
		for key := range of {
			look(windowKey{share, key.shape})
		}
	}
	return slices.Collect(maps.Keys(found))
}

// misfit is a job with a shape that it should not have.
type misfit struct {
	ID       int64
	TaskID   int64
	UserName *string // nil: the shape is to name nobody
}

// fitUsers gives some jobs of a share and shape the one that they should have; more says that there may be others.
func (d *Dispatcher) fitUsers(ctx context.Context, key windowKey) (n int, more bool, err error) {
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		n, more = 0, false
		if err := barrierShared(ctx, tx); err != nil { // the share's plan stays what it is
			return err
		}
		jobs, err := collect[misfit](ctx, tx, "misfit_jobs", pgx.StrictNamedArgs{"share": int32(key.share), "shape": key.shape, "n": tendUserJobs})
		if err != nil || len(jobs) == 0 {
			return err
		}
		ids, to, err := fitShapes(ctx, tx, key.shape, jobs)
		if err != nil || len(ids) == 0 {
			return err
		}
		moves, err := reshapeAll(ctx, tx, ids, to)
		for _, m := range moves {
			if m.After != isNone {
				n += int(m.N)
			}
		}
		more = n > 0 && len(jobs) == tendUserJobs
		if err != nil {
			return err
		}
		return record(ctx, tx, moves)
	})
	return n, more, err
}

// fitShapes are the jobs that should have another shape, and those.
func fitShapes(ctx context.Context, tx pgx.Tx, shape int32, jobs []misfit) (ids []int64, to []int32, err error) {
	of := map[string]int32{}
	var users []*string
	for _, j := range jobs {
		if _, seen := of[nameOf(j.UserName)]; !seen {
			of[nameOf(j.UserName)], users = 0, append(users, j.UserName)
		}
	}
	shapes, err := userShapes(ctx, tx, slices.Repeat([]int32{shape}, len(users)), users)
	if err != nil {
		return nil, nil, err
	}
	for i, u := range users {
		of[nameOf(u)] = shapes[i]
	}
	for _, j := range jobs {
		if fit := of[nameOf(j.UserName)]; fit != shape {
			ids, to = append(ids, j.ID), append(to, fit)
		}
	}
	return ids, to, nil
}

func nameOf(user *string) string {
	if user == nil {
		return ""
	}
	return *user
}

// reshapedLeases counts leases that are alike and got another shape.
type reshapedLeases struct {
	TaskID  int64
	ShareID shares.ShareID
	FromID  int32
	ToID    int32
	QueueID shares.QueueID
	N       int32
	Units   shares.Units
}

// moves takes them out of the old shape and puts them into the new one. What a daemon has in escrow is as it was: both shapes
// ask for the same.
func (g reshapedLeases) moves() []move {
	out := move{Task: g.TaskID, Share: g.ShareID, Shape: g.FromID, Queue: g.QueueID, Before: isLeased, After: isNone, N: g.N, Units: g.Units}
	in := out
	in.Shape, in.Before, in.After = g.ToID, isNone, isLeased
	return []move{out, in}
}

// reshapeAll gives locked jobs, leased or not, other shapes. Leases come second: none of the jobs that had no lease
// gets one meanwhile.
func reshapeAll(ctx context.Context, tx pgx.Tx, ids []int64, to []int32) (moves []move, err error) {
	args := pgx.StrictNamedArgs{"ids": ids, "shapes": to}
	idle, err := collect[reshapedGroup](ctx, tx, "reshape_jobs", args)
	if err != nil {
		return nil, err
	}
	leased, err := collect[reshapedLeases](ctx, tx, "reshape_leases", args)
	if err != nil {
		return nil, err
	}
	for _, g := range idle {
		moves = append(moves, g.moves()...)
	}
	for _, g := range leased {
		moves = append(moves, g.moves()...)
	}
	return moves, nil
}
