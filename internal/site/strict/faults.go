package strict

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Faults says what the tags of its fields have against a struct that came in another way than as a file: the path to it, what is
// wrong, and a hint. A zero stands for a key that is not there. It goes on for as long as add says so.
func (d *Decoder) Faults(x any, add func(path, wrong, hint string) bool) {
	f := faults{d: d, add: add}
	f.walk("", reflect.ValueOf(x), &rule{})
}

type faults struct {
	d    *Decoder
	add  func(path, wrong, hint string) bool
	full bool
}

func (f *faults) say(path, wrong, hint string) {
	f.full = f.full || !f.add(path, strings.TrimLeft(wrong, ": "), hint)
}

func (f *faults) walk(path string, v reflect.Value, r *rule) {
	if f.full || v.IsZero() {
		return
	}
	if path != "" {
		path += "."
	}
	switch here := strings.TrimSuffix(path, "."); v.Kind() {
	case reflect.Pointer:
		f.walk(here, v.Elem(), r)
	case reflect.Struct:
		for _, field := range fieldsOf(v.Type()) {
			f.walk(path+field.key, v.FieldByIndex(field.index), &field.rule)
		}
	case reflect.Slice:
		if r.apart || f.many(here, v, r) {
			return
		}
		for i := 0; i < v.Len() && !f.full; i++ {
			one := v.Index(i)
			if one.Kind() == reflect.String && r.word == "" {
				return
			}
			at := fmt.Sprintf("%s[%d]", here, i)
			if f.walk(at, one, r); one.Kind() == reflect.String && one.Len() == 0 {
				f.word(at, r.word, "")
			}
		}
	case reflect.Map:
		if f.many(here, v, r) {
			return
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if key.String() == "" && v.Type().Elem().Kind() == reflect.String {
				f.say(here, "has an empty key", "")
			}
			f.word(here, r.keys, key.String())
			f.scalar(path+key.String(), v.MapIndex(key), r) // it is there, a zero too
		}
	default:
		f.scalar(here, v, r)
	}
}

func (f *faults) word(path, name, text string) {
	if wrong, hint := f.d.word(name, text); wrong != "" {
		f.say(path, wrong, hint)
	}
}

func (f *faults) many(path string, v reflect.Value, r *rule) bool {
	if r.most == 0 || v.Len() <= r.most {
		return false
	}
	f.say(path, fmt.Sprintf("has more than %d entries", r.most), "")
	return true
}

func (f *faults) scalar(path string, v reflect.Value, r *rule) {
	switch v.Kind() {
	case reflect.String:
		if len(r.enum) > 0 && !slices.Contains(r.enum, v.String()) {
			f.say(path, fmt.Sprintf("%.40q is not known", v.String()), strings.Join(r.enum, ", "))
			return
		}
		f.word(path, r.word, v.String())
	case reflect.Int, reflect.Int64:
		n, low, high := v.Int(), r.low, r.high
		text := func(n int64) string { return fmt.Sprint(n) }
		if r.unit == "seconds" {
			low, high = low/int64(time.Second), high/int64(time.Second)
			text = func(n int64) string {
				return strings.TrimSuffix(strings.TrimSuffix((time.Duration(n)*time.Second).String(), "0s"), "0m")
			}
		}
		switch {
		case n < 0 && low >= 0:
			f.say(path, "is negative: "+text(n), "")
		case n < low || n > high:
			f.say(path, fmt.Sprintf("%s is not in %s … %s", text(n), text(low), text(high)), "")
		}
	case reflect.Float64:
		switch n, milli := v.Float(), v.Float()*1000; {
		case !(n >= r.lowF && n <= r.highF): // NaN too
			f.say(path, fmt.Sprintf("%v is not in %v … %v", n, r.lowF, r.highF), r.hint)
		case r.unit == "milli" && math.Abs(milli-math.Round(milli)) > 1e-6:
			f.say(path, fmt.Sprintf("%v has more than three decimals", n), "")
		}
	}
}
