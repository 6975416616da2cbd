package chain

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/throttle"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Bounds of one Chain: its transactions, and the ended jobs that one of them takes note of.
const (
	steps = 1000
	Ends  = 5000
)

// needKey names a need of a task.
type needKey struct {
	task  int64
	place int
}

// dueNeed is a need that there is something to do for; its task is locked.
type dueNeed struct {
	TaskID    int64
	Place     int
	Condition string
	PerInput  bool
	Outputs   string
	Low       int64
	After     int64
	LowNext   *int64
	WasOver   bool
	NTaken    int64
	Left      bool // the task that needs is over
	UserName  string
	Label     string
	ShareID   shares.ShareID
	NInputs   int64
	PerJob    int64
	needed

	ready string // the state that the task gets when it need not wait any more
	fault string // why what it needs cannot be had in full
}

// needed is the task that is needed.
type needed struct {
	NeedsID       int64
	NeedsName     string
	NeedsState    string
	Over          bool  // the needed task is
	NeedsFinished int64 // jobs of it
	NeedsEnded    int64
}

// Any says whether any task needs another one.
func Any(ctx context.Context, pool *pgxpool.Pool) (some bool, err error) {
	err = pool.QueryRow(ctx, query["any_needs"]).Scan(&some)
	return some, err
}

// Step lets tasks follow those that they need, and calls each after each of its transactions. It returns the needs that it
// served and the ended jobs that it took note of.
func Step(ctx context.Context, pool *pgxpool.Pool, st *site.Site, each func([]judge.Verdict)) (n int, err error) {
	var at needKey
	for range steps {
		next, served, err := serveNext(ctx, pool, st, at, each)
		if err != nil || next == (needKey{}) {
			return n, err
		}
		if n += served; served <= Ends { // else the same need goes on
			at = next
		}
	}
	return n, nil
}

// serveNext serves the next need behind at; the zero key says that there is none.
func serveNext(ctx context.Context, pool *pgxpool.Pool, st *site.Site, at needKey, each func([]judge.Verdict)) (next needKey, n int, err error) {
	var verdicts []judge.Verdict
	err = pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		next, n, verdicts = needKey{}, 0, nil
		due, ok, err := nextNeed(ctx, tx, at)
		if err != nil || !ok {
			return err
		}
		next, n = needKey{due.TaskID, due.Place}, 1
		due.ready = throttle.Entry(st, due.UserName, due.Label, due.ShareID, "ready")
		switch {
		case due.Left:
			return due.close(ctx, tx, "left")
		case due.PerInput || due.Outputs != "":
			ends, through, err := due.follow(ctx, tx)
			n += ends
			if err != nil || !through {
				return err
			}
		}
		verdicts, err = due.conclude(ctx, tx)
		return err
	})
	if err != nil {
		return needKey{}, 0, err
	}
	if n > 0 {
		each(verdicts)
	}
	return next, n, nil
}

func nextNeed(ctx context.Context, tx pgx.Tx, at needKey) (dueNeed, bool, error) {
	due, err := pg.Row[dueNeed](ctx, tx, query["next_need"], pgx.StrictNamedArgs{"task": at.task, "place": at.place})
	if errors.Is(err, pgx.ErrNoRows) {
		return dueNeed{}, false, nil
	}
	return due, err == nil, err
}

// satisfies says whether a task in that state is what a condition asks for.
func satisfies(condition, state string) bool {
	switch condition {
	case spec.WhenAny:
		return true
	case spec.WhenFinished:
		return state == "done" || state == "finished"
	}
	return state == "done"
}

// lacks says why the need was not met, "" if it was.
func (d *dueNeed) lacks() string {
	switch {
	case d.fault != "":
		return d.fault
	case !satisfies(d.Condition, d.NeedsState):
		return fmt.Sprintf("needs task %d (%s), which is %s", d.NeedsID, d.NeedsName, d.NeedsState)
	}
	return ""
}

// vital says whether the task cannot go on without the need.
func (d *dueNeed) vital() bool { return !d.PerInput || d.fault != "" }

func (d *dueNeed) close(ctx context.Context, tx pgx.Tx, state string) error {
	_, err := tx.Exec(ctx, query["close_need"], pgx.StrictNamedArgs{"task": d.TaskID, "place": d.Place, "state": state})
	return err
}

// conclude closes the need, and says what becomes of its task.
func (d *dueNeed) conclude(ctx context.Context, tx pgx.Tx) ([]judge.Verdict, error) {
	lacks, state := d.lacks(), "met"
	if lacks != "" {
		state = "broken"
	}
	if err := d.close(ctx, tx, state); err != nil {
		return nil, err
	}
	if lacks != "" && d.vital() {
		return d.giveUp(ctx, tx, lacks)
	}
	var waits string
	var following, broken int64
	err := tx.QueryRow(ctx, query["count_needs"], pgx.StrictNamedArgs{"task": d.TaskID}).Scan(&waits, &following, &broken)
	if err != nil {
		return nil, err
	}
	var empty bool
	err = tx.QueryRow(ctx, query["unchain"], pgx.StrictNamedArgs{"task": d.TaskID, "waits": waits, "following": following,
		"broken": broken, "reason": lacks, "ready": d.ready}).Scan(&empty)
	switch {
	case err != nil:
		return nil, err
	case empty && lacks == "":
		return d.giveUp(ctx, tx, "the tasks that it needs made no outputs that could be its inputs")
	case empty:
		return d.giveUp(ctx, tx, lacks)
	}
	return judge.Tasks(ctx, tx, []int64{d.TaskID})
}

// giveUp ends the task, softly where it has jobs.
func (d *dueNeed) giveUp(ctx context.Context, tx pgx.Tx, reason string) ([]judge.Verdict, error) {
	var after string
	err := tx.QueryRow(ctx, query["give_up"], pgx.StrictNamedArgs{"task": d.TaskID, "reason": reason}).Scan(&after)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil // a verb ends it already
	case err != nil:
		return nil, err
	case after == "failed":
		return []judge.Verdict{{ID: d.TaskID, After: after}}, nil
	}
	if err := judge.EndJobs(ctx, tx, judge.Finished, []int64{d.TaskID}); err != nil {
		return nil, err
	}
	return judge.Tasks(ctx, tx, []int64{d.TaskID})
}

// Reopen looks anew at what a task needed and did not get, when it is tried again. It returns what the task waits for, or
// which of those that it needs has to be tried again before.
func Reopen(ctx context.Context, tx pgx.Tx, task int64) (waits, first string, err error) {
	type reopened struct {
		NeedsID    int64
		Condition  string
		PerInput   bool
		NeedsName  string
		NeedsState string
		Over       bool
	}
	all, err := pg.Collect[reopened](ctx, tx, query["reopen_needs"], pgx.StrictNamedArgs{"task": task})
	if err != nil {
		return "", "", err
	}
	for _, n := range all {
		switch {
		case n.PerInput:
		case n.Over && !satisfies(n.Condition, n.NeedsState):
			return "", fmt.Sprintf("it needs task %d (%s), which is %s: retry that one first", n.NeedsID, n.NeedsName, n.NeedsState), nil
		case waits == "":
			waits = fmt.Sprintf("waits for task %d (%s)", n.NeedsID, n.NeedsName)
		default:
			waits += fmt.Sprintf(", %d (%s)", n.NeedsID, n.NeedsName)
		}
	}
	return waits, "", nil
}
