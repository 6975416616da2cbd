package resource

import (
	"testing"
	"time"
)

// passedOver is a pool of four with one unit held by Cy, and a bundle of Bob that has booked all four.
func passedOver(t *testing.T) (*Pool, *Bundle) {
	t.Helper()
	s := spec(4)
	s.MaxBypass = 2
	p := NewPool(s)
	p.Hold("Cy", 1)
	p.Want("Ann", 1) // has waited as long as Bob, and her name comes first; but no slot comes for her job
	b := NewBundle("Bob", Ask{Pool: p, Units: 4})
	b.Want(1)
	askInVain(t, b, Capacity)
	for range 2 {
		if _, booked := b.Booked(); booked {
			t.Fatal("booked before it was passed over twice")
		}
		p.Granted("Cy")
	}
	askInVain(t, b, Capacity)
	if until, booked := b.Booked(); !booked || until != noon.Add(s.MaxHold) {
		t.Fatalf("booked until %s: %v", until, booked)
	}
	return p, b
}

func askInVain(t *testing.T, b *Bundle, rule Rule) {
	t.Helper()
	if ok, why := b.Admits(noon); ok || why.Rule != rule {
		t.Errorf("let pass %v, or by %s, want %s", ok, why.Rule, rule)
	}
}

func TestWhoBookedGoesFirst(t *testing.T) {
	p, b := passedOver(t)
	p.Hold("Cy", -1)
	if ok, why := p.Admits("Ann", 1, noon); ok || why.Rule != Reservation || why.Until != noon.Add(time.Minute) {
		t.Errorf("Ann: %v %+v", ok, why)
	}
	if ok, why := b.Admits(noon); !ok {
		t.Errorf("Bob: %+v", why)
	}
	b.Granted()
	if ok, _ := p.Admits("Ann", 1, noon); !ok {
		t.Error("what was granted is booked still")
	}
	p, b = passedOver(t)
	p.Hold("Cy", -1)
	b.Want(0)
	if ok, _ := p.Admits("Ann", 1, noon); !ok {
		t.Error("nobody wants what is booked")
	}
}

func TestBookingsDoNotMeet(t *testing.T) {
	p, first := passedOver(t)
	other := NewPool(spec(1))
	other.Hold("Cy", 1)
	second := NewBundle("Dan", Ask{Pool: p, Units: 4}, Ask{Pool: other, Units: 1})
	second.Want(1)
	askInVain(t, second, Capacity)
	for range 9 {
		p.Granted("Cy")
	}
	askInVain(t, second, Capacity)
	if _, booked := second.Booked(); booked || other.booked != nil {
		t.Error("a second booking of one pool")
	}
	first.Release()
	askInVain(t, second, Capacity)
	if _, booked := second.Booked(); !booked || p.booked != second || other.booked != second {
		t.Error("the pools are free to book, and not booked")
	}
}

// TestWhoHasItsPartBooksNothing: nor does it count then how many passed it.
func TestWhoHasItsPartBooksNothing(t *testing.T) {
	p, b := passedOver(t)
	p.SetCapacity(9)
	p.Want("Cy", 9)
	p.Want("Dan", 9)
	p.Hold("Bob", 3) // by another shape of his: Ann has 1 of the nine, the others 3, 3 and 2
	askInVain(t, b, OverItsPart)
	if _, booked := b.Booked(); booked || b.waits {
		t.Errorf("%+v", b)
	}
}

// TestWhoCameToHaveItsPart: what it booked is kept from nobody, asked again or not.
func TestWhoCameToHaveItsPart(t *testing.T) {
	p, b := passedOver(t)
	p.Hold("Bob", 2) // by another shape of his: of four units Ann's part is one, Bob's two, Cy's one
	if ok, why := p.Admits("Ann", 1, noon); !ok {
		t.Errorf("a unit is idle: %+v", why)
	}
	p.Hold("Bob", -1)
	if ok, why := p.Admits("Ann", 1, noon); ok || why.Rule != Reservation {
		t.Errorf("Bob is below his part again, and keeps nothing: %v %+v", ok, why)
	}
	if _, booked := b.Booked(); !booked {
		t.Error("the booking has gone")
	}
}

// TestMoreThanThereIs: a job that asks for more than there is keeps no unit from others, until there is as much.
func TestMoreThanThereIs(t *testing.T) {
	of := spec(4)
	of.MaxBypass = 1
	p := NewPool(of)
	greedy, modest := NewBundle("Ann", Ask{Pool: p, Units: 6}), NewBundle("Bob", Ask{Pool: p, Units: 1})
	greedy.Want(2)
	modest.Want(20)
	for range 4 {
		askInVain(t, greedy, Capacity)
		if ok, why := modest.Admits(noon); !ok {
			t.Fatalf("a unit that Ann cannot use is kept from Bob: %+v", why)
		}
		p.Hold("Bob", 1)
		modest.Granted()
	}
	if _, booked := greedy.Booked(); booked || p.WantedBy("Ann") != 0 {
		t.Fatalf("booked: %v, Ann wants %d units of those that there are", booked, p.WantedBy("Ann"))
	}
	p.SetCapacity(12)
	if ok, why := greedy.Admits(noon); !ok {
		t.Fatalf("Ann is kept from 6 of 12 units: %+v", why)
	}
}

// TestWhatThereIsComesAndGoes: jobs that need more than there is are wanted again as soon as there is as much, asked or not;
// else who is asked first takes what is theirs.
func TestWhatThereIsComesAndGoes(t *testing.T) {
	p := NewPool(spec(4))
	p.SetExternal(0, 0, 0)
	ann, bob := NewBundle("Ann", Ask{Pool: p, Units: 1}), NewBundle("Bob", Ask{Pool: p, Units: 1})
	ann.Want(7)
	if p.WantedBy("Ann") != 0 {
		t.Error("Ann wants units that there are not")
	}
	p.SetExternal(11, 3, 0)
	if p.WantedBy("Ann") != 7 {
		t.Errorf("there are units, and Ann wants %d", p.WantedBy("Ann"))
	}
	bob.Want(5)
	p.Hold("Cy", 1)
	if ok, why := bob.Admits(noon); !ok {
		t.Fatal(why)
	}
	p.Hold("Bob", 1)
	bob.Granted()
	if ok, why := bob.Admits(noon); ok || why.Rule != OverItsPart {
		t.Errorf("Bob has his part, Ann none: %v %+v", ok, why)
	}
	ann.Want(0)
	p.SetExternal(0, 0, 0)
	p.SetExternal(11, 3, 0)
	if p.WantedBy("Ann") != 0 || len(p.wanting) != 1 {
		t.Errorf("Ann has no job any more, and wants %d; %d bundles have jobs", p.WantedBy("Ann"), len(p.wanting))
	}
}
