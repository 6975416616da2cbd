package shares

import (
	"testing"
	"time"
)

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
		got, ok := p.ETA(90_000, 3, c.ends)
		if d := got - c.want; ok == c.never || d > time.Second || d < -time.Second {
			t.Errorf("%s: %v %v, want %v", c.name, got, ok, c.want)
		}
	}
}
