package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// What an order must have. That River really works is tested from the outside, see cmd/divvy-bench/suite.
func TestOrder(t *testing.T) {
	for name, order := range map[string]string{
		"nothing":      "",
		"no dsn":       `{"jobs":10000,"duration_ns":1}`,
		"no duration":  `{"dsn":"host=x","jobs":10000}`,
		"too few jobs": `{"dsn":"host=x","jobs":4000,"duration_ns":1}`,
		"bad dsn":      `{"dsn":"postgres://u:secret@[::/x","jobs":10000,"duration_ns":1}`,
	} {
		err := run(context.Background(), strings.NewReader(order), io.Discard)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// feed sends so many completions, a thousand every 10 ms, until the context ends.
func feed(ctx context.Context, events chan<- *river.Event, n int) {
	for i := range n {
		if i%1000 == 999 {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
		events <- &river.Event{Kind: river.EventKindJobCompleted, Job: &rivertype.JobRow{ID: int64(i)}}
	}
}

func TestSteady(t *testing.T) {
	for _, c := range []struct {
		name             string
		jobs             int
		warmUp, duration time.Duration
		rate             float64
		elapsed          time.Duration // 0 = refused
	}{
		{"all of it", 1_000_000, time.Second, time.Second, 100_000, time.Second},
		{"jobs run out", 152_000, time.Second, time.Second, 100_000, 500 * time.Millisecond},
		{"in the warm-up", 50_000, time.Second, time.Second, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				events := make(chan *river.Event)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				n := &counter{last: int64(c.jobs - workers), dry: make(chan struct{}), bad: make(chan error, 1)}
				go n.listen(events)
				go func() { defer close(events); feed(ctx, events, c.jobs) }()
				got, elapsed, err := n.steady(ctx, order{Jobs: c.jobs, WarmUp: c.warmUp, Duration: c.duration})
				if c.elapsed == 0 {
					if err == nil {
						t.Errorf("%d in %s", got, elapsed)
					}
				} else if rate := float64(got) / elapsed.Seconds(); err != nil || elapsed < c.elapsed-20*time.Millisecond || elapsed > c.elapsed+20*time.Millisecond ||
					rate < c.rate*0.97 || rate > c.rate*1.03 {
					t.Errorf("%.0f/s in %s, %v", rate, elapsed, err)
				}
			})
		})
	}
}

// A job that is not completed ends the measurement.
func TestFailedJob(t *testing.T) {
	events := make(chan *river.Event, 1)
	n := &counter{last: 10, dry: make(chan struct{}), bad: make(chan error, 1)}
	go n.listen(events)
	defer close(events)
	events <- &river.Event{Kind: river.EventKindJobFailed, Job: &rivertype.JobRow{ID: 7}}
	if _, _, err := n.steady(t.Context(), order{WarmUp: time.Hour}); err == nil || !strings.Contains(err.Error(), "job 7") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := n.steady(ctx, order{WarmUp: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
