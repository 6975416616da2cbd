package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/divvyhq/divvy/internal/pilot"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// nPilots share the slots between them.
const nPilots = 4

// slots are the demo's pilots: they speak HTTP like any other, and their jobs are processes.
type slots struct {
	work   string
	leave  context.CancelFunc
	killed chan struct{}
	once   sync.Once
	done   chan struct{}
	err    error
}

func startSlots(cfg Config) (*slots, error) {
	work, err := os.MkdirTemp("", "divvy-demo-")
	if err != nil {
		return nil, err
	}
	ctx, leave := context.WithCancel(context.Background())
	s := &slots{work: work, leave: leave, killed: make(chan struct{}), done: make(chan struct{})}
	errs := make([]error, nPilots)
	var wg sync.WaitGroup
	for i := range nPilots {
		n := cfg.Slots / nPilots
		if i < cfg.Slots%nPilots {
			n++
		}
		if n == 0 {
			continue
		}
		pc := pilot.Config{Client: cfg.Client, Queue: queue, Name: fmt.Sprintf("demo-%d", i+1), Node: "localhost", Slots: n,
			Payload: payload.Config{WorkDir: fmt.Sprintf("%s/pilot-%d", work, i+1), KeepLogs: -1}, Kill: s.killed, Log: cfg.Log}
		wg.Go(func() { errs[i] = pilot.Run(ctx, pc) })
	}
	go func() {
		defer close(s.done)
		wg.Wait()
		s.err = errors.Join(errors.Join(errs...), os.RemoveAll(work))
	}()
	return s, nil
}

// Keep offers the demo's slots to whatever is submitted from now on, until ctx ends; then it kills what runs.
func Keep(ctx context.Context, cfg Config) error {
	s, err := startSlots(cfg)
	if err != nil {
		return err
	}
	<-ctx.Done()
	s.kill()
	return s.err
}

// drain lets running jobs end and waits for it.
func (s *slots) drain(ctx context.Context, within time.Duration) error {
	s.leave()
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-s.done:
		return s.err
	case <-t.C:
		return errors.New("the last jobs do not end")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kill ends everything at once and waits until nothing is left. After a drain it does nothing.
func (s *slots) kill() {
	s.once.Do(func() {
		s.leave()
		close(s.killed)
		<-s.done
	})
}
