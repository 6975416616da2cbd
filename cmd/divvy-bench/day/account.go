package day

import (
	"context"
	"errors"
	"fmt"

	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/pg"
)

// coverage is what the jobs of all tasks come to.
type coverage struct{ Tasks, Pieces, Events, Wrong, Unsettled int64 }

// settled waits until no pull is under way and the daemon has counted in the tasks what has become of their jobs. The
// nodes renew all the while, or what they hold would be lost by the time it is compared.
func (r *run) settled(ctx context.Context) error {
	r.Book.Say("until all is counted")
	return stage.Until(ctx, restLook, restWithin, "counts of tasks differ from their jobs, or pulls are under way", func() (bool, error) {
		if err := r.Place.Level(ctx); err != nil {
			return false, err
		}
		c, err := pg.Row[coverage](ctx, r.Place.Pool, query["day_coverage"])
		return c.Unsettled == 0 && r.pilots.counts.pulling.Load() == 0, err
	})
}

// account checks that everything is where the pilots know it to be: each attempt that was granted ended as it was
// reported, was lost with its pilot, or runs; and the jobs of each task cover its input exactly once.
func (r *run) account(ctx context.Context) error {
	r.Book.Say("checking: every attempt, every task")
	wrong, err := r.compared(ctx)
	if err != nil {
		return err
	}
	c, err := pg.Row[coverage](ctx, r.Place.Pool, query["day_coverage"])
	if err != nil {
		return err
	}
	if c.Wrong > 0 {
		wrong = append(wrong, fmt.Errorf("the jobs of %d tasks do not cover their input exactly once", c.Wrong))
	}
	if err := errors.Join(recount.Failed(wrong...), r.pilots.attempts.trouble()); err != nil {
		return err
	}
	now := r.pilots.counts.now()
	r.Book.Checked("%d attempts granted, none to two slots: %d finished, %d failed, %d lost with their pilots or held by dead ones, the others run; the database says the same",
		now.granted, now.finished, now.failed, len(r.pilots.attempts.dead))
	r.Book.Checked("%d jobs of %d tasks cover the %d events that were generated of them exactly once", c.Pieces, c.Tasks, c.Events)
	return r.recount(ctx)
}

// recount is the check of every measurement; leases that dead pilots hold still end while it goes on.
func (r *run) recount(ctx context.Context) error {
	if err := r.Place.Level(ctx); err != nil {
		return err
	}
	return r.Place.InSnapshot(ctx, func(db pg.Querier) error {
		held, err := recount.Holdings(ctx, db)
		if err != nil {
			return err
		}
		leased := 0
		for _, h := range held {
			leased += int(h.Jobs)
		}
		return r.Verify(ctx, db, "the day", leased)
	})
}

func (r *run) compared(ctx context.Context) (wrong []error, err error) {
	type end struct {
		Outcome string
		N       int64
	}
	type lease struct {
		Job     int64
		Attempt int
	}
	var ends []end
	var leases []lease
	if err := r.Place.Level(ctx); err != nil {
		return nil, err
	}
	err = r.Place.InSnapshot(ctx, func(db pg.Querier) (err error) {
		if ends, err = pg.Collect[end](ctx, db, query["day_attempts"]); err == nil {
			leases, err = pg.Collect[lease](ctx, db, query["day_leases"])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	ended := map[dispatcher.Outcome]int64{}
	for _, e := range ends {
		ended[dispatcher.Outcome(e.Outcome)] = e.N
	}
	is := func(what string, got, want int64) {
		if got != want {
			wrong = append(wrong, fmt.Errorf("%s: %d in the database, %d by the pilots", what, got, want))
		}
	}
	dead, runs, haunted, leased := r.pilots.attempts.dead, r.pilots.held(), int64(0), int64(len(leases))
	for _, l := range leases {
		switch k := key(l.Job, l.Attempt); {
		case dead[k]:
			haunted++
		case !runs[k]:
			wrong = append(wrong, errors.New("a lease is held that no pilot was given"))
		}
	}
	c := r.pilots.counts.now()
	is("attempts that finished", ended[dispatcher.Finished], c.finished)
	is("attempts that failed", ended[dispatcher.Failed], c.failed)
	is("attempts that were lost", ended[dispatcher.Lost], int64(len(dead))-haunted)
	is("attempts that run", leased-haunted, int64(len(runs)))
	is("attempts in all", leased+ended[dispatcher.Finished]+ended[dispatcher.Failed]+ended[dispatcher.Lost], c.granted)
	return wrong[:min(len(wrong), 10)], nil
}
