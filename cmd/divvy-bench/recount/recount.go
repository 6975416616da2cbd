package recount

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Error is a run that cannot be believed: what was counted is not what is there.
type Error struct{ Problems []error }

// Error lists the problems.
func (e *Error) Error() string {
	return "a check failed, so there are no figures: " + errors.Join(e.Problems...).Error()
}

// Failed returns an *Error of the problems, if there are any.
func Failed(problems ...error) error {
	if len(problems) == 0 {
		return nil
	}
	return &Error{problems}
}

// Failedf returns an *Error of one problem.
func Failedf(format string, args ...any) error { return Failed(fmt.Errorf(format, args...)) }

// Value reads the one value of a statement.
func Value[T any](ctx context.Context, db pg.Querier, sql string, args ...any) (T, error) {
	return pg.RowTo(ctx, pgx.RowTo[T], db, sql, args...)
}

// Once is a set of ids, which are small and dense.
type Once []uint64

// Add fails when the job is in it already: it was claimed twice.
func (o *Once) Add(job int64) error {
	if job < 0 {
		return fmt.Errorf("job %d: no such id", job)
	}
	word, bit := int(job/64), uint64(1)<<(job%64)
	for len(*o) <= word {
		*o = append(*o, make([]uint64, max(1024, len(*o)))...)
	}
	if (*o)[word]&bit != 0 {
		return fmt.Errorf("job %d was claimed twice", job)
	}
	(*o)[word] |= bit
	return nil
}

// Tally is where all jobs are.
type Tally struct {
	Made, Rows, Coming, Live, Held, Ended, EndedTwice, Both, Orphans, Stray int64
}

// problems compares the tally with what clients were given.
func (t Tally) problems(held, extra int) (wrong []error) {
	is := func(what string, got, want int64) {
		if got != want {
			wrong = append(wrong, fmt.Errorf("%s: %d, expected %d", what, got, want))
		}
	}
	is("rows of jobs", t.Rows, t.Made+int64(extra))
	is("jobs on their way into the log, live or ended", t.Coming+t.Live+t.Ended, t.Made+int64(extra))
	is("leases", t.Held, int64(held))
	is("jobs that ended twice", t.EndedTwice, 0)
	is("jobs that live twice, or are both live and ended", t.Both, 0)
	is("leases without a job", t.Orphans, 0)
	is("jobs without a lease that no table of jobs has", t.Stray, 0)
	return wrong
}

// All recounts everything: so many leases are held, and so many jobs were enqueued beside those of tasks.
func All(ctx context.Context, db pg.Querier, site shares.Version, held, extra int) (Tally, error) {
	t, err := pg.Row[Tally](ctx, db, query["check_jobs"])
	if err != nil {
		return t, err
	}
	wrong := t.problems(held, extra)
	for _, sums := range []string{"check_held", "check_ready", "check_tasks", "check_queues"} {
		n, err := Value[int](ctx, db, query[sums])
		if err != nil {
			return t, err
		}
		if n > 0 {
			wrong = append(wrong, fmt.Errorf("%s: %d sums are wrong", sums, n))
		}
	}
	holdings, err := Holdings(ctx, db)
	if err != nil {
		return t, err
	}
	return t, Failed(append(wrong, OverLimits(site, holdings)...)...)
}
