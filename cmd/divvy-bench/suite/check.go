package suite

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// bitmap is a set of job ids, which are small and dense.
type bitmap []uint64

// add fails when the job is in it already: it was claimed twice.
func (b *bitmap) add(job int64) error {
	if job < 0 {
		return fmt.Errorf("job %d: no such id", job)
	}
	word, bit := int(job/64), uint64(1)<<(job%64)
	for len(*b) <= word {
		*b = append(*b, make([]uint64, max(1024, len(*b)))...)
	}
	if (*b)[word]&bit != 0 {
		return fmt.Errorf("job %d was claimed twice", job)
	}
	(*b)[word] |= bit
	return nil
}

// tally is where all jobs are.
type tally struct {
	Made, Rows, Coming, Live, Held, Ended, EndedTwice, Both, Orphans, Stray int64
}

// problems compares the tally with what clients were given.
func (t tally) problems(held, extra int) (wrong []error) {
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

// took remembers what clients were given in a round, and checks it: nothing twice, and all of it leased.
func (s *stage) took(ctx context.Context, claims []claim) error {
	jobs, wrong := s.firstTime(claims)
	s.open = append(s.open, claims...)
	if err := s.level(ctx); err != nil {
		return err
	}
	var leased int
	if err := s.place.pool.QueryRow(ctx, query["check_claimed"], pgx.StrictNamedArgs{"jobs": jobs}).Scan(&leased); err != nil {
		return err
	}
	if leased != len(jobs) {
		wrong = append(wrong, fmt.Errorf("%d of %d claimed jobs are leased", leased, len(jobs)))
	}
	if len(wrong) > 0 {
		return &CheckError{wrong}
	}
	return nil
}

// firstTime notes that the jobs were given to clients, and says which of them had been before.
func (s *stage) firstTime(claims []claim) (jobs []int64, wrong []error) {
	jobs = make([]int64, 0, len(claims))
	for _, c := range claims {
		jobs = append(jobs, c.job)
		if err := s.seen.add(c.job); err != nil && len(wrong) < 10 {
			wrong = append(wrong, err)
		}
	}
	return jobs, wrong
}

// measured is what stands at the end of every measurement: the checks of doc.go, 5. In a brief run those that recount
// wait for settle: nothing that they would find goes away by itself.
func (s *stage) measured(ctx context.Context, what string) error {
	s.unchecked = append(s.unchecked, what)
	if s.Brief {
		return nil
	}
	return s.settle(ctx)
}

// settle checks what has been measured since the last time.
func (s *stage) settle(ctx context.Context) error {
	if len(s.unchecked) == 0 {
		return nil
	}
	after := strings.Join(s.unchecked, ", ")
	s.unchecked = nil
	return s.verify(ctx, after)
}

// verify recounts.
func (s *stage) verify(ctx context.Context, after string) error {
	s.say("checking: recount after %s", after)
	if s.place.query == nil {
		if err := s.level(ctx); err != nil {
			return err
		}
	}
	rows, err := s.place.reader().Query(ctx, query["check_jobs"])
	if err != nil {
		return err
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[tally])
	if err != nil {
		return err
	}
	wrong := t.problems(s.holds+len(s.open), s.extra)
	for _, sums := range []string{"check_held", "check_ready", "check_tasks", "check_queues"} {
		var n int
		if err := s.place.reader().QueryRow(ctx, query[sums]).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			wrong = append(wrong, fmt.Errorf("%s: %d sums are wrong", sums, n))
		}
	}
	over, err := s.limits(ctx)
	if err != nil {
		return err
	}
	if wrong = append(wrong, over...); len(wrong) > 0 {
		return &CheckError{wrong}
	}
	s.report.Checks = append(s.report.Checks, fmt.Sprintf(
		"after %s: %d jobs made, %d live, %d ended, %d leased as clients were told, none claimed twice, none lost, counts = recount, no queue over its slots, no pool and no share over its limit",
		after, t.Made+int64(s.extra), t.Live, t.Ended, t.Held))
	return nil
}
