package main

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/divvyhq/divvy/internal/pg"
)

// loop runs one step of a package below, again and again: at every tick, and at once when it is woken.
type loop struct {
	name  string
	every time.Duration
	bound time.Duration // longest time of one step
	drain bool          // a step that did something is repeated at once, until it finds nothing
	ease  *ease         // rests after a step that took long; nil: none
	wake  <-chan struct{}
	step  func(context.Context) (int, error)

	// Rest before such a repeat, of a step that did n, so that long work leaves the machine to others; nil: none.
	sigh func(n int, took time.Duration) time.Duration
}

// ease keeps a step from growing with what there is to do: it rests for so many times what the last one took. All
// daemons run the same steps on the same database, so each rests as much longer as there are more of them; together
// they take no more of it than one.
type ease struct {
	times   float64
	most    time.Duration // of a rest, times the daemons, and
	mostAll time.Duration // however many they are
	daemons func() int
}

func (e *ease) rest(took time.Duration) time.Duration {
	if e == nil {
		return 0
	}
	rest := min(time.Duration(e.times*float64(took)), e.most)
	return min(rest*time.Duration(max(e.daemons(), 1)), e.mostAll)
}

// sigh is rest, however much the step did.
func (e *ease) sigh(_ int, took time.Duration) time.Duration { return e.rest(took) }

const (
	stepBound    = 30 * time.Second
	failPause    = 200 * time.Millisecond
	failPauseMax = 5 * time.Second
	awayPauseMax = time.Second // where the database is away: half a second to a second after its return all goes on
)

// loopMetrics say how the steps are doing.
type loopMetrics struct {
	runs, errors, items *prometheus.CounterVec
	seconds             *prometheus.HistogramVec
}

func newLoopMetrics(reg prometheus.Registerer) *loopMetrics {
	f := promauto.With(reg)
	return &loopMetrics{
		runs:   f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_step_runs_total", Help: "Background steps that ran."}, []string{"step"}),
		errors: f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_step_errors_total", Help: "Background steps that failed."}, []string{"step"}),
		items:  f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_step_items_total", Help: "What background steps worked on, in the unit of the step."}, []string{"step"}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{Name: "divvy_step_seconds", Help: "Seconds of one background step.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9)}, []string{"step"}),
	}
}

// run goes on until ctx ends; a step that is under way then is waited for. The first error of a streak is
// logged, the rest is counted; pauses grow while it lasts.
func (l loop) run(ctx context.Context, m *loopMetrics, log *slog.Logger) {
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	m.errors.WithLabelValues(l.name) // from 0 on: the first one counts as a rise
	streak := 0
	for {
		began := time.Now()
		n, err := l.once(ctx, m)
		took := time.Since(began)
		rest := l.ease.rest(took)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if streak++; streak == 1 {
				log.Error("background step failed; it is tried again", "step", l.name, "error", err)
			}
			if !pause(ctx, backoff(streak, err)) {
				return
			}
			continue
		case streak > 0:
			log.Info("background step works again", "step", l.name, "failures", streak)
			streak = 0
		}
		if l.drain && n > 0 {
			if l.sigh != nil && !pause(ctx, l.sigh(n, took)) {
				return
			}
			continue
		}
		if rest > 0 && !pause(ctx, rest) { // ticks and wakes that come meanwhile are one afterwards
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-l.wake:
		}
	}
}

func (l loop) once(ctx context.Context, m *loopMetrics) (int, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	bound := l.bound
	if bound == 0 {
		bound = stepBound
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	began := time.Now()
	n, err := l.step(ctx)
	m.seconds.WithLabelValues(l.name).Observe(time.Since(began).Seconds())
	m.runs.WithLabelValues(l.name).Inc()
	m.items.WithLabelValues(l.name).Add(float64(max(n, 0)))
	if err != nil && !errors.Is(err, context.Canceled) {
		m.errors.WithLabelValues(l.name).Inc()
	}
	return n, err
}

// backoff is the pause after the n-th failure in a row, jittered so that daemons do not come back together. A database
// that is away is asked often: nobody is served until it was found again.
func backoff(n int, err error) time.Duration {
	most := failPauseMax
	if pg.IsUnavailable(err) {
		most = awayPauseMax
	}
	d := min(failPause<<min(n-1, 10), most)
	return d/2 + rand.N(d/2)
}

// pause waits for d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
