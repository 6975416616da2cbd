package profile

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// called is a profile of so many nanoseconds in each stack, outermost function first, joined by semicolons. A bar
// between two of them says that the second was inlined into the first.
func called(stacks map[string]int64) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	function := func(name string) *profile.Function {
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
		p.Function = append(p.Function, f)
		return f
	}
	for stack, nanos := range stacks {
		sample := &profile.Sample{Value: []int64{1, nanos}}
		for _, where := range strings.Split(stack, ";") {
			at := &profile.Location{ID: uint64(len(p.Location) + 1)}
			for _, name := range strings.Split(where, "|") {
				at.Line = append([]profile.Line{{Function: function(name)}}, at.Line...)
			}
			p.Location = append(p.Location, at)
			sample.Location = append([]*profile.Location{at}, sample.Location...)
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

func TestFlame(t *testing.T) {
	root := flame(called(map[string]int64{
		"main;a/b.Serve|a/b.inlined;runtime.mallocgc": 30e7,
		"main;a/b.Serve":   20e7,
		"main;net.Read<T>": 50e7,
	}))
	if root.value != 1e9 || root.child("main").value != 1e9 {
		t.Errorf("%d in all, %d in main", root.value, root.child("main").value)
	}
	serve := root.child("main").child("a/b.Serve")
	if inner := serve.child("a/b.inlined").child("runtime.mallocgc"); serve.value != 50e7 || inner.value != 30e7 {
		t.Errorf("%d in Serve, %d in what it calls", serve.value, inner.value)
	}
	var svg, again bytes.Buffer
	root.writeTo(&svg, "cpu & more")
	root.writeTo(&again, "cpu & more")
	if !bytes.Equal(svg.Bytes(), again.Bytes()) {
		t.Error("the same profile is drawn in two ways")
	}
	boxes := boxesIn(t, svg.Bytes())
	for title, want := range map[string]box{
		"all 100.0 %":             {x: 0, y: flameHead, width: flameWidth},
		"a/b.Serve 50.0 %":        {x: 0, y: flameHead + 2*flameRow, width: flameWidth / 2},
		"runtime.mallocgc 30.0 %": {x: 0, y: flameHead + 4*flameRow, width: 0.3 * flameWidth},
		"net.Read<T> 50.0 %":      {x: flameWidth / 2, y: flameHead + 2*flameRow, width: flameWidth / 2},
	} {
		got, ok := boxes[title]
		if !ok || math.Abs(got.x-want.x)+math.Abs(got.width-want.width) > 0.2 || got.y != want.y {
			t.Errorf("%s: %+v %t, want %+v", title, got, ok, want)
		}
	}
}

// What cannot be seen is left out, and an empty profile is a picture all the same.
func TestFlameOfLittle(t *testing.T) {
	var svg bytes.Buffer
	flame(called(map[string]int64{"main;big": 1e12, "main;dust;below": 1})).writeTo(&svg, "cpu")
	if boxes := boxesIn(t, svg.Bytes()); len(boxes) != 3 {
		t.Errorf("%v", boxes)
	}
	svg.Reset()
	flame(&profile.Profile{}).writeTo(&svg, "mutex")
	if boxes := boxesIn(t, svg.Bytes()); len(boxes) != 0 {
		t.Errorf("%v", boxes)
	}
}

func TestFill(t *testing.T) {
	for name, kind := range map[string]string{
		"github.com/divvyhq/divvy/dispatcher.(*batcher).Run": "divvy", "github.com/divvyhq/divvy/cmd/divvy-bench/suite.Run": "the bench's own",
		"net/http.(*conn).serve": "net, net/http", "internal/runtime/syscall.Syscall6": "kernel calls", "sync.(*Mutex).Lock": "others",
	} {
		for _, k := range kinds {
			if k.name == kind && fill(name) != k.fill {
				t.Errorf("%s is not drawn as %s", name, kind)
			}
		}
	}
}

type box struct{ x, y, width float64 }

// boxesIn are the boxes of a graph by their titles; it has to be XML.
func boxesIn(t *testing.T, svg []byte) map[string]box {
	t.Helper()
	var doc struct {
		Groups []struct {
			Title string `xml:"title"`
			Rect  struct {
				X     float64 `xml:"x,attr"`
				Y     float64 `xml:"y,attr"`
				Width float64 `xml:"width,attr"`
			} `xml:"rect"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(svg, &doc); err != nil {
		t.Fatalf("%v\n%s", err, svg)
	}
	boxes := map[string]box{}
	for _, g := range doc.Groups {
		boxes[g.Title] = box{g.Rect.X, g.Rect.Y, g.Rect.Width}
	}
	return boxes
}

func TestProfiler(t *testing.T) {
	var none *Profiler
	none.On()
	none.Off()
	if err := errors.Join(none.Write(), New("").Write()); err != nil {
		t.Error(err)
	}
	dir := filepath.Join(t.TempDir(), "profile")
	p := New(dir)
	if p.Write() == nil {
		t.Error("nothing was measured, and that is no error")
	}
	for range 2 {
		p.On()
		p.Off()
	}
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cpu", "mutex", "block"} {
		raw, err := os.Open(filepath.Join(dir, name+".pprof"))
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		if taken, err := profile.Parse(raw); err != nil || taken.CheckValid() != nil {
			t.Errorf("%s: %v", name, err)
		}
		svg, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		boxesIn(t, svg)
	}
	p.On()
	q := New(dir)
	q.On() // one at a time
	p.Off()
	if err := q.Write(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("two profiles at once: %v", err)
	}
}
