package taskspec

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
)

// Reading is task parameters as they are read: each once; those that are never read are ignored.
type Reading struct {
	Left    map[string]any
	ignored []Ignored
	faults  []string // "name: what is wrong"
}

// rest lists what nobody has read.
func (r *Reading) rest() {
	for _, name := range slices.Sorted(maps.Keys(r.Left)) {
		v := r.Left[name]
		if wire.Absent(v) {
			continue
		}
		r.ignore(name, "%s", cmp.Or(WhyNot[name], NotUsed))
	}
	slices.SortStableFunc(r.ignored, func(a, b Ignored) int { return strings.Compare(a.Parameter, b.Parameter) })
}

func (r *Reading) ignore(name, format string, args ...any) {
	if len(r.ignored) < maxIgnored {
		r.ignored = append(r.ignored, Ignored{wire.Cut(name, wire.MaxField), fmt.Sprintf(format, args...)})
	}
}

func (r *Reading) fault(name, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, name+": "+fmt.Sprintf(format, args...))
	}
}

// take reads a parameter; nil when it is absent.
func (r *Reading) take(name string) any {
	v := r.Left[name]
	delete(r.Left, name)
	if wire.Absent(v) {
		return nil
	}
	return v
}

func (r *Reading) taken(name string, k wire.Kind) any {
	v := r.take(name)
	if v == nil {
		return nil
	}
	out, ok := wire.Coerce(v, k)
	if f, _ := wire.ToNumber(v); k == wire.Integer && f != math.Trunc(f) {
		ok = false
	}
	if !ok {
		r.fault(name, "must be of type %s, got %s", wire.KindNames[k], wire.KindOf(v))
		return nil
	}
	return out
}

func (r *Reading) text(name string) string {
	s, _ := r.taken(name, wire.Text).(string)
	return strings.TrimSpace(s)
}

// whole reads a whole number that is at least low; 0 when it is absent.
func (r *Reading) whole(name string, low int64) int64 {
	n, said := r.taken(name, wire.Integer).(int64)
	if said && n < low {
		r.fault(name, "%d is less than %d", n, low)
		return 0
	}
	return n
}

// figure reads a number that is not negative; 0 when it is absent.
func (r *Reading) figure(name string) float64 {
	f, _ := r.taken(name, wire.Number).(float64)
	if f < 0 {
		r.fault(name, "is negative: %v", f)
		return 0
	}
	return f
}

func (r *Reading) flag(name string) bool {
	b, _ := r.taken(name, wire.Boolean).(bool)
	return b
}

// Names reads a list of words, or one text with commas.
func (r *Reading) Names(name string) []string {
	v := r.take(name)
	if s, ok := wire.ToText(v); ok {
		v = []any{s}
	}
	all, ok := v.([]any)
	if v != nil && !ok {
		r.fault(name, "must be of type list, got %s", wire.KindOf(v))
	}
	var out []string
	for i, item := range all {
		s, ok := wire.ToText(item)
		if !ok {
			r.fault(fmt.Sprintf("%s[%d]", name, i), "must be of type str, got %s", wire.KindOf(item))
		}
		for one := range strings.SplitSeq(s, ",") {
			if one = strings.TrimSpace(one); one != "" {
				out = append(out, one)
			}
		}
	}
	return out
}
