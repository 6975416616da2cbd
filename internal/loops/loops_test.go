package loops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestLoopTicksWakesAndDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		wake := make(chan struct{}, 1)
		left := 3
		var runs atomic.Int64 // the loop's next tick knows nothing of our last look
		l := Loop{Name: "x", Every: time.Second, Drain: true, Wake: wake, Step: func(context.Context) (int, error) {
			runs.Add(1)
			left = max(left-1, 0)
			return left, nil
		}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Run(ctx, NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		if n := runs.Load(); n != 3 {
			t.Errorf("%d runs at the start, want 3: it drains", n)
		}
		wake <- struct{}{}
		synctest.Wait()
		if n := runs.Load(); n != 4 {
			t.Errorf("%d runs after a wake, want 4", n)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := runs.Load(); n != 5 {
			t.Errorf("%d runs after a tick, want 5", n)
		}
		cancel()
		<-done
	})
}

func TestLoopSurvivesFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		runs := 0
		l := Loop{Name: "x", Every: time.Second, Step: func(context.Context) (int, error) {
			if runs++; runs <= 5 {
				return 0, errors.New("away")
			}
			return 0, nil
		}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Run(ctx, NewMetrics(prometheus.NewRegistry()), slog.New(slog.NewTextHandler(&out, nil)))
		}()
		time.Sleep(time.Minute)
		cancel()
		<-done
		if n := strings.Count(out.String(), "away"); n != 1 {
			t.Errorf("the error was logged %d times, want once:\n%s", n, out.String())
		}
		if !strings.Contains(out.String(), "failures=5") || runs < 30 {
			t.Errorf("it did not come back: %d runs\n%s", runs, out.String())
		}
	})
}

func TestLoopBoundsAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Loop{Name: "x", Every: time.Second, Bound: time.Second, Step: func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}}
		_, err := l.once(t.Context(), NewMetrics(prometheus.NewRegistry()))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestLoopRestsAfterLongSteps(t *testing.T) {
	e := func(daemons int) *Ease {
		return &Ease{Times: 20, Most: 10 * time.Second, MostAll: time.Minute, Daemons: func() int { return daemons }}
	}
	for _, c := range []struct {
		ease       *Ease
		took, want time.Duration
	}{
		{nil, time.Hour, 0},
		{e(1), 10 * time.Millisecond, 200 * time.Millisecond},
		{e(1), time.Hour, 10 * time.Second},
		{e(0), 10 * time.Millisecond, 200 * time.Millisecond},
		{e(3), 10 * time.Millisecond, 600 * time.Millisecond},
		{e(10), time.Hour, time.Minute},
	} {
		if got := c.ease.Rest(c.took); got != c.want {
			t.Errorf("rest after %v is %v, want %v", c.took, got, c.want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var starts []time.Duration
		began, takes := time.Now(), 500*time.Millisecond
		l := Loop{Name: "x", Every: time.Second, Ease: e(1), Step: func(context.Context) (int, error) {
			starts = append(starts, time.Since(began))
			time.Sleep(takes)
			takes = 0
			return 0, nil
		}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Run(ctx, NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
		}()
		time.Sleep(12*time.Second + time.Millisecond)
		cancel()
		<-done
		// Half a second, ten of rest; then quick steps at the ticks again, the one that was missed first.
		want := []time.Duration{0, 10500 * time.Millisecond, 11 * time.Second, 12 * time.Second}
		if !slices.Equal(starts, want) {
			t.Errorf("it ran at %v, want %v", starts, want)
		}
	})
}

// A failover takes as long as it takes; what comes after it must not take seconds more because the pauses had grown.
func TestBackoffAsksAnAbsentDatabaseOften(t *testing.T) {
	away := fmt.Errorf("refresh: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
	for range 100 {
		if d := Backoff(30, away); d > time.Second || d < 100*time.Millisecond {
			t.Fatalf("a pause of %v while the database is away, want at most 1 s", d)
		}
		if d := Backoff(30, errors.New("a bug")); d < 2500*time.Millisecond {
			t.Fatalf("a pause of %v after other failures, want more than 2.5 s", d)
		}
	}
}
