package dispatcher

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// Fold adds the tail of the ledger to the checkpoint, so that a daemon starts quickly and reports read little. It
// returns how many rows it folded; 0 too when another daemon is at it.
func (d *Dispatcher) Fold(ctx context.Context) (n int, err error) {
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		n = 0
		if ok, err := pg.TryLock(ctx, tx, pg.LockFold, 0); err != nil || !ok {
			return err
		}
		return tx.QueryRow(ctx, query["fold"], pgx.StrictNamedArgs{"n": 5000}).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("fold: %w", err)
	}
	return n, nil
}

// Heartbeat says that this daemon lives, and closes those that were silent for Timing.DaemonTTL: what they held
// in escrow is free again. It returns how many it closed.
func (d *Dispatcher) Heartbeat(ctx context.Context) (n int, err error) {
	queues := d.pilotQueues()
	d.mu.Lock()
	id := d.id
	d.mu.Unlock()
	args := pgx.StrictNamedArgs{"daemon": id, "ttl_s": d.cfg.Timing.DaemonTTL.Seconds(), "queues": queues}
	rows, err := d.cfg.Pool.Query(ctx, query["heartbeat"], args)
	if err != nil {
		return 0, fmt.Errorf("heartbeat: %w", err)
	}
	dead, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, fmt.Errorf("heartbeat: %w", err)
	}
	d.heard(time.Now())
	if len(dead) == 0 {
		return 0, nil
	}
	d.endSleepers(ctx)
	return len(dead), d.closeDaemons(ctx, dead)
}

// endSleepers ends what frozen daemons left open while it holds locks. Half of Timing.DaemonTTL is long for a live daemon, and
// less than one that is taken for dead has been silent, whenever between two heartbeats that began. Where it may not (a managed
// server), the dead are closed when PostgreSQL has ended those sessions by itself.
func (d *Dispatcher) endSleepers(ctx context.Context) {
	args := pgx.StrictNamedArgs{"silent_s": d.cfg.Timing.DaemonTTL.Seconds() / 2, "classes": pg.DaemonLocks()}
	ended, err := column(ctx, d.cfg.Pool, "end_sleepers", args)
	if err != nil {
		d.cfg.Log.Warn("what silent daemons may have left in transactions was not ended", "err", err)
	}
	if len(ended) > 0 {
		d.cfg.Log.Warn("sessions that held locks of divvy and waited for their client for too long were ended", "pids", ended)
	}
}

// closeDaemons fences daemons: after it none of their grants can commit, and their escrow is part of the free units.
func (d *Dispatcher) closeDaemons(ctx context.Context, ids []int64) error {
	// The tail is read while grants wait: fold most of it first. If that fails it is only longer.
	if _, err := d.Fold(ctx); err != nil {
		d.cfg.Log.Debug("not folded before closing daemons", "err", err)
	}
	return pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		if err := Barrier(ctx, tx); err != nil {
			return fmt.Errorf("close daemons: %w", err)
		}
		tag, err := tx.Exec(ctx, query["close_daemons"], pgx.StrictNamedArgs{"daemons": ids})
		if err != nil {
			return fmt.Errorf("close daemons: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		if err := d.rebaseNewest(ctx, tx); err != nil {
			return fmt.Errorf("close daemons: %w", err)
		}
		return nil
	})
}

// Daemons is how many daemons are open as far as this one knows, itself among them: background work that each of them
// does can be spread over them.
func (d *Dispatcher) Daemons() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(1, len(d.daemons))
}

// Totals are how many jobs were made, and granted, since this daemon began, by all daemons as far as it has followed them; what
// these did shortly before, and nobody had folded yet, is among them.
func (d *Dispatcher) Totals() (made, granted int64) { return d.made.Load(), d.granted.Load() }

// Sample writes down the standing of every share, for plots and to compare what was promised with what was given.
// One daemon does it; the others find the lock taken.
func (d *Dispatcher) Sample(ctx context.Context) (n int, err error) {
	st := d.Standing()
	var pools []string
	var ids []int32
	var targets, deserved []float64
	var lent, borrowed []*float64
	var held, ready []int64
	for _, p := range st.Pools {
		for _, s := range p.Shares {
			pools, ids, targets = append(pools, p.Pool), append(ids, int32(s.ID)), append(targets, s.Target)
			deserved, lent, borrowed = append(deserved, s.Deserved), append(lent, some(s.Lent)), append(borrowed, some(s.Borrowed))
			held, ready = append(held, int64(s.Held*1000+0.5)), append(ready, s.Ready)
		}
	}
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		n = 0
		if ok, err := pg.TryLock(ctx, tx, pg.LockSample, 0); err != nil || !ok {
			return err
		}
		tag, err := tx.Exec(ctx, query["sample"], pgx.StrictNamedArgs{
			"pools": pools, "shares": ids, "targets": targets, "held": held, "ready": ready,
			"deserved": deserved, "lent": lent, "borrowed": borrowed})
		n = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sample: %w", err)
	}
	return n, nil
}

// some is a figure, or nil for none, which takes no place in a row. What is less than a thousandth of a unit is rounding.
func some(units float64) *float64 {
	if units < 0.001 {
		return nil
	}
	return &units
}

// Queues is the state of all queues as this daemon knows it now, in file order.
func (d *Dispatcher) Queues() []QueueStanding {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]QueueStanding, 0, len(d.state.version.Queues))
	waiting := map[string]int{}
	for _, c := range d.line.classes {
		waiting[c.queue] += c.pulls.Len()
	}
	for _, q := range d.state.version.Queues {
		e := d.state.queues[q.ID]
		row := QueueStanding{Queue: q, HeldCores: e.heldCores, HeldJobs: e.heldJobs, Pilots: len(e.pilots), Waiting: waiting[q.Name],
			TargetSlots: d.state.targetStandings(e)}
		row.HeldIO = d.state.heldIO(e)
		if h := d.state.holes[q.ID]; h != nil {
			standing := BlackHoleStanding(h.Standing)
			row.BlackHole = &standing
		}
		for _, sh := range slices.Concat(e.outlines, e.bound) {
			for _, w := range sh.windows {
				if e.policy.admits(w.leaf) {
					row.Ready += max(0, w.ready)
				}
			}
		}
		out = append(out, row)
	}
	return out
}

// Stock says how well every (share, shape) that has or had jobs is supplied.
func (d *Dispatcher) Stock() []Stock {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Stock, 0, len(d.state.windows))
	for key, w := range d.state.windows {
		out = append(out, Stock{Share: key.share, Shape: cmp.Or(w.shape.plain, key.shape), User: w.shape.full.User, Ready: w.ready, StartsPerMinute: w.starts.perMinute,
			Startable: d.state.startable(w)})
	}
	return out
}

// startable is how many jobs of a window the free slots of its queues could start; -1 when one has no limit.
func (s *state) startable(w *window) (n int64) {
	sh := w.shape
	for i := range sh.queues {
		if w.leaf < 0 || !s.mayRun(i, w.leaf, sh.outline) {
			continue
		}
		q := s.version.Queues[i]
		if q.Slots == nil {
			return -1
		}
		n += max(0, int64(*q.Slots)-s.queues[q.ID].heldCores) / int64(sh.need.Cores)
	}
	return n
}
