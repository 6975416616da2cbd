package strict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type size struct {
	Width int64 `yaml:"width" is:"required 1..10"`
	Hint  Value `yaml:"-"`
}

type box struct {
	size
	Size   size              `yaml:"size"`
	Name   string            `json:"name,omitempty" is:"required word=lower"`
	Kind   string            `yaml:"kind" enum:",big,small"`
	Note   string            `yaml:"note" is:"empty"`
	Parts  []box             `yaml:"parts" is:"some most=2" once:"part" hint:"leave it out"`
	Tags   []string          `yaml:"tags" once:"tag"`
	Weight *float64          `yaml:"weight" is:"..2.5" hint:"in kg"`
	Power  int64             `yaml:"power" is:"milli ..100" zero:"leave it out"`
	Wait   time.Duration     `yaml:"wait" is:"1s..1h"`
	Keep   int64             `yaml:"keep" is:"seconds whole"`
	Labels map[string]string `yaml:"labels" is:"empty"`
	Units  map[string]int    `yaml:"units" is:"1.. keys=lower"`
	Either point             `yaml:"either"`
}

type point struct {
	X int64 `yaml:"x"`
}

func (b *box) Start(Value) { b.Kind = "small" }

func boxes() *Decoder {
	d := NewDecoder(map[string]Word{"lower": func(s string) (string, string) {
		if s != strings.ToLower(s) {
			return fmt.Sprintf(" %q is not in lower case", s), "press no shift"
		}
		return "", ""
	}})
	Reads(d, func(d *Decoder, v Value, to *point) {
		if v.IsMapping() {
			d.Fields(v, to)
			return
		}
		to.X, _ = v.Int(0, 9)
	})
	return d
}

func TestDecode(t *testing.T) {
	docs, report := Parse("f", []byte(`
name: a
width: 3
size: {width: 4}
note: ""
parts: [{name: b, width: 1, kind: big}]
tags: [x, y]
weight: 2.5
power: 1.5
wait: 2s
keep: 1m
labels: {a: ""}
units: {b: 2}
either: 5
`), Limits{})
	var got box
	boxes().Decode(docs[0], &got)
	w := 2.5
	want := box{size: size{Width: 3}, Size: size{Width: 4}, Name: "a", Kind: "small", Parts: []box{{size: size{Width: 1}, Name: "b", Kind: "big"}}, Tags: []string{"x", "y"},
		Weight: &w, Power: 1500, Wait: 2 * time.Second, Keep: 60, Labels: map[string]string{"a": ""}, Units: map[string]int{"b": 2}, Either: point{5}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(box{}), cmp.Comparer(func(a, b Value) bool { return a == b })); d != "" || report.Err() != nil {
		t.Errorf("%s %v", d, report.Err())
	}
}

func TestDecodeSaysAllThatIsWrong(t *testing.T) {
	docs, report := Parse("f", []byte(`
name: A
size: {width: 11}
kind: huge
parts: []
tags: [x, x]
weight: 3
power: 0
wait: 2h
keep: 1500ms
labels: {"": b}
units: {B: 1, c: 0}
either: {y: 1}
nam: b
`), Limits{})
	var got box
	boxes().Decode(docs[0], &got)
	want := `f:2:1: width is missing
f:2:7: name "A" is not in lower case (press no shift)
f:3:15: width: 11 is more than 10
f:4:7: kind: "huge" is not known (known: big, small)
f:5:8: parts is empty (leave it out)
f:6:11: tags: "x" is given twice
f:7:9: weight: 3 is not in 0 … 2.5 (in kg)
f:8:8: power is zero (leave it out)
f:9:7: wait: 2h0m0s is more than 1h0m0s
f:10:7: keep: 1.5s is not a whole number of seconds
f:11:10: labels: a key is empty
f:12:9: key "B" is not in lower case (press no shift)
f:12:18: c: 0 is less than 1
f:13:10: unknown key "y" (known: x)
f:14:1: unknown key "nam" (did you mean "name"?)`
	if d := cmp.Diff(want, fmt.Sprint(report.Err())); d != "" {
		t.Error(d)
	}
}

func TestAt(t *testing.T) {
	docs, _ := Parse("f", []byte("a: &a\n  b.c: [x, {d: y}]\n  b:\n    c: z\ne: *a\n"), Limits{})
	for path, want := range map[string]string{"a.b.c[0]": "b.c 2:9", "e.b.c[1].d": "d 2:16", "a.b": "b 4:5", "a.b.c[7]": "b.c 2:8", "a.q.r": "a 1:4", "[0]": "the document 1:1", "": "the document 1:1"} {
		v := docs[0].At(path)
		if got := fmt.Sprintf("%s %d:%d", v.Name(), v.node.Line, v.node.Column); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if a := docs[0].At("a"); !a.Has("b.c") || a.Has("c") || a.Key("b").Line() != 3 || len(a.Keys()) != 2 {
		t.Error("keys")
	}
}

// What came as JSON is held against the same tags.
func TestFaults(t *testing.T) {
	w := 3.5
	x := box{size: size{Width: 11}, Name: "A", Kind: "huge", Parts: []box{{Name: "b"}, {Name: "C"}, {}}, Weight: &w, Power: -1, Keep: -5,
		Units: map[string]int{"B": 0}, Labels: map[string]string{"": "x"}}
	var got []string
	boxes().Faults(x, func(path, wrong, hint string) bool {
		got = append(got, strings.TrimSpace(path+" "+wrong+" "+hint))
		return true
	})
	want := []string{"width 11 is not in 1 … 10", `name "A" is not in lower case press no shift`, `kind "huge" is not known big, small`, "parts has more than 2 entries",
		"weight 3.5 is not in 0 … 2.5 in kg", "power is negative: -1", "keep is negative: -5s", "labels has an empty key", `units "B" is not in lower case press no shift`, "units.B 0 is not in 1 … 4611686018427387904"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	n := 0
	if boxes().Faults(x, func(string, string, string) bool { n++; return n < 3 }); n != 3 {
		t.Errorf("%d faults, after three were enough", n)
	}
}
