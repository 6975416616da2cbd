package strict

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// field is a field of a struct that stands in files.
type field struct {
	key   string
	index []int
	rule
}

// rule is what the tags of a field say about its values: of a list or a mapping, about each of its entries.
type rule struct {
	required, empty, whole bool
	some                   bool   // a list may not be empty
	apart                  bool   // a list that Faults does not look at
	most                   int    // entries of a list; 0 = no bound
	unit                   string // milli, seconds or duration
	word, keys             string // words of texts, and of the keys of a mapping
	once                   string // what the entries of a list are, each of which has a name of its own
	low, high              int64
	lowF, highF            float64
	enum                   []string
	zero, hint, doc        string
}

var known sync.Map // reflect.Type → []*field

// fieldsOf are the fields of a struct, those of embedded structs among them.
func fieldsOf(t reflect.Type) (fields []*field) {
	if all, ok := known.Load(t); ok {
		return all.([]*field)
	}
	for _, f := range reflect.VisibleFields(t) {
		key, given := f.Tag.Lookup("yaml")
		if !given {
			key = f.Tag.Get("json")
		}
		if key, _, _ = strings.Cut(key, ","); key != "" && key != "-" && f.IsExported() {
			fields = append(fields, &field{key: key, index: f.Index, rule: ruleOf(f.Tag)})
		}
	}
	known.Store(t, fields)
	return fields
}

// noBound is the end of a range that is not given.
const noBound = 1 << 62

func ruleOf(tag reflect.StructTag) rule {
	r := rule{high: noBound, highF: math.Inf(1), once: tag.Get("once"), zero: tag.Get("zero"), hint: tag.Get("hint"), doc: tag.Get("doc")}
	for _, option := range strings.Split(tag.Get("enum"), ",") {
		if option != "" {
			r.enum = append(r.enum, option)
		}
	}
	for word := range strings.FieldsSeq(tag.Get("is")) {
		name, value, _ := strings.Cut(word, "=")
		low, high, isRange := strings.Cut(word, "..")
		switch {
		case name == "required":
			r.required = true
		case name == "empty":
			r.empty = true
		case name == "whole":
			r.whole = true
		case name == "apart":
			r.apart = true
		case name == "some":
			r.some = true
		case name == "most":
			r.most, _ = strconv.Atoi(value)
		case name == "word":
			r.word = value
		case name == "keys":
			r.keys = value
		case name == "milli" || name == "seconds" || name == "duration":
			r.unit = name
		case isRange:
			bound(low, &r.low, &r.lowF)
			bound(high, &r.high, &r.highF)
		default:
			panic("strict: no rule " + word)
		}
	}
	return r
}

// bound reads one end of a range: a number or a time.
func bound(text string, n *int64, f *float64) {
	if text == "" {
		return
	}
	if d, err := ParseDuration(text); err == nil {
		*n = int64(d)
		return
	}
	var err error
	if *f, err = strconv.ParseFloat(text, 64); err != nil {
		panic("strict: no bound " + text)
	}
	*n = int64(*f)
}
