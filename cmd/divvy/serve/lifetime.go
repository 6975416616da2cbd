package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// lifetime is what a start has begun, and how it ends.
type lifetime struct {
	within   time.Duration // of an orderly stop
	log      *slog.Logger
	undo     []undoStep // what the end does, last first
	failed   chan error
	stopping sync.Once
	leaving  atomic.Bool // the end has begun: /readyz says so
}

// undoStep takes back one step of Start.
type undoStep struct {
	name  string
	bound time.Duration
	do    func(context.Context) error
}

func (l *lifetime) onStop(name string, bound time.Duration, do func(context.Context) error) {
	l.undo = append(l.undo, undoStep{name, bound, do})
}

func (l *lifetime) fail(err error) {
	select {
	case l.failed <- err:
	default:
	}
}

// end takes all steps back in the reverse order, each within its bound and all within ctx and within.
// A step that fails or runs out of time does not keep the next from being taken.
func (l *lifetime) end(ctx context.Context) error {
	var errs []error
	l.stopping.Do(func() {
		l.leaving.Store(true)
		ctx, cancel := context.WithTimeout(ctx, l.within)
		defer cancel()
		for i := len(l.undo) - 1; i >= 0; i-- {
			s := l.undo[i]
			began := time.Now()
			bounded, cancel := context.WithTimeout(ctx, s.bound)
			if err := s.do(bounded); err != nil {
				errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
				l.log.Error("stop: step failed", "step", s.name, "error", err)
			}
			cancel()
			l.log.Debug("stopped", "step", s.name, "took", time.Since(began).Round(time.Millisecond))
		}
	})
	return errors.Join(errs...)
}

// server is *http.Server, or what stands before one.
type server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// serveOn runs an HTTP server until Stop, which lets requests that are under way end.
func (l *lifetime) serveOn(name string, on net.Listener, srv server) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(on); !errors.Is(err, http.ErrServerClosed) {
			l.fail(fmt.Errorf("%s: %w", name, err))
		}
	}()
	l.onStop(name, 10*time.Second, func(ctx context.Context) error {
		err := srv.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, srv.Close())
		}
		<-done
		return err
	})
}

// wait runs do, which cannot be cancelled, and gives up waiting for it when ctx ends.
func wait(ctx context.Context, complaint string, do func()) error {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New(complaint)
	}
}
