package strict

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Decoder reads values into Go values, by their types and the tags of struct fields. The zero Decoder knows the types of Go alone.
type Decoder struct {
	types map[reflect.Type]func(*Decoder, Value, reflect.Value)
	words map[string]Word
}

// Word says what is wrong with a text, in words that follow the name of its key, and what to write instead; "" = nothing.
type Word func(text string) (wrong, hint string)

// NewDecoder knows the words that tags name by is:"word", beside the types of Go.
func NewDecoder(words map[string]Word) *Decoder {
	return &Decoder{types: map[reflect.Type]func(*Decoder, Value, reflect.Value){}, words: words}
}

// Reads makes a decoder read values of type T by a function.
func Reads[T any](d *Decoder, read func(d *Decoder, v Value, to *T)) {
	d.types[reflect.TypeFor[T]()] = func(d *Decoder, v Value, to reflect.Value) { read(d, v, to.Addr().Interface().(*T)) }
}

// Decode reads a value into what to points to. What cannot be read stays as it was, and is in the report.
func (d *Decoder) Decode(v Value, to any) {
	d.value(v, reflect.ValueOf(to).Elem(), &rule{})
}

// Fields is Decode of a mapping, for functions that read other ways of writing the same struct themselves.
func (d *Decoder) Fields(v Value, to any) { d.mapping(v, reflect.ValueOf(to).Elem()) }

// starter are structs that do not begin as zeros, or keep where they stand.
type starter interface{ Start(Value) }

func (d *Decoder) value(v Value, to reflect.Value, r *rule) {
	if read, ok := d.types[to.Type()]; ok {
		read(d, v, to)
		return
	}
	text, isText := to.Addr().Interface().(encoding.TextUnmarshaler)
	switch kind := to.Kind(); {
	case kind == reflect.Pointer:
		fresh := reflect.New(to.Type().Elem())
		d.value(v, fresh.Elem(), r)
		to.Set(fresh)
	case to.Type() == reflect.TypeFor[Value]():
		to.Set(reflect.ValueOf(v))
	case r.unit != "" || to.Type() == reflect.TypeFor[time.Duration]():
		r.measure(v, to)
	case isText:
		if s, ok := v.Text(); ok {
			if err := text.UnmarshalText([]byte(s)); err != nil {
				v.Fail(v.name+": "+err.Error(), r.hint)
			}
		}
	case kind == reflect.Struct:
		d.mapping(v, to)
	case kind == reflect.Slice:
		d.list(v, to, r)
	case kind == reflect.Map:
		d.entries(v, to, r)
	default:
		d.scalar(v, to, r)
	}
}

// mapping reads the keys of a struct.
func (d *Decoder) mapping(v Value, to reflect.Value) {
	if start, ok := to.Addr().Interface().(starter); ok {
		start.Start(v)
	}
	fields := fieldsOf(to.Type())
	v.pairs(func(key, val Value) {
		name := key.node.Value
		i := slices.IndexFunc(fields, func(f *field) bool { return f.key == name })
		if i < 0 {
			key.Fail(fmt.Sprintf("unknown key %q", clip(name)), DidYouMean(name, keysOf(fields)))
			return
		}
		d.value(val, to.FieldByIndex(fields[i].index), &fields[i].rule)
	})
	for _, f := range fields {
		if f.required && v.IsMapping() && !v.Has(f.key) {
			v.Failf("%s is missing", f.key)
		}
	}
}

func keysOf(fields []*field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	slices.Sort(keys)
	return keys
}

func (d *Decoder) list(v Value, to reflect.Value, r *rule) {
	list, ok := v.List()
	switch {
	case !ok:
		return
	case len(list) == 0 && r.some:
		v.Fail(v.name+" is empty", r.hint)
	case r.most > 0 && len(list) > r.most:
		v.Failf("%s: %d entries, more than %d", v.name, len(list), r.most)
		return
	}
	all := reflect.MakeSlice(to.Type(), 0, len(list))
	first := map[string]int{}
	for _, e := range list {
		one := reflect.New(to.Type().Elem()).Elem()
		d.value(e, one, r)
		all = reflect.Append(all, one)
		if r.once == "" {
			continue
		}
		at, name := e.At("name"), one
		if one.Kind() == reflect.Struct {
			name = one.FieldByName("Name")
		}
		switch line, dup := first[name.String()]; {
		case name.String() == "":
		case dup && one.Kind() == reflect.String:
			e.Failf("%s: %q is given twice", v.name, name)
		case dup:
			at.Fail(fmt.Sprintf("%s %q is given twice", r.once, name), fmt.Sprintf("first in line %d", line))
		default:
			first[name.String()] = at.Line()
		}
	}
	to.Set(all)
}

func (d *Decoder) entries(v Value, to reflect.Value, r *rule) {
	all := reflect.MakeMap(to.Type())
	if r.most > 0 && v.IsMapping() && len(v.node.Content) > 2*r.most {
		v.Failf("%s has more than %d entries", v.name, r.most)
		return
	}
	v.Entries(func(name string, key, val Value) {
		one := reflect.New(to.Type().Elem()).Elem()
		switch wrong, hint := d.word(r.keys, name); {
		case name == "" && one.Kind() == reflect.String:
			key.Failf("%s: a key is empty", v.name)
		case wrong != "":
			key.Fail(key.name+wrong, hint)
			return
		}
		d.value(val, one, r)
		all.SetMapIndex(reflect.ValueOf(name), one)
	})
	to.Set(all)
}

func (d *Decoder) word(name, text string) (wrong, hint string) {
	if check := d.words[name]; check != nil {
		return check(text)
	}
	if name != "" {
		panic("strict: no word " + name)
	}
	return "", ""
}

// scalar reads a text, a number or true and false.
func (d *Decoder) scalar(v Value, to reflect.Value, r *rule) {
	var ok bool
	switch to.Kind() {
	case reflect.Bool:
		var b bool
		if b, ok = v.Bool(); ok {
			to.SetBool(b)
		}
	case reflect.Int, reflect.Int64:
		var n int64
		if n, ok = v.Int(r.low, r.high); ok {
			to.SetInt(n)
		}
	case reflect.Float64:
		var f float64
		if f, ok = v.Number(); ok && (f < r.lowF || f > r.highF) {
			v.Fail(fmt.Sprintf("%s: %g is not in %g … %g", v.name, f, r.lowF, r.highF), r.hint)
		} else if ok {
			to.SetFloat(f)
		}
	case reflect.String:
		d.text(v, to, r)
	default:
		panic("strict: cannot read " + to.Type().String())
	}
}

func (d *Decoder) text(v Value, to reflect.Value, r *rule) {
	var s string
	var ok bool
	switch {
	case len(r.enum) > 0:
		s, ok = v.OneOf(r.enum...)
	case r.empty:
		s, ok = v.Text()
	default:
		s, ok = v.NonEmpty()
	}
	if !ok {
		return
	}
	if wrong, hint := d.word(r.word, s); wrong != "" {
		v.Fail(v.name+wrong, hint)
		return
	}
	to.SetString(s)
}

// measure reads what has a unit: a time, or a figure in thousandths.
func (r *rule) measure(v Value, to reflect.Value) {
	if r.unit == "milli" {
		n, ok := v.Milli()
		switch {
		case ok && n == 0 && r.zero != "":
			v.Fail(v.name+" is zero", r.zero)
		case ok && n/1000 >= r.high && n != r.high*1000:
			v.Failf("%s is more than %d", v.name, r.high)
		case ok && to.Kind() == reflect.Float64:
			to.SetFloat(float64(n) / 1000)
		case ok:
			to.SetInt(n)
		}
		return
	}
	d, ok := v.Duration(time.Duration(r.low))
	switch {
	case !ok:
	case r.high != noBound && d > time.Duration(r.high):
		v.Failf("%s: %s is more than %s", v.name, d, time.Duration(r.high))
	case r.unit == "seconds":
		if to.SetInt(int64(d / time.Second)); r.whole && d%time.Second != 0 {
			v.Failf("%s: %s is not a whole number of seconds", v.name, d)
		}
	default:
		to.SetInt(int64(d))
	}
}
