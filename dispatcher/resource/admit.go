package resource

import (
	"slices"
	"time"
)

// Rule is what keeps an ID from units.
type Rule string

// Rules of a Refusal.
const (
	Capacity    Rule = "capacity"    // not so many units are free
	External    Rule = "external"    // they would be, but others use them outside of this site
	Reservation Rule = "reservation" // they are kept for a job that was passed over for long, see Bundle
	OverItsPart Rule = "allowance"   // what is free is kept for IDs below their allowance: it has its own, or they waited longer
)

// Refusal says why an ID may not have units now.
type Refusal struct {
	Resource  string // with the key of a family
	ID        string
	Rule      Rule
	Need      int64
	Free      int64     // units that nobody holds
	Held      int64     // by the ID
	Allowance int64     // by Explain: of the ID
	Until     time.Time // Reservation, OverItsPart: when the units that are free now are kept no longer
	KeptFor   []string  // by Explain: whom they are kept for, in the order of their turns
}

// Admits says whether an ID may have so many units at once now. Want must count them. It does not allocate.
func (p *Pool) Admits(id string, units int64, now time.Time) (ok bool, why Refusal) {
	return Ask{p, id, units}.admits(now, nil)
}

// Explain is Admits for people: it starts no reservation, and says whom units are kept for.
func (p *Pool) Explain(id string, units int64, now time.Time) (ok bool, why Refusal) {
	return Ask{p, id, units}.explain(now, nil)
}

// admits is Pool.Admits, for a job of a bundle where that is not nil.
func (a Ask) admits(now time.Time, by *Bundle) (ok bool, why Refusal) {
	p := a.Pool
	i := p.member(a.ID)
	m := &p.members[i]
	free := p.Usable() - p.held
	p.kept.trim(free)
	m.lapsed = false
	if a.Units > free {
		rule := Capacity
		if a.Units <= p.capacity-p.held {
			rule = External
		}
		return false, a.refusal(rule, m)
	}
	other, _, until := p.booked.keeps(p, by, now)
	if a.Units > free-other {
		why = a.refusal(Reservation, m)
		why.Until = until
		return false, why
	}
	if m.exempt || a.inTurn(i, free-other, now, by) || p.split.again(p, now) && a.inTurn(i, free-other, now, by) {
		return true, Refusal{}
	}
	p.kept.note(now, free)
	if m.lapsed = a.Units <= p.kept.ended(now, p.spec.MaxHold); m.lapsed {
		return true, Refusal{}
	}
	why = a.refusal(OverItsPart, m)
	why.Until = p.kept.until(a.Units, p.spec.MaxHold)
	if late := p.split.late(p); !late.IsZero() && late.Before(why.Until) {
		why.Until = late
	}
	return false, why
}

// inTurn says whether a member is below its allowance, and a unit is left for each that goes before it. It is the turn of who has booked and
// holds none.
func (a Ask) inTurn(i int32, free int64, now time.Time, by *Bundle) bool {
	is, before := a.Pool.split.below(a.Pool, i, now)
	if by != nil && a.Pool.booked == by {
		is, before = is || a.Pool.members[i].held == 0, 0
	}
	return is && a.Units <= free-before
}

func (a Ask) refusal(rule Rule, m *member) Refusal {
	return Refusal{Resource: a.Pool.name, ID: a.ID, Rule: rule, Need: a.Units, Free: max(0, a.Pool.Usable()-a.Pool.held), Held: m.held}
}

func (a Ask) explain(now time.Time, by *Bundle) (ok bool, why Refusal) {
	p := a.Pool
	i := p.member(a.ID)
	before, lapsed := kept{slices.Clone(p.kept.marks), p.kept.units}, p.members[i].lapsed
	ok, why = a.admits(now, by)
	p.kept, p.members[i].lapsed = before, lapsed
	if ok {
		return true, why
	}
	all, floor := p.allowances()
	why.Allowance = all[i]
	switch why.Rule {
	case Reservation:
		_, whom, _ := p.booked.keeps(p, by, now)
		why.KeptFor = []string{whom}
	case OverItsPart:
		for _, j := range p.waiting(all, floor) {
			if j == i {
				break
			}
			why.KeptFor = append(why.KeptFor, p.members[j].name)
		}
	}
	return false, why
}
