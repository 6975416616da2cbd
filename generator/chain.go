package generator

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/throttle"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// Bounds of one Chain: its transactions, and the ended jobs that one of them takes note of.
const (
	chainSteps = 1000
	chainEnds  = 5000
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

// Chain lets tasks follow those that they need: they become ready when these are over, and get inputs and pieces as their jobs
// end; one whose need will not be met fails. It returns the needs that it served and the ended jobs that it took note of.
func (g *Generator) Chain(ctx context.Context) (n int, err error) {
	var some bool
	if err := g.cfg.Pool.QueryRow(ctx, query["any_needs"]).Scan(&some); err != nil || !some {
		return 0, err
	}
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return 0, fmt.Errorf("chain: site: %w", err)
	}
	var at needKey
	for range chainSteps {
		next, served, err := g.chain(ctx, st, at)
		if err != nil {
			return n, fmt.Errorf("chain: %w", err)
		}
		if next == (needKey{}) {
			break
		}
		if n += served; served <= chainEnds { // else the same need goes on
			at = next
		}
	}
	if n > 0 {
		g.hint()
	}
	return n, nil
}

// chain serves the next need behind at; the zero key says that there is none.
func (g *Generator) chain(ctx context.Context, st *site.Site, at needKey) (next needKey, n int, err error) {
	var verdicts []judge.Verdict
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
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
		g.wrote()
	}
	for _, v := range verdicts {
		g.report(v)
	}
	return next, n, nil
}

func nextNeed(ctx context.Context, tx pgx.Tx, at needKey) (dueNeed, bool, error) {
	rows, err := tx.Query(ctx, query["next_need"], pgx.StrictNamedArgs{"task": at.task, "place": at.place})
	if err != nil {
		return dueNeed{}, false, err
	}
	due, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[dueNeed])
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

// reopenNeeds looks anew at what a task needed and did not get, when it is tried again. It returns what the task waits for.
func reopenNeeds(ctx context.Context, tx pgx.Tx, t lockedTask) (reason string, err error) {
	if !t.Chained {
		return "", nil
	}
	rows, err := tx.Query(ctx, query["reopen_needs"], pgx.StrictNamedArgs{"task": t.ID})
	if err != nil {
		return "", err
	}
	type reopened struct {
		NeedsID    int64
		Condition  string
		PerInput   bool
		NeedsName  string
		NeedsState string
		Over       bool
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[reopened])
	if err != nil {
		return "", err
	}
	for _, n := range all {
		switch {
		case n.PerInput:
		case n.Over && !satisfies(n.Condition, n.NeedsState):
			return "", &StateError{Task: t.ID, Verb: "retry", State: t.State,
				Hint: fmt.Sprintf("it needs task %d (%s), which is %s: retry that one first", n.NeedsID, n.NeedsName, n.NeedsState)}
		case reason == "":
			reason = fmt.Sprintf("waits for task %d (%s)", n.NeedsID, n.NeedsName)
		default:
			reason += fmt.Sprintf(", %d (%s)", n.NeedsID, n.NeedsName)
		}
	}
	return reason, nil
}
