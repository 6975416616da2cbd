package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// cancelGrace is what a payload has between SIGTERM and SIGKILL when its job is killed, in seconds.
const cancelGrace = 10

// Cancellation counts what a cancel reached.
type Cancellation struct {
	Ready  int  // waiting and ready jobs, now cancelled
	Leased int  // running attempts that got a cancel order
	More   bool // there were more jobs than the limit: call again
}

// CancelTask ends at most limit jobs of the task that do not run, and orders the pilots of those that do to end
// theirs with a grace of ten seconds. Their jobs are cancelled when the attempts end, whatever way they do.
func CancelTask(ctx context.Context, tx pgx.Tx, task int64, reason string, limit int) (Cancellation, error) {
	n, more, err := CancelIdle(ctx, tx, task, limit)
	if err != nil {
		return Cancellation{}, err
	}
	tag, err := tx.Exec(ctx, query["order_cancel"], pgx.StrictNamedArgs{"task": task, "reason": reason, "grace_s": cancelGrace})
	if err != nil {
		return Cancellation{}, fmt.Errorf("cancel: %w", err)
	}
	return Cancellation{Ready: n, Leased: int(tag.RowsAffected()), More: more}, nil
}

// CancelIdle is CancelTask without the cancel orders: what runs may run to its end.
func CancelIdle(ctx context.Context, tx pgx.Tx, task int64, limit int) (n int, more bool, err error) {
	if err := barrierShared(ctx, tx); err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	ids, err := lockIdle(ctx, tx, task, []string{"waiting", "ready"}, limit)
	if err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	if n, err = cancelIdle(ctx, tx, ids); err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	return n, len(ids) == limit, nil
}

// cancelJobs is CancelTask for jobs by their ids, which rise. found are those that were live.
func cancelJobs(ctx context.Context, tx pgx.Tx, ids []int64, reason string) (found []int64, err error) {
	if err := barrierShared(ctx, tx); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, query["lock_jobs"], pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return nil, err
	}
	if found, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil || len(found) == 0 {
		return nil, err
	}
	if n, err := cancelIdle(ctx, tx, found); err != nil || n == len(found) {
		return found, err
	}
	_, err = tx.Exec(ctx, query["order_cancel_jobs"], pgx.StrictNamedArgs{"ids": found, "reason": reason, "grace_s": cancelGrace})
	return found, err
}

// HoldTask makes at most limit ready jobs of the task wait: a paused task. Running ones run on.
func HoldTask(ctx context.Context, tx pgx.Tx, task int64, limit int) (n int, more bool, err error) {
	return setState(ctx, tx, stateChange{task: task, before: "ready", after: "waiting", limit: limit})
}

// ReleaseTask makes at most limit waiting jobs of the task ready again, at their old places.
func ReleaseTask(ctx context.Context, tx pgx.Tx, task int64, limit int) (n int, more bool, err error) {
	return setState(ctx, tx, stateChange{task: task, before: "waiting", after: "ready", limit: limit})
}

type stateChange struct {
	task          int64
	before, after string // job states
	limit         int
}

// letter is how the ledger writes a job state of the jobs table.
var letter = map[string]string{"waiting": isWaiting, "ready": isReady}

func setState(ctx context.Context, tx pgx.Tx, c stateChange) (n int, more bool, err error) {
	if err := barrierShared(ctx, tx); err != nil {
		return 0, false, fmt.Errorf("%s to %s: %w", c.before, c.after, err)
	}
	ids, err := lockIdle(ctx, tx, c.task, []string{c.before}, c.limit)
	if err != nil {
		return 0, false, fmt.Errorf("%s to %s: %w", c.before, c.after, err)
	}
	rows, err := tx.Query(ctx, query["set_state"], pgx.StrictNamedArgs{"ids": ids, "before": c.before, "after": c.after})
	if err != nil {
		return 0, false, fmt.Errorf("%s to %s: %w", c.before, c.after, err)
	}
	groups, err := pgx.CollectRows(rows, pgx.RowToStructByName[jobGroup])
	if err != nil {
		return 0, false, fmt.Errorf("%s to %s: %w", c.before, c.after, err)
	}
	var moves []move
	for _, g := range groups {
		n += int(g.N)
		moves = append(moves, g.move(letter[c.before], letter[c.after]))
	}
	return n, len(ids) == c.limit, record(ctx, tx, moves)
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

// lockIdle locks jobs of the task that have no lease, oldest first. A grant in flight may still win one of them:
// whoever acts on the ids checks again, in a statement of its own that sees what was committed meanwhile.
func lockIdle(ctx context.Context, tx pgx.Tx, task int64, states []string, limit int) ([]int64, error) {
	rows, err := tx.Query(ctx, query["lock_idle"], pgx.StrictNamedArgs{"task": task, "states": states, "limit": limit})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

func cancelIdle(ctx context.Context, tx pgx.Tx, ids []int64) (n int, err error) {
	rows, err := tx.Query(ctx, query["cancel_idle"], pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return 0, err
	}
	groups, err := pgx.CollectRows(rows, pgx.RowToStructByName[jobGroup])
	if err != nil {
		return 0, err
	}
	var moves []move
	for _, g := range groups {
		n += int(g.N)
		moves = append(moves, g.move(letter[g.State], isCancelled))
	}
	return n, record(ctx, tx, moves)
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
