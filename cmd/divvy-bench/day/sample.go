package day

import (
	"context"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
)

// samplesOfDay is how many samples a day has, and sampleEvery what is between two of them at least.
const (
	samplesOfDay = 144
	sampleEvery  = 250 * time.Millisecond
)

// moment is what had been used by then; zero: the site was at rest.
type moment struct {
	at    time.Time
	cpu   time.Duration
	ended int64
}

// sample looks at the day again and again while jobs end, until ctx ends.
func (r *run) sample(ctx context.Context) error {
	tick := time.NewTicker(max(sampleEvery, r.fast(r.Length)/samplesOfDay))
	defer tick.Stop()
	var last moment
	var moved time.Duration // of the day, so far, here
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !r.pilots.signals.moving.Load() || r.pilots.beganAt().IsZero() {
			last = moment{}
			continue
		}
		waited := r.pilots.waits.take()
		now, err := r.moment()
		if err == nil && !last.at.IsZero() {
			moved += now.at.Sub(last.at)
			err = r.between(ctx, last, now, moved, waited)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("sample: %w", err)
		}
		last = now
	}
}

func (r *run) moment() (m moment, err error) {
	m = moment{at: time.Now(), ended: r.pilots.counts.ended.Load()}
	m.cpu, err = r.daemon.CPU()
	return m, err
}

// between adds the sample between two moments.
func (r *run) between(ctx context.Context, from, to moment, moved time.Duration, waited []time.Duration) (err error) {
	ended := to.ended - from.ended
	x := figure.Sample{Hour: moved.Hours() * r.Speed, Ends: float64(ended) / to.at.Sub(from.at).Seconds(), CPUUS: stage.Micros(to.cpu-from.cpu, int(ended)),
		Pulls: len(waited), P50: figure.Quantile(waited, 0.5), P99: figure.Quantile(waited, 0.99)}
	if x.MemoryMB, _, err = r.daemon.Memory(); err != nil {
		return err
	}
	x.Weight, err = recount.Row[figure.Weight](ctx, r.Place.Pool, query["soak"])
	if err == nil {
		r.samples = append(r.samples, x)
	}
	return err
}
