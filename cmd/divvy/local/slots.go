package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/internal/pilot"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// Slots are pilots in this process: they speak HTTP like any other, and their jobs are processes.
type Slots struct {
	work   string
	leave  context.CancelFunc
	killed chan struct{}
	once   sync.Once
	done   chan struct{}
	err    error
}

// SlotsConfig says whose slots these are.
type SlotsConfig struct {
	Client *client.Client
	Queue  string
	Name   string // of the pilots: name-1, name-2, …
	Slots  int    // all together
	Pilots int    // that share them
	Log    *slog.Logger
}

// StartSlots starts pilots, in a folder of their own.
func StartSlots(cfg SlotsConfig) (*Slots, error) {
	work, err := os.MkdirTemp("", "divvy-"+cfg.Name+"-")
	if err != nil {
		return nil, err
	}
	ctx, leave := context.WithCancel(context.Background())
	s := &Slots{work: work, leave: leave, killed: make(chan struct{}), done: make(chan struct{})}
	errs := make([]error, cfg.Pilots)
	var wg sync.WaitGroup
	for i := range cfg.Pilots {
		n := cfg.Slots / cfg.Pilots
		if i < cfg.Slots%cfg.Pilots {
			n++
		}
		if n == 0 {
			continue
		}
		pc := pilot.Config{Client: cfg.Client, Queue: cfg.Queue, Name: fmt.Sprintf("%s-%d", cfg.Name, i+1), Node: "localhost", Slots: n,
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

// Err is how the pilots ended, after Kill.
func (s *Slots) Err() error { return s.err }

// Drain lets running jobs end and waits for it.
func (s *Slots) Drain(ctx context.Context, within time.Duration) error {
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

// Kill ends everything at once and waits until nothing is left. After a Drain it does nothing.
func (s *Slots) Kill() {
	s.once.Do(func() {
		s.leave()
		close(s.killed)
		<-s.done
	})
}
