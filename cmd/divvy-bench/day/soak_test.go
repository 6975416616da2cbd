package day

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
)

// A trend is found through scatter and bursts, and there is none where nothing grows.
func TestDrift(t *testing.T) {
	line := func(slope, burst float64) (x, y []float64) {
		for i := range 100 {
			v := 100 + slope*float64(i) + 2*math.Sin(float64(7*i))
			if i%25 == 0 {
				v += burst
			}
			x, y = append(x, float64(i)/4), append(y, v)
		}
		return x, y
	}
	for name, c := range map[string]struct{ slope, burst, low, high float64 }{
		"flat":                    {0, 0, 0.98, 1.02},
		"flat, with bursts":       {0, 1000, 0.98, 1.02},
		"a fifth more":            {0.2, 0, 1.15, 1.21},
		"a fifth more, in bursts": {0.2, 500, 1.15, 1.21},
		"less":                    {-0.3, 0, 0.6, 0.72},
	} {
		x, y := line(c.slope, c.burst)
		if got := drift(x, y); got < c.low || got > c.high {
			t.Errorf("%s: %.3f, want %.2f to %.2f", name, got, c.low, c.high)
		}
	}
	if got := drift([]float64{1}, []float64{5}); got != 1 {
		t.Errorf("one sample drifts %v", got)
	}
	if got := drift([]float64{1, 2}, []float64{0, 0}); got != 1 {
		t.Errorf("nothing drifts %v", got)
	}
}

// A day in which something grows is below its target, and one with few samples has no verdict.
func TestDriftFigures(t *testing.T) {
	day := func(n int) (all []figure.Sample) {
		for i := range n {
			x := figure.Sample{Hour: float64(i) / 6, MemoryMB: 200 + float64(i), P99: 20}
			x.TablesMB, x.IndexesMB = 500, 100
			all = append(all, x)
		}
		return all
	}
	if few := driftFigures(day(20)); len(few) != 0 {
		t.Errorf("a trend of 15 samples: %+v", few)
	}
	var got []string
	for _, f := range driftFigures(day(144)) {
		got = append(got, f.Line())
	}
	want := "day memory_drift 1.4 target 1.1 below|day tables_drift 1.0 target 1.1 ok|day indexes_drift 1.0 target 1.1 ok|day pull_p99_drift 1.0 target 1.5 ok"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}

// Each pull counts in one sample.
func TestWaits(t *testing.T) {
	var w waits
	w.add(time.Second)
	w.add(3 * time.Second)
	if got := w.take(); len(got) != 2 || figure.Quantile(got, 0.99) != 3000 || len(w.take()) != 0 {
		t.Errorf("%v", got)
	}
}
