package resource

import (
	"slices"
	"time"
)

// Rule names what keeps an ID from units.
type Rule string

// Rules of a Refusal.
const (
	Capacity    Rule = "capacity"    // too few units are free
	External    Rule = "external"    // enough units would be free, but others use them outside of this site
	Reservation Rule = "reservation" // free units are kept for a job that was passed over for long, see Bundle
	OverItsPart Rule = "allowance"   // free units are kept for IDs below their allowance: this ID has its own, or waited less
)

// Refusal says why an ID may not have units now.
type Refusal struct {
	Resource  string // with the key of a family
	ID        string
	Rule      Rule
	Need      int64
	Free      int64     // units that no ID holds
	Held      int64     // by the ID
	Allowance int64     // of the ID; set by Explain
	Until     time.Time // Reservation, OverItsPart: until when the free units are kept
	KeptFor   []string  // the IDs that units are kept for, in the order of their turns; set by Explain
}

// Admits reports whether an ID may have so many units at once now, and if not, why. Want must count them. Admits does
// not allocate.
func (p *Pool) Admits(id string, units int64, now time.Time) (ok bool, why Refusal) {
	return Ask{p, id, units}.admits(now, nil)
}

// Explain is Admits for people: it starts no reservation, and names the IDs that units are kept for.
func (p *Pool) Explain(id string, units int64, now time.Time) (ok bool, why Refusal) {
	return Ask{p, id, units}.explain(now, nil)
}

// admits is Pool.Admits; by is the bundle of the job, or nil.
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

// inTurn reports whether a member is below its allowance and a unit is left for each member before it. The member of
// the booked bundle comes first, and also has a turn while it holds nothing.
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
