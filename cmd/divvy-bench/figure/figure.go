package figure

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Figure is one measured value beside its target.
type Figure struct {
	ID       string   `json:"id"`
	Quantity string   `json:"quantity"` // ratio, or what is measured with its unit: claim_p99_ms
	Value    float64  `json:"value"`
	Target   float64  `json:"target"`
	AtMost   bool     `json:"at_most"`                  // the target is an upper bound
	Verdict  string   `json:"verdict"`                  // ok or below
	Series   []Series `json:"series"`                   // what Value was worked out of
	Effort   float64  `json:"cpu_us_a_claim,omitempty"` // processor time of divvy and PostgreSQL a claim; a rate moves with foreign load, this hardly
}

// Series is what the rounds of one side gave.
type Series struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Rounds []float64 `json:"rounds"`
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
}

// The verdicts.
const (
	OK    = "ok"
	Below = "below" // short of the target, on whichever side that is
)

// Of returns the series of at least one round.
func Of(name, unit string, rounds ...float64) Series {
	return Series{Name: name, Unit: unit, Rounds: rounds, Median: Median(rounds), Min: slices.Min(rounds), Max: slices.Max(rounds)}
}

// Rounds collects the values of several sides, round by round.
type Rounds struct{ sides []Series }

// Add notes a value of a side.
func (r *Rounds) Add(name, unit string, value float64) {
	i := slices.IndexFunc(r.sides, func(s Series) bool { return s.Name == name })
	if i < 0 {
		i, r.sides = len(r.sides), append(r.sides, Series{Name: name, Unit: unit})
	}
	r.sides[i].Rounds = append(r.sides[i].Rounds, value)
}

// Of returns the series of a side that has rounds.
func (r *Rounds) Of(name string) Series {
	i := slices.IndexFunc(r.sides, func(s Series) bool { return s.Name == name })
	return Of(name, r.sides[i].Unit, r.sides[i].Rounds...)
}

// AtLeast returns a figure that should not be less than its target.
func AtLeast(id, quantity string, value, target float64, of ...Series) Figure {
	return Figure{ID: id, Quantity: quantity, Value: value, Target: target, Series: of}.judged()
}

// AtMost returns a figure that should not be more than its target.
func AtMost(id, quantity string, value, target float64, of ...Series) Figure {
	return Figure{ID: id, Quantity: quantity, Value: value, Target: target, AtMost: true, Series: of}.judged()
}

func (f Figure) judged() Figure {
	f.Verdict = Below
	if f.Attained() >= 1 {
		f.Verdict = OK
	}
	return f
}

// With adds the processor time a claim.
func (f Figure) With(effort Series) Figure {
	f.Series, f.Effort = append(f.Series, effort), effort.Median
	return f
}

// Attained is the part of the target that was reached: 1 and more is all of it.
func (f Figure) Attained() float64 {
	switch {
	case f.AtMost && f.Value > 0:
		return f.Target / f.Value
	case !f.AtMost && f.Target > 0:
		return f.Value / f.Target
	}
	return 0
}

// Line is the figure for people and scripts: S1 ratio 6.4 target 6.0 ok, 31 us of CPU a claim.
func (f Figure) Line() string {
	line := fmt.Sprintf("%s %s %s target %s %s", f.ID, f.Quantity, number(f.Value), number(f.Target), f.Verdict)
	if f.Effort > 0 {
		line += fmt.Sprintf(", %s us of CPU a claim", number(f.Effort))
	}
	return line
}

// number has as many digits as matter: 0.58, 6.4, 512, 63012.
func number(v float64) string {
	switch {
	case v < 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Median of at least one value; of an even number, the lower one of the middle.
func Median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[(len(sorted)-1)/2]
}

// Quantile of durations, in milliseconds: the smallest that so large a part does not exceed; 0 of none.
func Quantile(of []time.Duration, q float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	i := int(q*float64(len(sorted))+0.9999999) - 1
	return float64(sorted[min(max(i, 0), len(sorted)-1)].Microseconds()) / 1000
}
