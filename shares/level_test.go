package shares

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// levelled are the parts of siblings with these weights, lows and tops.
func levelled(t rapid.TB, weights, low, top []float64, b float64) []float64 {
	specs := make([]Spec, len(weights))
	for i, w := range weights {
		specs[i] = Spec{Name: fmt.Sprintf("s%d", i), Plan: DefaultPlan()}
		specs[i].Plan.Weight, specs[i].Plan.Min = w, Of(1000) // so that a low counts as a breakpoint
	}
	tree, err := Build(specs)
	if err != nil {
		t.Fatal(err)
	}
	s := &NewPool(tree, "default").solver
	f := &s.families[0]
	copy(s.low[f.lo:f.hi], low)
	copy(s.top[f.lo:f.hi], top)
	s.level(&f.classes[0], stepPool, b)
	return s.add[f.lo:f.hi]
}

// Where the level is at a breakpoint but for rounding, and a sibling of little weight still grows there, that one's part has
// the rounding, not its sibling's of large weight: here that one was 0.0009 thousandths short once, with weights of 10^6 it could be 30.
func TestLevelAtABreakpoint(t *testing.T) {
	got := levelled(t, []float64{39, 1e-6}, []float64{2000, 0}, []float64{212669.9233219488, 11}, 212669.92877502373)
	if got[0] != 212669.9233219488 || got[1] < 0.00545307 || got[1] > 0.00545308 {
		t.Errorf("%v", got)
	}
}

// The parts of siblings are right to a part in 10^12 of what they share, whatever their weights, at breakpoints too.
func TestLevelEqualsExactRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "siblings")
		lambda := rapid.Float64Range(1e-3, 1e6).Draw(t, "level")
		weights, low, top, b := make([]float64, n), make([]float64, n), make([]float64, n), 0.0
		var w, lo, hi []*big.Rat
		for i := range n {
			weights[i] = rapid.SampledFrom([]float64{1e-6, 1e-6, 0.3, 1, 3, 39, 250, 1e6}).Draw(t, "weight")
			grown := lambda * weights[i]
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				top[i] = grown // stops at the level
			case 1:
				top[i] = grown * rapid.Float64Range(0, 1).Draw(t, "stops before")
			case 2:
				low[i], top[i] = grown, 2*grown // starts at the level
			case 3:
				low[i] = grown * rapid.Float64Range(1, 2).Draw(t, "starts behind")
				top[i] = 2 * low[i]
			case 4:
				top[i] = float64(MaxAmount)
			}
			b += min(max(grown, low[i]), top[i])
			w, lo, hi = append(w, new(big.Rat).SetFloat64(weights[i])), append(lo, new(big.Rat).SetFloat64(low[i])), append(hi, new(big.Rat).SetFloat64(top[i]))
		}
		lows, tops := 0.0, 0.0
		for i := range n {
			lows, tops = lows+low[i], tops+top[i]
		}
		if b <= lows || b >= tops {
			t.Skip("there is no level to be found")
		}
		got := levelled(t, weights, low, top, b)
		for i, want := range levelExact(w, lo, hi, new(big.Rat).SetFloat64(b)) {
			if off(got[i], want) > 1e-12*b {
				t.Fatalf("sibling %d gets %v of %v, exactly %s: weights %v, from %v to %v", i, got[i], b, want.FloatString(9), weights, low, top)
			}
		}
	})
}
