package strict

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// read runs one reading method on the value of key x of a one-line document.
func read[T any](t *testing.T, yaml string, f func(Value) (T, bool)) (T, bool, string) {
	t.Helper()
	docs, report := Parse("f", []byte("x: "+yaml+"\n"), Limits{})
	if len(docs) != 1 {
		t.Fatalf("%q: %d documents, %v", yaml, len(docs), report.Err())
	}
	var got T
	var ok bool
	docs[0].Entries(func(_ string, _, v Value) { got, ok = f(v) })
	err := report.Err()
	if (err == nil) != ok {
		t.Errorf("%q: ok = %v with error %v", yaml, ok, err)
	}
	return got, ok, fmt.Sprint(err)
}

func TestMilli(t *testing.T) {
	for yaml, want := range map[string]int64{"10.2": 10200, "1": 1000, "0.001": 1, "+2.50000": 2500, "0": 0} {
		if got, _, err := read(t, yaml, Value.Milli); got != want {
			t.Errorf("%s = %d, want %d (%s)", yaml, got, want, err)
		}
	}
	for yaml, want := range map[string]string{
		"1.0005":           "more than three decimals",
		"1e3":              "not a plain decimal",
		"1e999":            "expected a number",
		"1e999999999":      "expected a number",
		"-1":               "negative",
		".nan":             "not finite",
		"-.inf":            "not finite",
		`"10"`:             "leave the quotes out",
		"ten":              `got "ten"`,
		"[1]":              "got a list",
		"{a: 1}":           "got a mapping",
		"":                 "got nothing",
		"!!int 5":          "tag !!int is not supported",
		"0x10":             "not a decimal number",
		"1_000":            "not a decimal number",
		"9999999999999999": "not a plain decimal",
	} {
		if _, _, err := read(t, yaml, Value.Milli); !strings.Contains(err, want) {
			t.Errorf("%s: %s, want %q", yaml, err, want)
		}
	}
}

func TestInt(t *testing.T) {
	f := func(v Value) (int64, bool) { return v.Int(0, 100) }
	if got, _, err := read(t, "42", f); got != 42 {
		t.Errorf("42 = %d (%s)", got, err)
	}
	for yaml, want := range map[string]string{"-1": "negative", "101": "more than 100", "010": "decimal digits", "1.5": "not a whole", "99999999999999999999": "not a whole"} {
		if _, _, err := read(t, yaml, f); !strings.Contains(err, want) {
			t.Errorf("%s: %s, want %q", yaml, err, want)
		}
	}
}

func TestDuration(t *testing.T) {
	f := func(v Value) (time.Duration, bool) { return v.Duration(time.Second) }
	for yaml, want := range map[string]time.Duration{"48h": 48 * time.Hour, "2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "90s": 90 * time.Second, "1h30m": 90 * time.Minute} {
		if got, _, err := read(t, yaml, f); got != want {
			t.Errorf("%s = %v (%s)", yaml, got, err)
		}
	}
	for yaml, want := range map[string]string{"48": "not a duration", "0": "not a duration", "0s": "less than 1s", "-1h": "negative", "1d-2h": "not a duration", "soon": "not a duration", "999999d": "not a duration"} {
		if _, _, err := read(t, yaml, f); !strings.Contains(err, want) {
			t.Errorf("%s: %s, want %q", yaml, err, want)
		}
	}
}

func TestTextIsTakenAsWritten(t *testing.T) {
	for _, s := range []string{"el9", "7.10", "true", "2024-01-01", "0x1"} {
		if got, _, err := read(t, s, Value.Text); got != s {
			t.Errorf("%s = %q (%s)", s, got, err)
		}
	}
	if _, ok, _ := read(t, "~", Value.Text); ok {
		t.Error("null is a text")
	}
}

func TestEveryProblemOfAMapping(t *testing.T) {
	src := "name: a\nwieght: 5\nname: b\n<<: {a: 1}\nlist: {}\n"
	docs, report := Parse("f.yml", []byte(src), Limits{})
	var said struct {
		Name   string   `yaml:"name"`
		Weight int      `yaml:"weight"`
		Needed string   `yaml:"needed" is:"required"`
		List   []string `yaml:"list"`
	}
	NewDecoder(nil).Decode(docs[0], &said)
	want := strings.Join([]string{
		`f.yml:1:1: needed is missing`,
		`f.yml:2:1: unknown key "wieght" (did you mean "weight"?)`,
		`f.yml:3:1: key "name" is given twice (first in line 1)`,
		`f.yml:4:1: merge keys are not supported (write the keys out; a whole value may be an alias)`,
		`f.yml:5:7: list: expected a list, got a mapping`,
	}, "\n")
	if got := fmt.Sprint(report.Err()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var ps Problems
	if !errors.As(report.Err(), &ps) || len(ps) != 5 || ps[1].Line != 2 {
		t.Errorf("not Problems: %#v", report.Err())
	}
}

// walk reads everything that there is.
func walk(v Value) {
	walkTo(v, func(v Value) {
		v.Text()
		v.Int(0, 10)
		v.Milli()
		v.Duration(0)
		v.Bool()
	})
}

func walkTo(v Value, read func(Value)) {
	switch {
	case v.IsMapping():
		v.Entries(func(_ string, _, val Value) { walkTo(val, read) })
	case v.IsList():
		list, _ := v.List()
		for _, e := range list {
			walkTo(e, read)
		}
	default:
		read(v)
	}
}

func TestLimits(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ","))
	}
	for name, c := range map[string]struct{ src, want string }{
		"self":    {"a: &a [*a]", "f:1:8: cycle: &a contains itself"},
		"deep":    {strings.Repeat("[", 300) + strings.Repeat("]", 300), "nested more than 100 deep"},
		"big":     {strings.Repeat("#", 1<<20+1), "more than 1048576"},
		"bytes":   {"a: \xff", "f:1:4: not UTF-8"},
		"control": {"a: 1\nb: \x01", "f:2:4: control character U+0001"},
		"syntax":  {"a: 1\nb: [1,\n", "not valid YAML"},
		"indent":  {"ok: 1\na:\n  - b\n c: 1\n", "f:4:1: not valid YAML: did not find expected"},
	} {
		docs, report := Parse("f", []byte(c.src), Limits{})
		for _, d := range docs {
			walk(d)
		}
		if err := fmt.Sprint(report.Err()); !strings.Contains(err, c.want) {
			t.Errorf("%s: %s, want %q", name, err, c.want)
		}
	}
	docs, report := Parse("f", []byte(laughs), Limits{})
	walkTo(docs[0], func(v Value) { v.Text() })
	if err := fmt.Sprint(report.Err()); !strings.Contains(err, "more than 200000 values from here on") {
		t.Errorf("billion laughs: %s", err)
	}
}

// After a hundred problems nothing more is read, so that what is refused costs little.
func TestStopsAtAHundredProblems(t *testing.T) {
	for name, src := range map[string]string{
		"list":    "[" + strings.Repeat("x,", 100_000) + "]",
		"mapping": strings.Repeat("? [x]\n: y\n", 50_000),
		"deep":    "a: &a [" + strings.Repeat("x,", 1000) + "]\nb: [" + strings.Repeat("*a,", 100) + "]\n",
	} {
		docs, report := Parse("f", []byte(src), Limits{})
		walkTo(docs[0], func(v Value) { v.Bool() })
		var ps Problems
		if errors.As(report.Err(), &ps); len(ps) != maxProblems+1 || !strings.Contains(ps.Error(), "the rest was not looked at") {
			t.Errorf("%s: %d problems", name, len(ps))
		}
		if read := report.limits.Values - report.left; read > 100_000+maxProblems+10 || len(report.places) > maxProblems {
			t.Errorf("%s: %d values were read, %d places kept", name, read, len(report.places))
		}
	}
}

func TestClosest(t *testing.T) {
	options := []string{"weight", "walltime", "name", "min", "max"}
	for word, want := range map[string]string{"wieght": "weight", "Name": "name", "mni": "min", "xyz": "", "x": "", "Min": "min", "wall_time": "walltime"} {
		if got := Closest(word, options); got != want {
			t.Errorf("%s → %q, want %q", word, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a: &a {b: 1, c: [1.5, 2d]}\nd: *a\n---\n- x\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		docs, report := Parse("f", src, Limits{Bytes: 1 << 16, Values: 2000})
		for _, d := range docs {
			walk(d)
		}
		for _, p := range report.problems {
			if p.Message == "" || p.Line < 0 || p.Line > strings.Count(string(src), "\n")+strings.Count(string(src), "\r")+2 {
				t.Fatalf("odd problem %+v", p)
			}
		}
	})
}
