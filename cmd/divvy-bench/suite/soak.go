package suite

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Sample is what a day weighed and how fast it was answered in a moment of it.
type Sample struct {
	Hour float64 `json:"hour"` // of the day, at the site; rests do not count
	// MemoryMB is what is resident of the daemon; Ends and CPUUS, its processor time an end, are since the sample before.
	MemoryMB float64 `json:"memory_mb"`
	Ends     float64 `json:"ends_per_s"`
	CPUUS    float64 `json:"cpu_us_an_end"`
	// P50 and P99 are milliseconds of the pulls that were answered with jobs since the sample before; Pulls is how many.
	Pulls int     `json:"pulls"`
	P50   float64 `json:"pull_p50_ms"`
	P99   float64 `json:"pull_p99_ms"`
	weight
}

// weight is what the database weighs.
type weight struct {
	TablesMB   float64 `json:"tables_mb"`
	IndexesMB  float64 `json:"indexes_mb"`
	PassingMB  float64 `json:"passing_mb"`
	HistoryMB  float64 `json:"history_mb"`
	DeadRanges float64 `json:"dead_ranges"`
	DeadLeases float64 `json:"dead_leases"`
	Vacuums    float64 `json:"vacuums"`
	WALMB      float64 `json:"wal_mb"`
}

// samplesOfDay is how many samples a day has, and sampleEvery what is between two of them at least.
const (
	samplesOfDay = 144
	sampleEvery  = 250 * time.Millisecond
)

// waits are how long pulls took that brought jobs.
type waits struct {
	mu  sync.Mutex
	all []time.Duration
}

func (w *waits) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, d)
}

// take is those since it was last called.
func (w *waits) take() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.all
	w.all = nil
	return out
}

// sampler looks at a day again and again while jobs end.
type sampler struct {
	*dayRun
	moved   time.Duration // of the day, so far, here
	at      time.Time     // of the look before
	cpu     time.Duration // by then
	ended   int64
	between time.Duration
}

// sample goes on until ctx ends.
func (r *dayRun) sample(ctx context.Context) error {
	s := &sampler{dayRun: r, between: max(sampleEvery, r.fast(r.Length)/samplesOfDay)}
	tick := time.NewTicker(s.between)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("sample: %w", err)
		}
	}
}

// look takes a sample, unless the site was at rest since the look before: then it only begins to count anew.
func (s *sampler) look(ctx context.Context) error {
	r := s.dayRun
	moving := r.site.moving.Load() && !r.site.beganAt().IsZero()
	if !moving {
		s.at = time.Time{}
		return nil
	}
	now, waited := time.Now(), r.site.waits.take()
	cpu, err := r.daemon.cpu()
	if err != nil {
		return err
	}
	ended := r.site.ended.Load()
	from := *s
	s.at, s.cpu, s.ended = now, cpu, ended
	if from.at.IsZero() {
		return nil
	}
	took := now.Sub(from.at)
	s.moved += took
	x := Sample{Hour: s.moved.Hours() * r.Speed, Ends: float64(ended-from.ended) / took.Seconds(), Pulls: len(waited), P50: quantile(waited, 0.5), P99: quantile(waited, 0.99)}
	x.CPUUS = float64((cpu - from.cpu).Microseconds()) / float64(max(1, ended-from.ended))
	if x.MemoryMB, _, err = r.daemon.memory(); err != nil {
		return err
	}
	rows, err := r.place.pool.Query(ctx, query["soak"])
	if err != nil {
		return err
	}
	if x.weight, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[weight]); err != nil {
		return err
	}
	r.samples = append(r.samples, x)
	return nil
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
// end of the first quarter to the end, by their trend.
func (r *dayRun) driftFigures() {
	late := r.samples[int(driftFrom*float64(len(r.samples))):]
	if len(late) < driftLeast {
		r.say("%d samples: too few for a trend", len(r.samples))
		return
	}
	for _, d := range []struct {
		name, what, unit string
		bound            float64
		of               func(Sample) float64
	}{
		{"memory_drift", "memory of the daemon", "MB", driftBound, func(x Sample) float64 { return x.MemoryMB }},
		{"tables_drift", "live tables without their indexes", "MB", driftBound, func(x Sample) float64 { return x.TablesMB }},
		{"indexes_drift", "indexes of the live tables", "MB", driftBound, func(x Sample) float64 { return x.IndexesMB }},
		{"pull_p99_drift", "p99 of pulls that brought jobs", "ms", driftLatency, func(x Sample) float64 { return x.P99 }},
	} {
		var hours, values []float64
		for _, x := range late {
			hours, values = append(hours, x.Hour), append(values, d.of(x))
		}
		r.figure(atMost("day", d.name, drift(hours, values), d.bound, newSeries(d.what+" in the last three quarters, every tenth sample", d.unit, tenth(values))))
	}
}

// tenth is the first and every tenth one after it.
func tenth(of []float64) (out []float64) {
	for i := 0; i < len(of); i += 10 {
		out = append(out, of[i])
	}
	return out
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
	if len(slopes) == 0 || median(values) <= 0 {
		return 1
	}
	return max(0.01, 1+median(slopes)*(slices.Max(x)-slices.Min(x))/median(values))
}

// WriteSamples writes them as CSV, a line a sample.
func WriteSamples(w io.Writer, samples []Sample) error {
	c := csv.NewWriter(w)
	head := []string{"hour", "memory_mb", "ends_per_s", "cpu_us_an_end", "pulls", "pull_p50_ms", "pull_p99_ms", "tables_mb", "indexes_mb", "passing_mb", "history_mb",
		"dead_ranges", "dead_leases", "vacuums", "wal_mb"}
	if err := c.Write(head); err != nil {
		return err
	}
	for _, x := range samples {
		line := make([]string, 0, len(head))
		for _, v := range []float64{x.Hour, x.MemoryMB, x.Ends, x.CPUUS, float64(x.Pulls), x.P50, x.P99, x.TablesMB, x.IndexesMB, x.PassingMB, x.HistoryMB,
			x.DeadRanges, x.DeadLeases, x.Vacuums, x.WALMB} {
			line = append(line, strconv.FormatFloat(v, 'f', 3, 64))
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}
