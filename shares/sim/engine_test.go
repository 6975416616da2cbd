package sim_test

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/sim"
)

// An engine that is driven from outside, as a replay does. W2 and P13 of sharing.md: nothing is ended when capacity
// falls, nothing starts before held is below it, and then only for who is below the new target.
func TestDrivenByRecord(t *testing.T) {
	plan := shares.DefaultPlan()
	tree, err := shares.Build([]shares.Spec{{Name: "A", Plan: plan}, {Name: "B", Plan: plan}})
	if err != nil {
		t.Fatal(err)
	}
	e := sim.New(sim.Config{Tree: tree, Capacity: 10_000, Rule: sim.Divvy{}})
	a, b := sim.Job{Leaf: 1, Units: 1000}, sim.Job{Leaf: 2, Units: 1000}
	e.AddReady(1, 100_000)
	e.SetHead(a)
	for range 10 {
		e.Start(a)
	}
	e.Advance(time.Hour)
	e.AddReady(2, 100_000)
	e.SetHead(b)
	if e.Free() != 0 {
		t.Fatalf("%s units free, want none", e.Free())
	}
	if j, ok := e.Choose(); !ok || j.Leaf != 2 {
		t.Errorf("%+v is in turn, want B", j)
	}
	e.SetCapacity(6_000)
	for range 4 {
		if e.Free() != 0 {
			t.Errorf("%s units free with more held than there is", e.Free())
		}
		e.End(1, 1000)
	}
	if got := e.Targets()[2]; got != 3000 {
		t.Errorf("target of B is %v, want 3000", got)
	}
	for range 3 {
		e.End(1, 1000)
		j, ok := e.Choose()
		if !ok || j.Leaf != 2 {
			t.Fatalf("%+v is in turn, want B", j)
		}
		e.Decided(j)
		e.Start(j)
	}
	e.End(2, 1000)
	if j, _ := e.Choose(); j.Leaf != 2 {
		t.Errorf("%+v is in turn, want B again", j)
	}
	if j, _ := e.ChooseAmong(func(j sim.Job) bool { return j.Leaf == 1 }); j.Leaf != 1 {
		t.Errorf("%+v is in turn, want A, for only A can use the slot", j)
	}
	e.ClearHead(2)
	if j, _ := e.Choose(); j.Leaf != 1 || e.Contenders().Len() != 1 || e.Head(1) != a {
		t.Errorf("%+v is in turn, want A, the only one left", j)
	}
	e.ClearHead(1)
	e.Advance(2 * time.Hour)
	r := e.Result()
	if _, ok := e.Choose(); ok || r.Fairness.Refused != 0 || r.Shares[1].Delivered != 13 || r.EndS != 7200 {
		t.Errorf("%+v", r)
	}
}
