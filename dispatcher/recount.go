package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Miscount is what one row of the counters, with the moves that it does not have yet, lacks; below 0, has too much.
type Miscount struct {
	ShareID   shares.ShareID
	ShapeID   int32
	QueueID   shares.QueueID // 0: of jobs that are not leased
	Waiting   int64
	Ready     int64
	Held      int64
	HeldUnits shares.Units
}

// String says what is wrong.
func (m Miscount) String() string {
	return fmt.Sprintf("of share %d, shape %d and queue %d, lacks %d waiting, %d ready and %d held jobs and %d thousandths of units",
		m.ShareID, m.ShapeID, m.QueueID, m.Waiting, m.Ready, m.Held, m.HeldUnits)
}

// Note is told, in the transaction of a repair, what that has changed; nil: nobody is.
type Note func(ctx context.Context, tx pgx.Tx, done string) error

func (n Note) tell(ctx context.Context, tx pgx.Tx, format string, args ...any) error {
	if n == nil {
		return nil
	}
	return n(ctx, tx, fmt.Sprintf(format, args...))
}

// Recount compares the counters with jobs, leases and claims in one snapshot. It reads all live jobs, and needs nobody to
// wait for it.
func Recount(ctx context.Context, db *pgxpool.Pool) ([]Miscount, error) {
	return collect[Miscount](ctx, db, "recount", nil)
}

// Correct recounts, and makes the counters what was found. Nobody folds meanwhile; grants wait only while it writes. Then
// every daemon starts anew, as one that was taken for dead: what it has counted in memory came from the same rows. It
// returns how many rows of the counters were wrong; load reads the site in force.
func Correct(ctx context.Context, db *pgxpool.Pool, load func(context.Context) (shares.Version, error), note Note) (n int, err error) {
	err = pg.InTx(ctx, db, func(tx pgx.Tx) error {
		n = 0
		if err := pg.Lock(ctx, tx, pg.LockFold, 0); err != nil {
			return err
		}
		wrong, err := collect[Miscount](ctx, tx, "recount", nil)
		if err != nil || len(wrong) == 0 {
			return err
		}
		n = len(wrong)
		return renew(ctx, tx, load, func() error {
			if _, err := tx.Exec(ctx, query["correct"], packMiscounts(wrong)); err != nil {
				return err
			}
			return note.tell(ctx, tx, "%d rows of the counters corrected; the first, %s", n, wrong[0])
		})
	})
	if err != nil {
		return 0, fmt.Errorf("correct the counters: %w", err)
	}
	return n, nil
}

// Relimit computes all hard limits anew from what is held, as a new version of the site does.
func Relimit(ctx context.Context, db *pgxpool.Pool, load func(context.Context) (shares.Version, error), note Note) error {
	return pg.InTx(ctx, db, func(tx pgx.Tx) error {
		return renew(ctx, tx, load, func() error { return note.tell(ctx, tx, "limits computed anew") })
	})
}

// renew changes something behind the barrier, has all daemons start anew and the limits computed from what is held then.
func renew(ctx context.Context, tx pgx.Tx, load func(context.Context) (shares.Version, error), change func() error) error {
	if err := Barrier(ctx, tx); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	daemons, err := collect[daemonRow](ctx, tx, "daemons", pgx.StrictNamedArgs{"after": int64(0)})
	if err != nil {
		return err
	}
	var open []int64
	for _, d := range daemons {
		if d.Open {
			open = append(open, d.ID)
		}
	}
	if _, err := tx.Exec(ctx, query["close_daemons"], pgx.StrictNamedArgs{"daemons": open}); err != nil {
		return err
	}
	v, err := load(ctx) // behind the barrier: no newer version can come in between
	if err != nil {
		return err
	}
	if err := Rebase(ctx, tx, v); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, query["notify"], pgx.StrictNamedArgs{"what": "site"})
	return err
}

func packMiscounts(wrong []Miscount) pgx.StrictNamedArgs {
	n := len(wrong)
	ids, shapes, queues := make([]int32, n), make([]int32, n), make([]int32, n)
	waiting, ready, held, units := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, m := range wrong {
		ids[i], shapes[i], queues[i] = int32(m.ShareID), m.ShapeID, int32(m.QueueID)
		waiting[i], ready[i], held[i], units[i] = m.Waiting, m.Ready, m.Held, int64(m.HeldUnits)
	}
	return pgx.StrictNamedArgs{"shares": ids, "shapes": shapes, "queues": queues, "waiting": waiting, "ready": ready, "held": held, "held_units": units}
}

// MiscountedClaim is a claim that has another number of sharers than its jobs have leases.
type MiscountedClaim struct {
	ID      int64
	Sharers int
	Leases  int
}

// RecountClaims compares the sharers of claims with leases, in one snapshot. It reads all leases.
func RecountClaims(ctx context.Context, db *pgxpool.Pool) ([]MiscountedClaim, error) {
	return collect[MiscountedClaim](ctx, db, "recount_claims", nil)
}

// CorrectClaims gives bound claims as many sharers as their jobs have leases, and returns how many it changed. Leases that
// begin or end meanwhile wait for the claim, and are counted by whoever makes or ends them.
func CorrectClaims(ctx context.Context, db *pgxpool.Pool, note Note) (n int, err error) {
	err = pg.InTx(ctx, db, func(tx pgx.Tx) error {
		n = 0
		wrong, err := collect[MiscountedClaim](ctx, tx, "recount_claims", nil)
		if err != nil || len(wrong) == 0 {
			return err
		}
		ids := make([]int64, len(wrong))
		for i, c := range wrong {
			ids[i] = c.ID
		}
		args := pgx.StrictNamedArgs{"claims": ids}
		if ids, err = column(ctx, tx, "lock_claims", args); err != nil {
			return err
		}
		// By a statement of its own, and so by a snapshot of after the locks.
		tag, err := tx.Exec(ctx, query["correct_claims"], pgx.StrictNamedArgs{"claims": ids})
		if n = int(tag.RowsAffected()); err != nil || n == 0 {
			return err
		}
		return note.tell(ctx, tx, "%d claims corrected, of %v", n, ids)
	})
	if err != nil {
		return 0, fmt.Errorf("correct the claims: %w", err)
	}
	return n, nil
}

// MissedJob is a live job that is not found.
type MissedJob struct {
	JobID   int64
	TaskID  int64
	ByTask  bool // no range of its task has it: who goes along the jobs of the task passes it by
	ByPlace bool // no range of the ready order has it, and jobs_displaced neither: no slot gets it
}

// RecountRanges compares the ranges of ids with live jobs, in one snapshot. It reads all jobs.
func RecountRanges(ctx context.Context, db *pgxpool.Pool) ([]MissedJob, error) {
	return collect[MissedJob](ctx, db, "recount_ranges", nil)
}

// CorrectRanges has missed jobs found again, and returns how many there were.
func CorrectRanges(ctx context.Context, db *pgxpool.Pool, note Note) (n int, err error) {
	err = pg.InTx(ctx, db, func(tx pgx.Tx) error {
		missed, err := collect[MissedJob](ctx, tx, "recount_ranges", nil)
		if n = len(missed); err != nil || n == 0 {
			return err
		}
		var byTask, byPlace []int64
		for _, j := range missed {
			if j.ByTask {
				byTask = append(byTask, j.JobID)
			}
			if j.ByPlace {
				byPlace = append(byPlace, j.JobID)
			}
		}
		if _, err := tx.Exec(ctx, query["correct_ranges"], pgx.StrictNamedArgs{"by_task": byTask, "by_place": byPlace}); err != nil {
			return err
		}
		return note.tell(ctx, tx, "%d jobs are found again, the first is job %d", n, missed[0].JobID)
	})
	if err != nil {
		return 0, fmt.Errorf("correct the ranges: %w", err)
	}
	return n, nil
}
