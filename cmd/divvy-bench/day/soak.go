package day

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
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
	x.Weight, err = pg.Row[figure.Weight](ctx, r.Place.Pool, query["soak"])
	if err == nil {
		r.samples = append(r.samples, x)
	}
	return err
}

// figures are what the day came to. The rate is that of the site, so many times faster: less of it means that slots
// stood empty.
func (r *run) figures() error {
	took := r.took.Seconds() // with the rests: what was to end meanwhile ends after them
	now, from := r.pilots.counts.now(), r.pilots.from
	rate := func(what string, n int64) figure.Series { return figure.Of(what, what+"/s", float64(n)/took) }
	ends := rate("ends", now.finished+now.failed-from.finished-from.failed)
	due := r.rate() * (1 - r.Lose)
	_, peak, err := r.daemon.Memory()
	if err != nil {
		return err
	}
	cpu, err := r.daemon.CPU()
	if err != nil {
		return err
	}
	r.Book.Add(figure.AtMost("day", "off_at_rest_jobs", slices.Max(r.worst), 1+float64(shares.Tolerance)/1000, figure.Of("share furthest off at each rest", "jobs", r.worst...),
		figure.Of("share furthest off while jobs end and start", "jobs", r.moving...)),
		figure.AtLeast("day", "ends_ratio", ends.Median/due, 0.9, ends, figure.Of("ends that all slots make when none stands empty", "ends/s", due),
			rate("leases granted", now.granted-from.granted), rate("leases renewed", now.renewed-from.renewed), rate("calls", now.calls-from.calls),
			figure.Of("pulls of the whole day that were told to come again", "pulls", float64(r.pilots.counts.refused.Load()))),
		figure.AtMost("day", "memory_mb", peak, 400, figure.Of("most memory of the daemon that was resident", "MB", peak),
			figure.Of("processor time of the daemon in all", "s", cpu.Seconds())))
	if drifts := driftFigures(r.samples); drifts != nil {
		r.Book.Add(drifts...)
	} else {
		r.Book.Say("%d samples: too few for a trend", len(r.samples))
	}
	r.Book.Samples = r.samples
	return nil
}

func (r *run) settings() {
	d := r.Day
	r.Book.Set("day", "%s of a site in %s, 1:%g", d.Length, d.fast(d.Length).Round(time.Second), d.Speed)
	r.Book.Set("slots", "%d of one core, nodes of %d, %d queues, %d shares in 3 levels, eight in ten with work all day, one runs out of it, one has it in bursts",
		d.Slots, d.Node, d.Queues, r.Plan.Shares())
	r.Book.Set("jobs", "%s on average, exponential; %g %% of the attempts fail, %g %% are lost with their pilot", d.MeanJob, 100*d.Fail, 100*d.Lose)
	r.Book.Set("pulls", "the slot of a pilot that died is held by its lease, and whoever starts there waits for the next one that comes free: %.2f s a pull on average, %g of the attempts for %s",
		d.Lose*d.Lease.Seconds(), d.Lose, d.Lease)
	r.Book.Set("rates", "%.0f starts and as many ends a second, %g times those of the site; each lease renewed every %s", d.rate(), d.Speed, d.Lease/3)
}

// What may become more over the last three quarters of a day: a daemon or a table that grows by a tenth in eighteen
// hours doubles within a fortnight. Latencies scatter, so a trend of half of them says nothing yet.
const (
	driftFrom    = 0.25
	driftLeast   = 20 // samples, for a trend
	driftBound   = 1.1
	driftLatency = 1.5
)

// driftFigures say whether the day was flat: by how much memory, live tables and p99 of pulls would have grown from the
// end of the first quarter to the end, by their trend; none where there are too few samples.
func driftFigures(samples []figure.Sample) (all []figure.Figure) {
	late := samples[int(driftFrom*float64(len(samples))):]
	if len(late) < driftLeast {
		return nil
	}
	for _, d := range []struct {
		name, what, unit string
		bound            float64
		of               func(figure.Sample) float64
	}{
		{"memory_drift", "memory of the daemon", "MB", driftBound, func(x figure.Sample) float64 { return x.MemoryMB }},
		{"tables_drift", "live tables without their indexes", "MB", driftBound, func(x figure.Sample) float64 { return x.TablesMB }},
		{"indexes_drift", "indexes of the live tables", "MB", driftBound, func(x figure.Sample) float64 { return x.IndexesMB }},
		{"pull_p99_drift", "p99 of pulls that brought jobs", "ms", driftLatency, func(x figure.Sample) float64 { return x.P99 }},
	} {
		var hours, values, tenth []float64
		for i, x := range late {
			hours, values = append(hours, x.Hour), append(values, d.of(x))
			if i%10 == 0 {
				tenth = append(tenth, d.of(x))
			}
		}
		all = append(all, figure.AtMost("day", d.name, drift(hours, values), d.bound, figure.Of(d.what+" in the last three quarters, every tenth sample", d.unit, tenth...)))
	}
	return all
}

// drift is what the values grew to from first to last x by their trend, as a multiple of their median: 1 is flat. The trend
// is the median of the slopes of all pairs (Theil and Sen), which a burst here and there does not turn.
func drift(x, values []float64) float64 {
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] > x[j] {
				slopes = append(slopes, (values[i]-values[j])/(x[i]-x[j]))
			}
		}
	}
	if len(slopes) == 0 || figure.Median(values) <= 0 {
		return 1
	}
	return max(0.01, 1+figure.Median(slopes)*(slices.Max(x)-slices.Min(x))/figure.Median(values))
}
