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
	i := p.member(id)
	ok, why = p.admits(i, units, now, nil)
	return ok, why
}

func (p *Pool) admits(i int32, units int64, now time.Time, by *Bundle) (ok bool, why Refusal) {
	m := &p.members[i]
	free := p.Usable() - p.held
	p.kept.trim(free)
	m.lapsed = false
	if units > free {
		rule := Capacity
		if units <= p.capacity-p.held {
			rule = External
		}
		return false, p.refusal(i, rule, units)
	}
	other, _, until := p.bookedBy(by, now)
	if units > free-other {
		why = p.refusal(i, Reservation, units)
		why.Until = until
		return false, why
	}
	if m.exempt {
		return true, Refusal{}
	}
	if p.inTurn(i, units, free-other, now, by) || p.again(now) && p.inTurn(i, units, free-other, now, by) {
		return true, Refusal{}
	}
	p.kept.note(now, free)
	if m.lapsed = units <= p.kept.ended(now, p.spec.MaxHold); m.lapsed {
		return true, Refusal{}
	}
	why = p.refusal(i, OverItsPart, units)
	why.Until = p.kept.until(units, p.spec.MaxHold)
	if late := p.late(); !late.IsZero() && late.Before(why.Until) {
		why.Until = late
	}
	return false, why
}

// inTurn says whether a member is below its allowance, and a unit is left for each that goes before it.
func (p *Pool) inTurn(i int32, units, free int64, now time.Time, by *Bundle) bool {
	is, before := p.below(i, now)
	if by != nil && p.booked == by {
		before = 0
	}
	return is && units <= free-before
}

func (p *Pool) refusal(i int32, rule Rule, units int64) Refusal {
	return Refusal{Resource: p.name, ID: p.members[i].name, Rule: rule, Need: units,
		Free: max(0, p.Usable()-p.held), Held: p.members[i].held}
}

// Explain is Admits for people: it starts no reservation, and says whom units are kept for.
func (p *Pool) Explain(id string, units int64, now time.Time) (ok bool, why Refusal) {
	return p.explain(id, units, now, nil)
}

func (p *Pool) explain(id string, units int64, now time.Time, by *Bundle) (ok bool, why Refusal) {
	i := p.member(id)
	before, lapsed := kept{slices.Clone(p.kept.marks), p.kept.units}, p.members[i].lapsed
	ok, why = p.admits(i, units, now, by)
	p.kept, p.members[i].lapsed = before, lapsed
	if ok {
		return true, why
	}
	all, _ := p.allowances()
	why.Allowance = all[i]
	switch why.Rule {
	case Reservation:
		_, whom, _ := p.bookedBy(by, now)
		why.KeptFor = []string{whom}
	case OverItsPart:
		for _, j := range p.waiting() {
			if j == i {
				break
			}
			why.KeptFor = append(why.KeptFor, p.members[j].name)
		}
	}
	return false, why
}
