package panda

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// reading is task parameters as they are read: each once; those that are never read are ignored.
type reading struct {
	left    map[string]any
	ignored []Ignored
	faults  []string // "name: what is wrong"
}

// rest lists what nobody has read.
func (r *reading) rest() {
	for _, name := range slices.Sorted(maps.Keys(r.left)) {
		v := r.left[name]
		if absent(v) {
			continue
		}
		r.ignore(name, "%s", cmp.Or(whyNot[name], notUsed))
	}
	slices.SortStableFunc(r.ignored, func(a, b Ignored) int { return strings.Compare(a.Parameter, b.Parameter) })
}

func (r *reading) ignore(name, format string, args ...any) {
	if len(r.ignored) < maxIgnored {
		r.ignored = append(r.ignored, Ignored{cut(name, maxField), fmt.Sprintf(format, args...)})
	}
}

func (r *reading) fault(name, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, name+": "+fmt.Sprintf(format, args...))
	}
}

// take reads a parameter; nil when it is absent.
func (r *reading) take(name string) any {
	v := r.left[name]
	delete(r.left, name)
	if absent(v) {
		return nil
	}
	return v
}

func (r *reading) taken(name string, k kind) any {
	v := r.take(name)
	if v == nil {
		return nil
	}
	out, ok := coerce(v, k)
	if f, _ := toNumber(v); k == integer && f != math.Trunc(f) {
		ok = false
	}
	if !ok {
		r.fault(name, "must be of type %s, got %s", kindNames[k], kindOf(v))
		return nil
	}
	return out
}

func (r *reading) text(name string) string {
	s, _ := r.taken(name, text).(string)
	return strings.TrimSpace(s)
}

// whole reads a whole number that is at least low; 0 when it is absent.
func (r *reading) whole(name string, low int64) int64 {
	n, said := r.taken(name, integer).(int64)
	if said && n < low {
		r.fault(name, "%d is less than %d", n, low)
		return 0
	}
	return n
}

// figure reads a number that is not negative; 0 when it is absent.
func (r *reading) figure(name string) float64 {
	f, _ := r.taken(name, number).(float64)
	if f < 0 {
		r.fault(name, "is negative: %v", f)
		return 0
	}
	return f
}

func (r *reading) flag(name string) bool {
	b, _ := r.taken(name, boolean).(bool)
	return b
}

// names reads a list of words, or one text with commas.
func (r *reading) names(name string) []string {
	v := r.take(name)
	if s, ok := toText(v); ok {
		v = []any{s}
	}
	all, ok := v.([]any)
	if v != nil && !ok {
		r.fault(name, "must be of type list, got %s", kindOf(v))
	}
	var out []string
	for i, item := range all {
		s, ok := toText(item)
		if !ok {
			r.fault(fmt.Sprintf("%s[%d]", name, i), "must be of type str, got %s", kindOf(item))
		}
		for one := range strings.SplitSeq(s, ",") {
			if one = strings.TrimSpace(one); one != "" {
				out = append(out, one)
			}
		}
	}
	return out
}
