package shares

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestCapacityInForce(t *testing.T) {
	r := DefaultResource()
	r.Name, r.Capacity = "table", 4
	r.Live = []LiveCapacity{{Queue: "q", Capacity: 5}, {Key: "k", Capacity: 6}, {Key: "k", Queue: "q", Capacity: 7}}
	for _, c := range []struct {
		key, queue string
		want       int64
	}{{"", "", 4}, {"a", "", 4}, {"a", "q", 5}, {"k", "", 6}, {"k", "p", 6}, {"k", "q", 7}} {
		if got := r.CapacityAt(c.key, c.queue); got != c.want {
			t.Errorf("capacity of key %q at queue %q: %d, want %d", c.key, c.queue, got, c.want)
		}
	}
	r.Live = append(r.Live, LiveCapacity{Capacity: 0})
	if got := r.CapacityAt("", ""); got != 0 {
		t.Errorf("set to 0, it is %d", got)
	}
}

func TestResourceByReference(t *testing.T) {
	v := Version{Resources: []Resource{{Name: "maya"}, {Name: "table", Keyed: true}}}
	for ref, want := range map[string]bool{"maya": true, "maya:": false, "maya:x": false, "table": false, "table:": false, "table:orders": true, "table:a:b": true, "nuke": false, "": false} {
		if _, ok := v.Resource(ref); ok != want {
			t.Errorf("%q: %v, want %v", ref, ok, want)
		}
	}
	if name, key := CutResource("table:a:b"); name != "table" || key != "a:b" {
		t.Errorf("cut into %q and %q", name, key)
	}
}

func TestResourceThatCannotBe(t *testing.T) {
	good := func() Resource {
		r := DefaultResource()
		r.Name, r.Capacity = "maya", 4
		return r
	}
	node := func(name string, children ...SplitNode) SplitNode {
		return SplitNode{Name: name, Weight: 1, Children: children}
	}
	for _, c := range []struct {
		change func(*Resource)
		want   []string
	}{
		{func(*Resource) {}, nil},
		{func(r *Resource) { r.Split.Weights = map[string]float64{"alice": 3, Others: 0.5} }, nil},
		{func(r *Resource) { r.Split.Tree = []SplitNode{node("vfx", node("vfx"), node("bob")), node(Others)} }, nil},
		{func(r *Resource) { r.Name = "" }, []string{"maya: name: is empty"}},
		{func(r *Resource) { r.Name = "a:b" }, []string{`maya: name: "a:b" contains ":"`}},
		{func(r *Resource) { r.Capacity = -1 }, []string{"maya: capacity: -1 is not in 0 … 1000000000"}},
		{func(r *Resource) { r.MaxBypass, r.MaxHold, r.Settle = 0, -1, 25*time.Hour }, []string{"maya: max_bypass: 0 is less than 1",
			"maya: max_hold: -1ns is not in 0s … 24h", "maya: settle: 25h0m0s is not in 0s … 24h"}},
		{func(r *Resource) { r.Exempt = []string{"a", "*", "a"} }, []string{`maya: exempt[1]: "*" is not one sharing ID`, `maya: exempt[2]: "a" is listed already`}},
		{func(r *Resource) { r.Split.By = "pilot" }, []string{`maya: split.by: "pilot" is none of user, share, label`}},
		{func(r *Resource) { r.Split.Weights = map[string]float64{"a": 0, "b": -1} },
			[]string{"maya: split.weights.a: is 0: a sharing ID without weight could wait for ever", "maya: split.weights.b: -1 is negative"}},
		{func(r *Resource) { r.Split.Weights, r.Split.Tree = map[string]float64{"a": 1}, []SplitNode{node("a")} },
			[]string{"maya: split.tree: says what weights says too"}},
		{func(r *Resource) {
			r.Split.Tree = []SplitNode{node("g", node("a"), node("a")), node("a"), node(""), node("*", node("c"))}
		},
			[]string{`maya: split.tree[0].children[1].name: "a" is the name of a sibling already`, `maya: split.tree[1].name: "a" stands in tree[0].children[0] already`,
				"maya: split.tree[2].name: is empty", "maya: split.tree[3].name: * stands for IDs, and has no children"}},
	} {
		r := good()
		c.change(&r)
		var problems Problems
		if err := r.Validate(); err != nil && !errors.As(err, &problems) {
			t.Fatal(err)
		}
		var got []string
		for _, p := range problems {
			p.Path = "maya"
			got = append(got, p.Error())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v:\n%q, want\n%q", r, got, c.want)
		}
	}
}
