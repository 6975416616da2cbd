package figure

import (
	"math"
	"testing"
	"time"
)

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		figure   Figure
		line     string
		attained float64
	}{
		{AtLeast("S1", "ratio", 6.4, 6), "S1 ratio 6.4 target 6.0 ok", 6.4 / 6},
		{AtLeast("S1", "ratio", 6, 6), "S1 ratio 6.0 target 6.0 ok", 1},
		{AtLeast("S1", "ratio", 3, 6), "S1 ratio 3.0 target 6.0 below", 0.5},
		{AtLeast("S1", "ratio", 0, 6), "S1 ratio 0.00 target 6.0 below", 0},
		{AtLeast("S2", "ratio", 0.58, 0.5), "S2 ratio 0.58 target 0.50 ok", 1.16},
		{AtLeast("S10", "ratio", 612.4, 500), "S10 ratio 612 target 500 ok", 612.4 / 500},
		{AtMost("S4", "claim_p99_ms", 8, 10), "S4 claim_p99_ms 8.0 target 10.0 ok", 1.25},
		{AtMost("S4", "claim_p99_ms", 20, 10), "S4 claim_p99_ms 20.0 target 10.0 below", 0.5},
		{AtMost("S4", "claim_p99_ms", 0, 10), "S4 claim_p99_ms 0.00 target 10.0 below", 0}, // nothing was measured
		{AtLeast("S8", "generated_per_s", 163012, 150000), "S8 generated_per_s 163012 target 150000 ok", 163012.0 / 150000},
	} {
		if got := c.figure.Line(); got != c.line {
			t.Errorf("%q, want %q", got, c.line)
		}
		if got := c.figure.Attained(); math.Abs(got-c.attained) > 1e-9 {
			t.Errorf("%s: attained %v, want %v", c.line, got, c.attained)
		}
	}
	r := Report{Figures: []Figure{AtLeast("S1", "ratio", 7, 6), AtMost("S4", "p99", 20, 10), AtLeast("S2", "ratio", 0.4, 0.5)}}
	if worst, ok := r.Worst(); !ok || worst.ID != "S4" {
		t.Errorf("worst %+v", worst)
	}
	r.Figures = []Figure{AtLeast("S5", "daemons_ratio", 0.45, 0.95), AtLeast("S10", "ratio", 400, 500)}
	if known := r.Known(map[string]float64{"S5 daemons_ratio": 0.45}); known.Figures[0].Verdict != OK || known.Figures[1].Verdict != Below || r.Figures[0].Verdict != Below {
		t.Errorf("with what was reached as its target: %+v; before: %+v", known.Figures, r.Figures)
	}
}

func TestMedianAndQuantile(t *testing.T) {
	rounds := []float64{9, 1, 5}
	if m := Median(rounds); m != 5 || rounds[0] != 9 {
		t.Errorf("median %v of %v", m, rounds)
	}
	if m := Median([]float64{4, 2}); m != 2 {
		t.Errorf("median of two: %v", m)
	}
	var times []time.Duration
	for i := range 200 {
		times = append(times, time.Duration(200-i)*time.Millisecond)
	}
	for q, want := range map[float64]float64{0.5: 100, 0.99: 198, 1: 200, 0: 1} {
		if got := Quantile(times, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if Quantile(nil, 0.99) != 0 {
		t.Error("quantile of nothing")
	}
}
