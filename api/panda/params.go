package panda

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// kind is what an argument must be; values take these forms when they are read.
type kind int

const (
	anything kind = iota // as it came
	integer              // int64
	number               // float64
	text                 // string
	boolean              // bool
	list                 // []any
	object               // map[string]any
	integers             // []int64

	needed kind = 1 << 8 // the call makes no sense without it
)

// kindNames are the words for kinds in answers: those of the language that callers are written in.
var kindNames = map[kind]string{integer: "int", number: "float", text: "str", boolean: "bool", list: "list", object: "dict", integers: "list"}

// params are the arguments of a call.
type params map[string]kind

// anyName stands in params for every name that is not in them.
const anyName = "*"

// read brings arguments to their kinds. The error names the first, by name, that is not known, missing or of another
// kind, in the words of PanDA's server: a pilot that hears that it does not know one asks again without it.
func (p params) read(a args) (args, error) {
	out := args{}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		k, known := p[name]
		if !known {
			k, known = p[anyName]
		}
		if !known {
			return nil, fmt.Errorf("Argument error: got an unexpected keyword argument '%s'", name)
		}
		if absent(a[name]) {
			continue
		}
		v, ok := coerce(a[name], k&^needed)
		if _, many := a[name].([]any); !ok && many && k&^needed == integers {
			return nil, fmt.Errorf("Type error: All elements in '%s' must be %s.", name, kindNames[integer])
		}
		if !ok {
			return nil, fmt.Errorf("Type error: '%s' must be of type %s, got %s.", name, kindNames[k&^needed], kindOf(a[name]))
		}
		out[name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if _, given := out[name]; p[name]&needed != 0 && !given {
			return nil, fmt.Errorf("Argument error: missing a required argument: '%s'", name)
		}
	}
	return out, nil
}

// lenient brings those arguments to their kinds that can be brought there, and forgets the others.
func (p params) lenient(a args) args {
	out := args{}
	for name, k := range p {
		if v, ok := coerce(a[name], k&^needed); ok && !absent(a[name]) {
			out[name] = v
		}
	}
	return out
}

// absent is true for what stands for nothing: null, and what Python makes of it in forms and queries.
func absent(v any) bool { return v == nil || v == "None" }

// coerce makes a value of a kind. Whole numbers may come as strings and as floats.
func coerce(v any, k kind) (any, bool) {
	switch k {
	case anything:
		return v, true
	case integer:
		f, ok := toNumber(v)
		if n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64); err == nil && ok {
			return n, true
		}
		return int64(f), ok && math.Abs(f) < 1<<53
	case number:
		return ok2(toNumber(v))
	case text:
		return ok2(toText(v))
	case boolean:
		return ok2(toBool(v))
	case object:
		m, ok := v.(map[string]any)
		return m, ok
	case list:
		return toList(v)
	}
	return toIntegers(v)
}

// ok2 hands a value on as any.
func ok2[T any](v T, ok bool) (any, bool) { return v, ok }

func toNumber(v any) (float64, bool) {
	s, isText := v.(string)
	if n, ok := v.(json.Number); ok {
		s, isText = n.String(), true
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, isText && err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

func toText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func toBool(v any) (b, ok bool) {
	if b, ok := v.(bool); ok {
		return b, true
	}
	s, _ := toText(v)
	switch strings.ToLower(s) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// toList takes a single value of a query for a list of one, and a list as JSON in a string for that list.
func toList(v any) (any, bool) {
	switch v := packed(v).(type) {
	case []any:
		return v, true
	case string:
		return []any{v}, true
	}
	return nil, false
}

func toIntegers(v any) (any, bool) {
	if n, ok := v.(json.Number); ok {
		v = []any{n}
	}
	all, ok := toList(v)
	if !ok {
		return nil, false
	}
	out := []int64{}
	for _, v := range all.([]any) {
		n, ok := coerce(v, integer)
		if !ok {
			return nil, false
		}
		out = append(out, n.(int64))
	}
	return out, true
}

// kindOf says what a value is.
func kindOf(v any) string {
	switch v := v.(type) {
	case string:
		return kindNames[text]
	case bool:
		return kindNames[boolean]
	case []any:
		return kindNames[list]
	case map[string]any:
		return kindNames[object]
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return kindNames[number]
		}
		return kindNames[integer]
	}
	return "NoneType"
}

// Values of arguments that were read; zero where there is none.
func (a args) integer(name string) int64    { return valueOf[int64](a, name) }
func (a args) number(name string) float64   { return valueOf[float64](a, name) }
func (a args) text(name string) string      { return valueOf[string](a, name) }
func (a args) boolean(name string) bool     { return valueOf[bool](a, name) }
func (a args) list(name string) []any       { return valueOf[[]any](a, name) }
func (a args) integers(name string) []int64 { return valueOf[[]int64](a, name) }

func valueOf[T any](a args, name string) T {
	v, _ := a[name].(T)
	return v
}
