package shares

import (
	"fmt"
	"testing"
	"time"
)

// Leaves whose targets are less than a job: A has most of a pool of ten, the others what their weights say.
func TestETAOfLessThanAJob(t *testing.T) {
	unit := func(perSecond float64) Ends { return Ends{PerSecond: perSecond, Units: 1000} }
	for _, c := range []struct {
		name    string
		weights []float64
		held    []Units
		ends    map[int]Ends
		want    time.Duration
		never   bool
	}{
		// A has its job back whenever one ends: it is 0.7 below its target then, B 0.3.
		{"0.3 beside 9.7", []float64{9.7, 0.3}, []Units{10, 0}, map[int]Ends{1: unit(0.1)}, 0, true},
		// The first that ends goes to B, a whole one and not 0.6 of it.
		{"0.6 beside 9.4", []float64{9.4, 0.6}, []Units{10, 0}, map[int]Ends{1: unit(0.1)}, 10 * time.Second, false},
		{"nothing ends", []float64{9.4, 0.6}, []Units{10, 0}, nil, 0, true},
		{"a free unit is there at once", []float64{9.7, 0.3}, []Units{9, 0}, map[int]Ends{1: unit(0.1)}, 0, true}, // A is 0.7 short
		{"two free units", []float64{9.7, 0.3}, []Units{8, 0}, map[int]Ends{1: unit(0.1)}, 0, true},
		// C is further below, and keeps what A gives.
		{"one before it for good", []float64{9.3, 0.3, 0.4}, []Units{10, 0, 0}, map[int]Ends{1: unit(0.1)}, 0, true},
		{"one before it, and another end", []float64{8.4, 0.7, 0.9}, []Units{10, 0, 0}, map[int]Ends{1: unit(0.1)}, 20 * time.Second, false},
		{"a job of two units does not fit in one", []float64{9.5, 0.5}, []Units{10, 0}, map[int]Ends{1: unit(0.1), 2: {Units: 2000}}, 0, true},
	} {
		specs := make([]Spec, len(c.weights))
		for i, w := range c.weights {
			specs[i] = Spec{Name: string(rune('A' + i)), Plan: DefaultPlan()}
			specs[i].Plan.Weight = w
		}
		tree, err := Build(specs)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPool(tree, "default")
		for i, held := range c.held {
			p.Hold(i+1, held*1000)
			p.SetWant(i+1, MaxAmount)
		}
		got, ok := p.ETA(10_000, c.ends)(2)
		if d := got - c.want; ok == c.never || ok && (d > time.Second || d < -time.Second) {
			t.Errorf("%s: %v %v, want %v", c.name, got, ok, c.want)
		}
	}
}

// A hundred slots and a thousand leaves, each with a tenth of one: they take turns, and the last one's comes when nine hundred
// jobs have ended, not when the ninety units have that deficits are in all.
func TestETAByTurns(t *testing.T) {
	specs := make([]Spec, 1000)
	for i := range specs {
		specs[i] = Spec{Name: fmt.Sprint(i), Plan: DefaultPlan()}
	}
	tree, err := Build(specs)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(tree, "default")
	for i := range specs {
		p.SetWant(i+1, MaxAmount)
		if i < 100 {
			p.Hold(i+1, 1000)
		}
	}
	got, ok := p.ETA(100_000, map[int]Ends{0: {PerSecond: 1, Units: 1000}})(1000)
	if d := got - 900*time.Second; !ok || d > time.Second || d < -time.Second {
		t.Errorf("%v %v, want 15m", got, ok)
	}
}

func TestETA(t *testing.T) {
	tree, err := Build([]Spec{{Name: "A", Plan: DefaultPlan()}, {Name: "B", Plan: DefaultPlan()}, {Name: "C", Plan: DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	unit := func(perSecond float64) Ends { return Ends{PerSecond: perSecond, Units: 1000} }
	for _, c := range []struct {
		name    string
		a, b, c Units // held of 90: targets are 30 each
		ends    map[int]Ends
		want    time.Duration
		never   bool
	}{
		{"one over, one below", 30, 60, 0, map[int]Ends{2: unit(0.5)}, time.Minute, false},
		{"ends of who is at its target do not count", 30, 60, 0, map[int]Ends{1: unit(9), 2: unit(0.5)}, time.Minute, false},
		{"the pool's ends by what is held", 30, 60, 0, map[int]Ends{0: unit(0.75)}, time.Minute, false},
		{"two over, one soon done", 35, 55, 0, map[int]Ends{1: unit(0.5), 2: unit(0.25)}, 100 * time.Second, false},
		{"others are below as well", 90, 0, 0, map[int]Ends{1: unit(1)}, time.Minute, false},
		{"nothing ends", 30, 60, 0, nil, 0, true},
		{"at its target", 30, 30, 30, nil, 0, false},
		{"free units are there at once", 30, 30, 0, nil, 0, false},
	} {
		p := NewPool(tree, "default")
		for leaf, held := range map[int]Units{1: c.a, 2: c.b, 3: c.c} {
			p.Hold(leaf, held*1000)
			p.SetWant(leaf, MaxAmount)
		}
		got, ok := p.ETA(90_000, c.ends)(3)
		if d := got - c.want; ok == c.never || d > time.Second || d < -time.Second {
			t.Errorf("%s: %v %v, want %v", c.name, got, ok, c.want)
		}
	}
}
