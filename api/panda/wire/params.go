package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is what an argument must be; values take these forms when they are read.
type Kind int

const (
	Anything Kind = iota // as it arrived
	Integer              // int64
	Number               // float64
	Text                 // string
	Boolean              // bool
	List                 // []any
	Object               // map[string]any
	Integers             // []int64

	Needed Kind = 1 << 8 // the call makes no sense without it
)

// KindNames are the words for kinds in answers, in the language of the callers: Python.
var KindNames = map[Kind]string{Integer: "int", Number: "float", Text: "str", Boolean: "bool", List: "list", Object: "dict", Integers: "list"}

// Params are the arguments of a call.
type Params map[string]Kind

// AnyName in params stands for every name that params does not list.
const AnyName = "*"

// Read brings arguments to their kinds. The error names the first, by name, that is not known, missing or of another
// kind, in the words of PanDA's server: a pilot that hears that it does not know one asks again without it.
func (p Params) Read(a Args) (Args, error) {
	out := Args{}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		k, known := p[name]
		if !known {
			k, known = p[AnyName]
		}
		if !known {
			return nil, fmt.Errorf("Argument error: got an unexpected keyword argument '%s'", name)
		}
		if Absent(a[name]) {
			continue
		}
		v, ok := Coerce(a[name], k&^Needed)
		if _, many := a[name].([]any); !ok && many && k&^Needed == Integers {
			return nil, fmt.Errorf("Type error: All elements in '%s' must be %s.", name, KindNames[Integer])
		}
		if !ok {
			return nil, fmt.Errorf("Type error: '%s' must be of type %s, got %s.", name, KindNames[k&^Needed], KindOf(a[name]))
		}
		out[name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if _, given := out[name]; p[name]&Needed != 0 && !given {
			return nil, fmt.Errorf("Argument error: missing a required argument: '%s'", name)
		}
	}
	return out, nil
}

// Lenient converts the arguments that can be converted to their kinds, and drops the others.
func (p Params) Lenient(a Args) Args {
	out := Args{}
	for name, k := range p {
		if v, ok := Coerce(a[name], k&^Needed); ok && !Absent(a[name]) {
			out[name] = v
		}
	}
	return out
}

// Absent reports whether a value means nothing: null, and Python's form of it in forms and queries.
func Absent(v any) bool { return v == nil || v == "None" }

// Coerce makes a value of a kind. Whole numbers may come as strings and as floats.
func Coerce(v any, k Kind) (any, bool) {
	switch k {
	case Anything:
		return v, true
	case Integer:
		f, ok := ToNumber(v)
		if n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64); err == nil && ok {
			return n, true
		}
		return int64(f), ok && math.Abs(f) < 1<<53
	case Number:
		return ok2(ToNumber(v))
	case Text:
		return ok2(ToText(v))
	case Boolean:
		return ok2(ToBool(v))
	case Object:
		m, ok := v.(map[string]any)
		return m, ok
	case List:
		return toList(v)
	}
	return toIntegers(v)
}

// ok2 hands a value on as any.
func ok2[T any](v T, ok bool) (any, bool) { return v, ok }

// ToNumber reads a finite number, also from a text.
func ToNumber(v any) (float64, bool) {
	s, isText := v.(string)
	if n, ok := v.(json.Number); ok {
		s, isText = n.String(), true
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, isText && err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// ToText reads a text; numbers and truths have theirs.
func ToText(v any) (string, bool) {
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

// ToBool reads true and false, and their forms in texts and numbers.
func ToBool(v any) (b, ok bool) {
	if b, ok := v.(bool); ok {
		return b, true
	}
	s, _ := ToText(v)
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
	switch v := Packed(v).(type) {
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
		n, ok := Coerce(v, Integer)
		if !ok {
			return nil, false
		}
		out = append(out, n.(int64))
	}
	return out, true
}

// KindOf names the kind of a value.
func KindOf(v any) string {
	switch v := v.(type) {
	case string:
		return KindNames[Text]
	case bool:
		return KindNames[Boolean]
	case []any:
		return KindNames[List]
	case map[string]any:
		return KindNames[Object]
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return KindNames[Number]
		}
		return KindNames[Integer]
	}
	return "NoneType"
}

// Integer is the value of an argument that was read; zero where there is none, as of the kinds below.
func (a Args) Integer(name string) int64 { return valueOf[int64](a, name) }

// Number is that of a Number.
func (a Args) Number(name string) float64 { return valueOf[float64](a, name) }

// Text is that of a Text.
func (a Args) Text(name string) string { return valueOf[string](a, name) }

// Boolean is that of a Boolean.
func (a Args) Boolean(name string) bool { return valueOf[bool](a, name) }

// List is that of a List.
func (a Args) List(name string) []any { return valueOf[[]any](a, name) }

// Integers is that of Integers.
func (a Args) Integers(name string) []int64 { return valueOf[[]int64](a, name) }

func valueOf[T any](a Args, name string) T {
	v, _ := a[name].(T)
	return v
}
