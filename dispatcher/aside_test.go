package dispatcher

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// Where units are not split evenly one who waits for some, and was not let pass when its time came since there were none, is
// asked again when there are: nobody of those whose turn it is by the book may ever come.
func TestWhoWaitsIsAskedAgain(t *testing.T) {
	x, y := units("x", 1), units("y", 1)
	x.Split.Weights = map[string]float64{shares.Others: 1}
	m := newStateSite(t, []shares.Spec{node("A", 1), node("B", 1)}, shares.Version{Queues: []shares.Queue{slots("q", 10)}, Resources: []shares.Resource{x, y}})
	q := m.s.byName["q"]
	ask := func(who string, cores int, need map[string]int64) job.Requirements {
		return job.Requirements{Cores: cores, SharingID: who, Resources: need}
	}
	inTheWay := m.submit(2, 0, 1, ask("bob", 1, map[string]int64{"y": 1}))
	if m.pull(q, 1) != 1 || !inTheWay.leased {
		t.Fatal("bob's job does not run")
	}
	first := m.submit(1, 0, 1, ask("ann", 2, map[string]int64{"x": 1})) // no slot is large enough for it here
	m.submit(1, 0, 2, ask("dan", 2, map[string]int64{"x": 1}))          // nor for these
	waits := m.submit(2, 0, 1, ask("cy", 1, map[string]int64{"x": 1, "y": 1}))
	if m.pull(q, 1) != 0 {
		t.Fatal("there is no unit of y, and x is for ann")
	}
	m.leasedElsewhere(first, q)
	m.end(inTheWay, false)
	m.pass(2 * time.Minute)
	if m.pull(q, 1) != 0 {
		t.Fatal("there is no unit of x")
	}
	m.end(first, false)
	for range 4 {
		m.pull(q, 1)
		m.pass(2 * time.Minute)
	}
	if !waits.leased {
		t.Errorf("it has waited for eight minutes beside what it needs:%s", m)
	}
	m.checkHeld()
}

// Those who wait are asked in the order in which the book gives them units, after changes of the site too that came while nobody
// had to do with the resource.
func TestWhoWaitsKeepsItsTurn(t *testing.T) {
	m := newStateSite(t, []shares.Spec{node("A", 1), node("B", 1)},
		shares.Version{Queues: []shares.Queue{slots("q", 10)}, Resources: []shares.Resource{units("x", 1)}})
	ask := func(who string) job.Requirements {
		return job.Requirements{Cores: 1, SharingID: who, Resources: map[string]int64{"x": 1}}
	}
	ran := m.submit(1, 0, 1, ask("ann"))
	if m.pull(m.s.byName["q"], 1) != 1 || !ran.leased {
		t.Fatal("ann's job does not run")
	}
	m.end(ran, false)
	for range 2 {
		m.change(func(*shares.Version) {})
	}
	x := m.supplyAt("x", m.s.byName["q"])
	for _, id := range []string{"ann", "bob"} {
		x.keep(waiterKey{waiterKind{1, false}, id}, asidePlace{})
	}
	if q := *x.waits.queues[waiterKind{1, false}]; q[0].key.id != "bob" {
		t.Errorf("%s is asked first, and ann was granted a unit last", q[0].key.id)
	}
	if got := x.book.Last("bob"); got >= x.book.Last("ann") {
		t.Errorf("bob's last grant is %d", got)
	}
}
