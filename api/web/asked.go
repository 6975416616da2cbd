package web

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// asked holds the parameters of a view's link, with all their faults.
type asked struct {
	path  string // without parameters
	query url.Values
	wrong WrongQuery

	choices map[string][]string // of a parameter
}

func askedOf(r *Request) asked {
	path, _, _ := strings.Cut(r.Path, "?")
	return asked{path: path, query: r.Query, wrong: slices.Clone(r.wrong), choices: map[string][]string{}}
}

// err says all that is wrong; nil where nothing is.
func (a *asked) err() error { return a.wrong.err() }

// Get is a parameter; empty: it is not given.
func (a asked) Get(name string) string { return a.query.Get(name) }

// Is says whether a parameter has a value.
func (a asked) Is(name, value string) bool { return a.Get(name) == value }

// Any says whether one of the parameters is given.
func (a asked) Any(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return a.Get(n) != "" })
}

// oneOf refuses other values than these, and offers them.
func (a *asked) oneOf(name string, values ...string) {
	a.choices[name] = values
	if v := a.Get(name); v != "" && !slices.Contains(values, v) {
		a.refuse(name, "one of "+strings.Join(values, ", "))
	}
}

// mostID is more than any id will be: the number of a row or a version has no other bound.
const mostID = 1 << 62

// number reads a whole number; absent when it is not given.
func (a *asked) number(name string, low, high, absent int64) int64 {
	v := a.Get(name)
	if v == "" {
		return absent
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < low || n > high {
		want := fmt.Sprintf("a whole number from %d to %d", low, high)
		if high == mostID {
			want = fmt.Sprintf("a whole number, %d or more", low)
		}
		a.refuse(name, want)
		return absent
	}
	return n
}

func (a *asked) refuse(name, want string) {
	a.wrong = append(a.wrong, WrongParam{Name: name, Value: a.Get(name), Message: "expected " + want})
}

// With is the link to the same view with other parameters: names and values, an empty one takes it out. A cursor is only
// good for what it was made of, so that it goes with any change.
func (a asked) With(pairs ...any) string {
	q := url.Values{}
	for name, values := range a.query {
		if name != "after" && name != "page" {
			q[name] = values
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := fmt.Sprint(pairs[i+1]); v != "" {
			q.Set(fmt.Sprint(pairs[i]), v)
		} else {
			q.Del(fmt.Sprint(pairs[i]))
		}
	}
	if len(q) == 0 {
		return a.path
	}
	return a.path + "?" + q.Encode()
}

// option is one choice of a field.
type option struct {
	Value, Name string
	Chosen      bool
}

// Options are the choices of a parameter, for a form.
func (a asked) Options(name string) []option {
	all := make([]option, len(a.choices[name]))
	for i, v := range a.choices[name] {
		all[i] = option{v, strings.ReplaceAll(v, "_", " "), v == a.Get(name)}
	}
	return all
}

// short is a text's hash, where only whether it differs counts.
func short(text string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return strconv.FormatUint(h.Sum64(), 36)
}

// seconds prints a time in seconds as long as three figures do.
func seconds(s float64) string {
	switch {
	case s < 0.001:
		return "0 ms"
	case s < 1:
		return strconv.FormatFloat(s*1000, 'f', 0, 64) + " ms"
	case s < 10:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	}
	return span(time.Duration(s * float64(time.Second)))
}
