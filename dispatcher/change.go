package dispatcher

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// cancelGrace is what a payload has between SIGTERM and SIGKILL when its job is killed, in seconds.
const cancelGrace = 10

// CancelTasks ends jobs of the tasks that do not run, and orders the pilots of those that do to end theirs with a grace of
// ten seconds. Their jobs are cancelled when the attempts end, whatever way they do.
func CancelTasks(ctx context.Context, tx pgx.Tx, w Walk, reason string) ([]Walked, error) {
	out, jobs, err := w.look(ctx, tx, "waiting", "ready")
	if err != nil || len(jobs) == 0 {
		return out, wrapCancel(err)
	}
	ids := make([]int64, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	slices.Sort(ids)
	// Those that run are locked too: none of them ends and is leased anew before its order is there.
	c, err := cancelJobs(ctx, tx, ids, reason)
	for i, s := range w.Along {
		out[i].Idle, out[i].Leased = c.idle[s.Task], c.ordered[s.Task]
	}
	return out, wrapCancel(err)
}

// CancelIdle is CancelTasks without the cancel orders: what runs may run to its end.
func CancelIdle(ctx context.Context, tx pgx.Tx, w Walk) ([]Walked, error) {
	out, ids, err := w.lockIdle(ctx, tx, "waiting", "ready")
	if err != nil || len(ids) == 0 {
		return out, wrapCancel(err)
	}
	idle, err := cancelIdle(ctx, tx, ids)
	w.reached(out, idle)
	return out, wrapCancel(err)
}

func wrapCancel(err error) error {
	if err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	return nil
}

// cancelled is what became of jobs that were to be cancelled.
type cancelled struct {
	found   []int64 // those that were live
	idle    byTask  // of these, at once
	ordered byTask  // of these, as soon as their attempts end: how many had no order yet
}

// byTask counts jobs.
type byTask map[int64]int

func (b byTask) total() (n int) {
	for _, jobs := range b {
		n += jobs
	}
	return n
}

// cancelJobs is CancelTasks for jobs by their ids, which rise.
func cancelJobs(ctx context.Context, tx pgx.Tx, ids []int64, reason string) (c cancelled, err error) {
	if err := barrierShared(ctx, tx); err != nil {
		return c, err
	}
	if c.found, err = column(ctx, tx, "lock_jobs", pgx.StrictNamedArgs{"ids": ids}); err != nil || len(c.found) == 0 {
		return c, err
	}
	if c.idle, err = cancelIdle(ctx, tx, c.found); err != nil || c.idle.total() == len(c.found) {
		return c, err
	}
	type ordered struct {
		TaskID int64
		N      int
	}
	orders, err := collect[ordered](ctx, tx, "order_cancel_jobs", pgx.StrictNamedArgs{"ids": c.found, "reason": reason, "grace_s": cancelGrace})
	c.ordered = byTask{}
	for _, o := range orders {
		c.ordered[o.TaskID] = o.N
	}
	return c, err
}

// HoldTasks makes ready jobs of the tasks wait: paused tasks. Running ones run on.
func HoldTasks(ctx context.Context, tx pgx.Tx, w Walk) ([]Walked, error) {
	return w.setState(ctx, tx, "ready", "waiting")
}

// ReleaseTasks makes waiting jobs of the tasks ready again, at their old places.
func ReleaseTasks(ctx context.Context, tx pgx.Tx, w Walk) ([]Walked, error) {
	return w.setState(ctx, tx, "waiting", "ready")
}

// letter is how the ledger writes a job state of the jobs table.
var letter = map[string]string{"waiting": isWaiting, "ready": isReady}

func (w Walk) setState(ctx context.Context, tx pgx.Tx, before, after string) (out []Walked, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s to %s: %w", before, after, err)
		}
	}()
	out, ids, err := w.lockIdle(ctx, tx, before)
	if err != nil || len(ids) == 0 {
		return out, err
	}
	groups, err := collect[jobGroup](ctx, tx, "set_state", pgx.StrictNamedArgs{"ids": ids, "before": before, "after": after})
	if err != nil {
		return out, err
	}
	idle := byTask{}
	var moves []move
	for _, g := range groups {
		idle[g.TaskID] += int(g.N)
		moves = append(moves, g.move(letter[before], letter[after]))
	}
	w.reached(out, idle)
	return out, record(ctx, tx, moves)
}

// jobGroup counts jobs that are alike.
type jobGroup struct {
	TaskID  int64
	ShareID shares.ShareID
	ShapeID int32
	State   string
	Place   int64
	N       int32
	LowID   int64
	HighID  int64
}

func (g jobGroup) move(before, after string) move {
	return move{Task: g.TaskID, Share: g.ShareID, Shape: g.ShapeID, Before: before, After: after, N: g.N,
		Place: g.Place, Low: g.LowID, High: g.HighID}
}

func cancelIdle(ctx context.Context, tx pgx.Tx, ids []int64) (byTask, error) {
	groups, err := collect[jobGroup](ctx, tx, "cancel_idle", pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return nil, err
	}
	idle := byTask{}
	var moves []move
	for _, g := range groups {
		idle[g.TaskID] += int(g.N)
		moves = append(moves, g.move(letter[g.State], isCancelled))
	}
	return idle, record(ctx, tx, moves)
}

// MoveShare gives all live jobs and leases of one share to another: the site file said so. The caller holds the
// Barrier and calls Rebase afterwards.
func MoveShare(ctx context.Context, tx pgx.Tx, from, to shares.ShareID) error {
	args := pgx.StrictNamedArgs{"from": int32(from), "to": int32(to)}
	rows, err := tx.Query(ctx, query["move_leases"], args)
	if err != nil {
		return fmt.Errorf("move share: %w", err)
	}
	leased, err := pgx.CollectRows(rows, pgx.RowToStructByName[leaseGroup])
	if err != nil {
		return fmt.Errorf("move share: %w", err)
	}
	if rows, err = tx.Query(ctx, query["move_jobs"], args); err != nil {
		return fmt.Errorf("move share: %w", err)
	}
	idle, err := pgx.CollectRows(rows, pgx.RowToStructByName[jobGroup])
	if err != nil {
		return fmt.Errorf("move share: %w", err)
	}
	moves, err := moveCharges(ctx, tx, 0, from, to)
	if err != nil {
		return fmt.Errorf("move share: %w", err)
	}
	for _, g := range leased {
		m := move{Task: g.TaskID, Share: from, Shape: g.ShapeID, Queue: g.QueueID, Before: isLeased, After: isNone, N: g.N, Units: g.Units}
		moves = append(moves, m)
		m.Share, m.Before, m.After = to, isNone, isLeased
		moves = append(moves, m)
	}
	for _, g := range idle {
		g.ShareID = from
		moves = append(moves, g.move(letter[g.State], isNone))
		g.ShareID = to
		moves = append(moves, g.move(isNone, letter[g.State]))
	}
	return record(ctx, tx, moves)
}

// leaseGroup counts leases that are alike.
type leaseGroup struct {
	TaskID  int64
	ShapeID int32
	QueueID shares.QueueID
	N       int32
	Units   shares.Units
}
