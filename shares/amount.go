package shares

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MaxAmount bounds figures of a plan and demands, so that sums over any tree stay exact in an int64.
const MaxAmount Units = 1 << 42

func unitsOf(f float64) (Units, error) {
	if math.IsNaN(f) || math.Abs(f*1000) > float64(MaxAmount) {
		return 0, fmt.Errorf("%v units are out of range", f)
	}
	milli := math.Round(f * 1000)
	if math.Abs(f*1000-milli) > 1e-6*max(1, math.Abs(milli)*1e-6) {
		return 0, fmt.Errorf("%v has more than three decimals", f)
	}
	return Units(milli), nil
}

// String writes u in units, without trailing zeros.
func (u Units) String() string {
	if u >= Unlimited {
		return "all"
	}
	return strconv.FormatFloat(u.Float(), 'f', -1, 64)
}

// Amount is a figure in units that may differ from pool to pool: a number, or a map from pool to number.
// The zero Amount is "not given".
type Amount struct {
	Any    *Units           // for every pool that ByPool does not name
	ByPool map[string]Units // pool → figure
}

// Of is the amount u in every pool.
func Of(u Units) Amount { return Amount{Any: &u} }

// In returns the figure for a pool, and whether there is one.
func (a Amount) In(pool string) (Units, bool) {
	if u, ok := a.ByPool[pool]; ok {
		return u, true
	}
	if a.Any != nil {
		return *a.Any, true
	}
	return 0, false
}

// IsSet says whether the amount was given.
func (a Amount) IsSet() bool { return a.Any != nil || len(a.ByPool) > 0 }

// IsZero says whether it was not given: what encoding/json's omitzero asks.
func (a Amount) IsZero() bool { return !a.IsSet() }

// String is "40", "cpu: 40, gpu: 8", or "" when not given.
func (a Amount) String() string { return figures(a.Any, a.ByPool, Units.String) }

// MarshalJSON writes a number or, by pool, an object; null when not given.
func (a Amount) MarshalJSON() ([]byte, error) { return marshalFigures(a.Any, a.ByPool, false) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Amount) UnmarshalJSON(b []byte) error { return a.decode(jsonDecoder(b)) }

// MarshalYAML is the YAML form of MarshalJSON.
func (a Amount) MarshalYAML() (any, error) { return plainFigures(a.Any, a.ByPool, false), nil }

// UnmarshalYAML reads what MarshalYAML writes.
func (a *Amount) UnmarshalYAML(d func(any) error) error { return a.decode(d) }

func (a *Amount) decode(d func(any) error) (err error) {
	a.Any, a.ByPool, err = decodeFigures(d, func(v any) (Units, error) {
		f, ok := number(v)
		if !ok {
			return 0, fmt.Errorf("%v is not a number of units", v)
		}
		return unitsOf(f)
	})
	return err
}

func (a Amount) check(field string, report func(field, format string, args ...any)) {
	checkFigures(field, a.Any, a.ByPool, MaxAmount, report)
}

// Limit bounds lending or borrowing: a number of units, "all" or "none", or a map from pool to one of these.
// Not given means all.
type Limit struct {
	Any    *Units
	ByPool map[string]Units
}

// In returns the limit for a pool; Unlimited stands for all, 0 for none.
func (l Limit) In(pool string) Units {
	if u, ok := Amount(l).In(pool); ok {
		return u
	}
	return Unlimited
}

// IsSet says whether the limit was given.
func (l Limit) IsSet() bool { return Amount(l).IsSet() }

// IsZero says whether it was not given: what encoding/json's omitzero asks.
func (l Limit) IsZero() bool { return !l.IsSet() }

// String is "30", "all", "none", "cpu: none, gpu: 8", or "" when not given.
func (l Limit) String() string { return figures(l.Any, l.ByPool, limitWord) }

// MarshalJSON writes a number, "all" or "none" or, by pool, an object of these; null when not given.
func (l Limit) MarshalJSON() ([]byte, error) { return marshalFigures(l.Any, l.ByPool, true) }

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Limit) UnmarshalJSON(b []byte) error { return l.decode(jsonDecoder(b)) }

// MarshalYAML is the YAML form of MarshalJSON.
func (l Limit) MarshalYAML() (any, error) { return plainFigures(l.Any, l.ByPool, true), nil }

// UnmarshalYAML reads what MarshalYAML writes.
func (l *Limit) UnmarshalYAML(d func(any) error) error { return l.decode(d) }

func (l *Limit) decode(d func(any) error) (err error) {
	l.Any, l.ByPool, err = decodeFigures(d, func(v any) (Units, error) {
		switch v {
		case "all":
			return Unlimited, nil
		case "none":
			return 0, nil
		}
		f, ok := number(v)
		if !ok {
			return 0, fmt.Errorf("%v is not a limit: a number of units, all or none", v)
		}
		return unitsOf(f)
	})
	return err
}

func (l Limit) check(field string, report func(field, format string, args ...any)) {
	checkFigures(field, l.Any, l.ByPool, Unlimited, report)
}

func limitWord(u Units) string {
	if u == 0 {
		return "none"
	}
	return u.String()
}

func figures(one *Units, by map[string]Units, word func(Units) string) string {
	var parts []string
	if one != nil {
		parts = append(parts, word(*one))
	}
	for _, pool := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, pool+": "+word(by[pool]))
	}
	return strings.Join(parts, ", ")
}

// anyPool is the key of Any when an amount has both forms; "*" is no name of a pool.
const anyPool = "*"

func plainFigures(one *Units, by map[string]Units, words bool) any {
	plain := func(u Units) any {
		switch {
		case words && u == 0:
			return "none"
		case words && u >= Unlimited:
			return "all"
		}
		return u.Float()
	}
	if len(by) == 0 {
		if one == nil {
			return nil
		}
		return plain(*one)
	}
	out := make(map[string]any, len(by)+1)
	for pool, u := range by {
		out[pool] = plain(u)
	}
	if one != nil {
		out[anyPool] = plain(*one)
	}
	return out
}

func marshalFigures(one *Units, by map[string]Units, words bool) ([]byte, error) {
	return json.Marshal(plainFigures(one, by, words))
}

func jsonDecoder(b []byte) func(any) error {
	return func(v any) error { return json.Unmarshal(b, v) }
}

func decodeFigures(d func(any) error, parse func(any) (Units, error)) (one *Units, by map[string]Units, err error) {
	var v any
	if err := d(&v); err != nil {
		return nil, nil, err
	}
	pools, ok := v.(map[string]any)
	if !ok {
		if v == nil {
			return nil, nil, nil
		}
		u, err := parse(v)
		return &u, nil, err
	}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		u, err := parse(pools[pool])
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("pool %s: %w", pool, err)
		case pool == anyPool:
			one = &u
		default:
			if by == nil {
				by = make(map[string]Units, len(pools))
			}
			by[pool] = u
		}
	}
	return one, by, nil
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	}
	return 0, false
}

func checkFigures(field string, one *Units, by map[string]Units, most Units, report func(field, format string, args ...any)) {
	one1 := func(u Units, pool string) {
		if u < 0 {
			report(field, "%v%s is negative", u, inPool(pool))
		} else if u > most {
			report(field, "%v%s is out of range", u, inPool(pool))
		}
	}
	if one != nil {
		one1(*one, "")
	}
	for _, pool := range slices.Sorted(maps.Keys(by)) {
		one1(by[pool], pool)
	}
}

// poolsOf lists the pools that any of the amounts names, and "" for the rest.
func poolsOf(as ...Amount) []string {
	seen := map[string]bool{"": true}
	for _, a := range as {
		for pool := range a.ByPool {
			seen[pool] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func inPool(pool string) string {
	if pool == "" {
		return ""
	}
	return " in pool " + pool
}

func windowField(i int) string { return "plans[" + strconv.Itoa(i) + "]." }

func problemf(path, field, format string, args ...any) Problem {
	return Problem{Path: path, Field: field, Message: fmt.Sprintf(format, args...)}
}
