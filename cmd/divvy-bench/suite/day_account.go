package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
)

// trouble is what a pilot was told that it should not have been.
func (p *dayPilots) trouble() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.wrong) > 0 {
		return &CheckError{p.wrong}
	}
	return nil
}

// held are the attempts that nodes run now.
func (p *dayPilots) held() map[int64]bool {
	keys := map[int64]bool{}
	for _, n := range p.nodes {
		for _, j := range n.jobs {
			keys[j.key] = true
		}
	}
	return keys
}

// coverage is what the jobs of all tasks come to.
type coverage struct{ Tasks, Pieces, Events, Wrong, Unsettled int64 }

// account checks that everything is where the pilots know it to be: each attempt that was granted ended as it was
// reported, was lost with its pilot, or runs; and the jobs of each task cover its input exactly once.
func (r *dayRun) account(ctx context.Context) error {
	r.say("checking: every attempt, every task")
	wrong, err := r.attempts(ctx)
	if err != nil {
		return err
	}
	var c coverage
	rows, err := r.place.pool.Query(ctx, query["day_coverage"])
	if err != nil {
		return err
	}
	if c, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[coverage]); err != nil {
		return err
	}
	if c.Wrong > 0 {
		wrong = append(wrong, fmt.Errorf("the jobs of %d tasks do not cover their input exactly once", c.Wrong))
	}
	if err := r.site.trouble(); err != nil {
		wrong = append(wrong, err)
	}
	if len(wrong) > 0 {
		return &CheckError{wrong}
	}
	now := r.site.now()
	r.report.Checks = append(r.report.Checks,
		fmt.Sprintf("%d attempts granted, none to two slots: %d finished, %d failed, %d lost with their pilots or held by dead ones, the others run; the database says the same",
			now.granted, now.finished, now.failed, len(r.site.dead)),
		fmt.Sprintf("%d jobs of %d tasks cover the %d events that were generated of them exactly once", c.Pieces, c.Tasks, c.Events))
	return r.recount(ctx)
}

// recount is the check of every measurement; leases that dead pilots hold still end while it goes on.
func (r *dayRun) recount(ctx context.Context) error {
	if err := r.level(ctx); err != nil {
		return err
	}
	return r.inSnapshot(ctx, func() error {
		held, err := r.holdings(ctx)
		if err != nil {
			return err
		}
		r.holds = 0
		for _, h := range held {
			r.holds += int(h.Jobs)
		}
		return r.verify(ctx, "the day")
	})
}

// attempts compares the database's with the pilots'.
func (r *dayRun) attempts(ctx context.Context) (wrong []error, err error) {
	ended := map[dispatcher.Outcome]int64{}
	leased := map[int64]bool{}
	if err := r.level(ctx); err != nil {
		return nil, err
	}
	err = r.inSnapshot(ctx, func() error {
		rows, err := r.place.reader().Query(ctx, query["day_attempts"])
		if err != nil {
			return err
		}
		var outcome string
		var n int64
		if _, err = pgx.ForEachRow(rows, []any{&outcome, &n}, func() error { ended[dispatcher.Outcome(outcome)] = n; return nil }); err != nil {
			return err
		}
		if rows, err = r.place.reader().Query(ctx, query["day_leases"]); err != nil {
			return err
		}
		var job int64
		var attempt int
		_, err = pgx.ForEachRow(rows, []any{&job, &attempt}, func() error { leased[attemptKey(job, attempt)] = true; return nil })
		return err
	})
	if err != nil {
		return nil, err
	}
	is := func(what string, got, want int64) {
		if got != want {
			wrong = append(wrong, fmt.Errorf("%s: %d in the database, %d by the pilots", what, got, want))
		}
	}
	p := r.site
	runs, haunted := p.held(), int64(0)
	for key := range leased {
		switch {
		case p.dead[key]:
			haunted++
		case !runs[key]:
			wrong = append(wrong, errors.New("a lease is held that no pilot was given"))
		}
	}
	is("attempts that finished", ended[dispatcher.Finished], p.finished.Load())
	is("attempts that failed", ended[dispatcher.Failed], p.failed.Load())
	is("attempts that were lost", ended[dispatcher.Lost], int64(len(p.dead))-haunted)
	is("attempts that run", int64(len(leased))-haunted, int64(len(runs)))
	is("attempts in all", int64(len(leased))+ended[dispatcher.Finished]+ended[dispatcher.Failed]+ended[dispatcher.Lost], p.granted.Load())
	return wrong[:min(len(wrong), 10)], nil
}

// settled waits until no pull is under way and the daemon has counted in the tasks what has become of their jobs. The
// nodes renew all the while, or what they hold would be lost by the time it is compared.
func (r *dayRun) settled(ctx context.Context) error {
	r.say("until all is counted")
	deadline := time.Now().Add(restWithin)
	for {
		if err := r.level(ctx); err != nil {
			return err
		}
		rows, err := r.place.pool.Query(ctx, query["day_coverage"])
		if err != nil {
			return err
		}
		c, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[coverage])
		if err != nil {
			return err
		}
		pulling := r.site.pulling.Load()
		if c.Unsettled == 0 && pulling == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return &CheckError{[]error{fmt.Errorf("the counts of %d tasks differ from their jobs, %d pulls are under way", c.Unsettled, pulling)}}
		}
		if err := wait(ctx, restLook); err != nil {
			return err
		}
	}
}
