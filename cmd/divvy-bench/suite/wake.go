package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
)

// wakeTask is the id of the task of jobs that are enqueued one by one; no row of tasks has it, so that nothing is
// generated, and none of their moves is settled.
const wakeTask = 1 << 40

// wakes is the second half of S4: pilots long-poll at a queue for which there is nothing, jobs become ready one by
// one, and the time from just before the commit that makes a job ready to its arrival at the pilot is taken.
func (s *stage) wakes(ctx context.Context) error {
	var shape int32
	err := pg.InTx(ctx, s.place.pool, func(tx pgx.Tx) (err error) {
		if shape, err = intake.Intern(ctx, tx, job.Requirements{Cores: 1, Queues: []string{idleQueue}}); err != nil {
			return err
		}
		return intake.AddPayload(ctx, tx, job.Payload{Task: wakeTask, Command: []string{"/bin/true"}})
	})
	if err != nil {
		return err
	}
	s.command(fmt.Sprintf("load process: %d connections long-poll at queue %s; a job is enqueued every 5 to 15 ms", s.Pullers, idleQueue))
	var p99, p50 []float64
	for r := range s.Rounds {
		n := max(1, s.Wakes/s.Rounds)
		s.say("round %d of %d: %d jobs wake idle long polls", r+1, s.Rounds, n)
		times, err := s.wakeFor(ctx, shape, n)
		if err != nil {
			return err
		}
		p50, p99 = append(p50, quantile(times, 0.5)), append(p99, quantile(times, 0.99))
	}
	if err := s.measured(ctx, "waking"); err != nil {
		return err
	}
	slow := newSeries("p99 from ready to the pilot's hands", "ms", p99)
	s.figure(atMost("S4", "wake_p99_ms", slow.Median, 20, slow, newSeries("p50", "ms", p50)))
	return nil
}

// waiting is one round of wakes.
type waiting struct {
	mu      sync.Mutex
	claims  []claim
	arrived map[int64]time.Time
	all     chan struct{} // closed when want jobs have arrived
	want    int
}

func (w *waiting) note(c claim, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claims, w.arrived[c.job] = append(w.claims, c), at
	if len(w.claims) == w.want {
		close(w.all)
	}
}

func (s *stage) wakeFor(ctx context.Context, shape int32, n int) ([]time.Duration, error) {
	o := order{Mode: modeWait, Address: s.address()}
	for i := range s.Pullers {
		text, err := json.Marshal(dispatcher.PullRequest{Queue: idleQueue, Pilot: fmt.Sprint("w", i), Slot: job.Slot{Cores: 1}, WaitS: 60})
		if err != nil {
			return nil, err
		}
		o.Bodies = append(o.Bodies, string(text))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := s.startLoad(ctx, o)
	if err != nil {
		return nil, err
	}
	w := &waiting{arrived: map[int64]time.Time{}, all: make(chan struct{}), want: n}
	ended := make(chan error, 1)
	go func() {
		_, err := l.read(w.note)
		ended <- err
	}()
	fail := func(err error) ([]time.Duration, error) {
		cancel()
		return nil, errors.Join(err, <-ended)
	}
	if err := s.untilWaiting(ctx, s.Pullers); err != nil {
		return fail(err)
	}
	ready, err := s.enqueueOneByOne(ctx, shape, n)
	if err != nil {
		return fail(err)
	}
	select {
	case <-w.all:
	case err := <-ended:
		return nil, errors.Join(err, errors.New("the load process ended early"))
	case <-time.After(30 * time.Second):
		return fail(&CheckError{[]error{fmt.Errorf("of %d jobs that became ready, not all were handed out in 30 s", n)}})
	}
	_ = l.in.Close()
	if err := <-ended; err != nil {
		return nil, err
	}
	if err := s.untilWaiting(ctx, 0); err != nil {
		return nil, err // the next round's jobs would be given to connections of this one
	}
	var times []time.Duration
	for job, at := range ready {
		times = append(times, w.arrived[job].Sub(at))
	}
	if err := s.took(ctx, w.claims); err != nil {
		return nil, err
	}
	return times, s.finish(ctx, s.served.Dispatcher)
}

// untilWaiting waits until so many pulls wait at the idle queue.
func (s *stage) untilWaiting(ctx context.Context, n int) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		for _, q := range s.served.Dispatcher.Queues() {
			if q.Name == idleQueue && q.Waiting == n {
				return nil
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after 30 s it is not %d pulls that wait at queue %s", n, idleQueue)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// enqueueOneByOne makes n jobs ready and returns for each when its commit was sent.
func (s *stage) enqueueOneByOne(ctx context.Context, shape int32, n int) (map[int64]time.Time, error) {
	ready := map[int64]time.Time{}
	for i := range n {
		var ids []int64
		var at time.Time
		err := pgx.BeginFunc(ctx, s.place.pool, func(tx pgx.Tx) (err error) {
			ids, err = intake.Enqueue(ctx, tx, []intake.NewJob{{
				Task: wakeTask, Share: s.leaves[i%len(s.leaves)].id, Shape: shape, MaxAttempts: 3, Index: int64(i)}})
			at = time.Now()
			return err
		})
		if err != nil {
			return nil, err
		}
		s.served.Dispatcher.Written()
		s.extra++
		ready[ids[0]] = at
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5*time.Millisecond + rand.N(10*time.Millisecond)):
		}
	}
	return ready, nil
}
