package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/load"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
)

// wakeTask is the id of the task of jobs that are enqueued one by one; no row of tasks has it, so that nothing is
// generated, and none of their moves is settled.
const wakeTask = 1 << 40

// wakes is the second half of S4: pilots long-poll at a queue for which there is nothing, jobs become ready one by
// one, and the time from just before the commit that makes a job ready to its arrival at the pilot is taken.
func wakes(ctx context.Context, r *run) error {
	var shape int32
	err := pg.InTx(ctx, r.Place.Pool, func(tx pgx.Tx) (err error) {
		if shape, err = intake.Intern(ctx, tx, job.Requirements{Cores: 1, Queues: []string{stage.IdleQueue}}); err != nil {
			return err
		}
		return intake.AddPayload(ctx, tx, job.Payload{Task: wakeTask, Command: []string{"/bin/true"}})
	})
	if err != nil {
		return err
	}
	r.Book.Command("load process: %d connections long-poll at queue %s; a job is enqueued every 5 to 15 ms", r.Pullers, stage.IdleQueue)
	var rounds figure.Rounds
	for i := range r.Rounds {
		n := max(1, r.sizes.Wakes/r.Rounds)
		r.Book.Say("round %d of %d: %d jobs wake idle long polls", i+1, r.Rounds, n)
		times, err := wakeFor(ctx, r, shape, n)
		if err != nil {
			return err
		}
		rounds.Add("p99 from ready to the pilot's hands", "ms", figure.Quantile(times, 0.99))
		rounds.Add("p50", "ms", figure.Quantile(times, 0.5))
	}
	if err := r.Measured(ctx, "waking"); err != nil {
		return err
	}
	slow := rounds.Of("p99 from ready to the pilot's hands")
	r.Book.Add(figure.AtMost("S4", "wake_p99_ms", slow.Median, 20, slow, rounds.Of("p50")))
	return nil
}

// arrivals are the jobs that have come to a pilot.
type arrivals struct {
	mu  sync.Mutex
	at  map[int64]time.Time
	all chan struct{} // closed when want have arrived
}

func wakeFor(ctx context.Context, r *run, shape int32, n int) (times []time.Duration, err error) {
	come := arrivals{at: map[int64]time.Time{}, all: make(chan struct{})}
	l, err := load.Start(ctx, r.Config.Load, stage.IdlePolls(r.Served.Address(), r.Pullers, 60), func(c load.Claim, at time.Time) {
		come.mu.Lock()
		defer come.mu.Unlock()
		if come.at[c.Job] = at; len(come.at) == n {
			close(come.all)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := untilWaiting(ctx, r, r.Pullers); err != nil {
		return nil, l.Fail(err)
	}
	ready, err := enqueueOneByOne(ctx, r, shape, n)
	if err != nil {
		return nil, l.Fail(err)
	}
	select {
	case <-come.all:
	case <-l.Ended:
		return nil, l.Fail(errors.New("the load process ended early"))
	case <-time.After(30 * time.Second):
		return nil, l.Fail(recount.Failedf("of %d jobs that became ready, not all were handed out in 30 s", n))
	}
	_, claims, err := l.Stop()
	if err != nil {
		return nil, err
	}
	if err := untilWaiting(ctx, r, 0); err != nil {
		return nil, err // the next round's jobs would be given to connections of this one
	}
	for job, at := range ready {
		times = append(times, come.at[job].Sub(at))
	}
	if err := r.Took(ctx, claims); err != nil {
		return nil, err
	}
	return times, r.Finish(ctx, r.Served.Dispatcher)
}

// untilWaiting waits until so many pulls wait at the idle queue.
func untilWaiting(ctx context.Context, r *run, n int) error {
	return stage.Until(ctx, 20*time.Millisecond, 30*time.Second, fmt.Sprintf("it is not %d pulls that wait at queue %s", n, stage.IdleQueue), func() (bool, error) {
		for _, q := range r.Served.Dispatcher.Queues() {
			if q.Name == stage.IdleQueue && q.Waiting == n {
				return true, nil
			}
		}
		return false, nil
	})
}

// enqueueOneByOne makes n jobs ready and returns for each when its commit was sent.
func enqueueOneByOne(ctx context.Context, r *run, shape int32, n int) (map[int64]time.Time, error) {
	ready := map[int64]time.Time{}
	for i := range n {
		var ids []int64
		var at time.Time
		err := pgx.BeginFunc(ctx, r.Place.Pool, func(tx pgx.Tx) (err error) {
			ids, err = intake.Enqueue(ctx, tx, []intake.NewJob{{
				Task: wakeTask, Share: r.Leaves[i%len(r.Leaves)].ID, Shape: shape, MaxAttempts: 3, Index: int64(i)}})
			at = time.Now()
			return err
		})
		if err != nil {
			return nil, err
		}
		r.Served.Dispatcher.Written()
		r.Extra++
		ready[ids[0]] = at
		if err := stage.Pause(ctx, 5*time.Millisecond+rand.N(10*time.Millisecond)); err != nil {
			return nil, err
		}
	}
	return ready, nil
}
