package loops

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

// Loop runs one step of a package below, again and again: at every tick, and at once when it is woken.
type Loop struct {
	Name  string
	Every time.Duration
	First time.Duration // after the start
	Bound time.Duration // longest time of one step
	Drain bool          // a step that did something is repeated at once, until it finds nothing
	Ease  *Ease         // rests after a step that took long; nil: none
	News  *News         // without any it looks now and then; nil: it keeps to its pace
	Wake  <-chan struct{}
	Step  func(context.Context) (int, error)

	// Rest before such a repeat, of a step that did n, so that long work leaves the machine to others; nil: none.
	Sigh func(n int, took time.Duration) time.Duration
}

// Ease keeps a step from growing with what there is to do: it rests for so many times what the last one took. All
// daemons run the same steps on the same database, so each rests as much longer as there are more of them; together
// they take no more of it than one.
type Ease struct {
	Times   float64
	Most    time.Duration // of a rest, times the daemons, and
	MostAll time.Duration // however many they are
	Daemons func() int
}

// Rest is how long a step rests that took so long.
func (e *Ease) Rest(took time.Duration) time.Duration {
	if e == nil {
		return 0
	}
	rest := min(time.Duration(e.Times*float64(took)), e.Most)
	return min(rest*time.Duration(max(e.Daemons(), 1)), e.MostAll)
}

// Sigh is Rest, however much the step did.
func (e *Ease) Sigh(_ int, took time.Duration) time.Duration { return e.Rest(took) }

const (
	stepBound    = 30 * time.Second
	failPause    = 200 * time.Millisecond
	failPauseMax = 5 * time.Second
	awayPauseMax = time.Second // where the database is away: half a second to a second after its return all goes on
)

// Metrics say how the steps are doing.
type Metrics struct {
	runs, errors, items *prometheus.CounterVec
	seconds             *prometheus.HistogramVec
}

// NewMetrics registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	return &Metrics{
		runs:   f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_step_runs_total", Help: "Background steps that ran."}, []string{"step"}),
		errors: f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_step_errors_total", Help: "Background steps that failed."}, []string{"step"}),
		items:  f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_step_items_total", Help: "Items that background steps worked on."}, []string{"step"}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{Name: "divvy_step_seconds", Help: "Seconds of one background step.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9)}, []string{"step"}),
	}
}

// Run goes on until ctx ends; a step that is under way then is waited for. The first error of a streak is
// logged, the rest is counted; pauses grow while it lasts.
func (l Loop) Run(ctx context.Context, m *Metrics, log *slog.Logger) {
	if l.First > 0 && !Pause(ctx, l.First) {
		return
	}
	tick := time.NewTicker(l.Every)
	defer tick.Stop()
	m.errors.WithLabelValues(l.Name) // from 0 on: the first one counts as a rise
	streak := 0
	for {
		began := time.Now()
		n, err := l.once(ctx, m)
		took := time.Since(began)
		rest := l.Ease.Rest(took)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if streak++; streak == 1 {
				log.Error("background step failed; it is tried again", "step", l.Name, "error", err)
			}
			if !Pause(ctx, Backoff(streak, err)) {
				return
			}
			continue
		case streak > 0:
			log.Info("background step works again", "step", l.Name, "failures", streak)
			streak = 0
		}
		if l.Drain && n > 0 {
			if l.Sigh != nil && !Pause(ctx, l.Sigh(n, took)) {
				return
			}
			continue
		}
		if rest > 0 && (l.Wake != nil || took+rest > l.Every) && !Pause(ctx, rest) { // ticks and wakes that come meanwhile are one afterwards
			return
		}
		if !l.wait(ctx, tick.C, began) {
			return
		}
	}
}

// wait ends when the next step is due after one that began then; false: ctx ended first.
func (l Loop) wait(ctx context.Context, tick <-chan time.Time, began time.Time) bool {
	news := l.News.None(began)
	if news != nil {
		late := time.NewTimer(newsNone)
		defer late.Stop()
		tick = late.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-tick:
	case <-news:
	case <-l.Wake:
	}
	return true
}

func (l Loop) once(ctx context.Context, m *Metrics) (int, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	bound := l.Bound
	if bound == 0 {
		bound = stepBound
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	began := time.Now()
	n, err := l.Step(ctx)
	m.seconds.WithLabelValues(l.Name).Observe(time.Since(began).Seconds())
	m.runs.WithLabelValues(l.Name).Inc()
	m.items.WithLabelValues(l.Name).Add(float64(max(n, 0)))
	if err != nil && !errors.Is(err, context.Canceled) {
		m.errors.WithLabelValues(l.Name).Inc()
	}
	return n, err
}

// Backoff is the pause after the n-th failure in a row, jittered so that daemons do not come back together. A database
// that is away is asked often: no request is served until it is back.
func Backoff(n int, err error) time.Duration {
	most := failPauseMax
	if pg.IsUnavailable(err) {
		most = awayPauseMax
	}
	d := min(failPause<<min(n-1, 10), most)
	return d/2 + rand.N(d/2)
}

// Pause waits for d; false when ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Steps that come rarely do not do so all at once: one after the other they use the same few connections, whose backends know by then what they
// are asked. Many at once have a backend each learn it.
const (
	rarely    = 5 * time.Second
	apartFrom = 100 * time.Millisecond
)

// Apart has the steps that come rarely begin one after the other.
func Apart(ls []Loop) []Loop {
	n := time.Duration(0)
	for i := range ls {
		if ls[i].Every >= rarely {
			ls[i].First = n * apartFrom
			n++
		}
	}
	return ls
}
