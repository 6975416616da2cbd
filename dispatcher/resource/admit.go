package resource

import (
	"cmp"
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
	OverItsPart Rule = "allowance"   // the ID holds its allowance, and what is free is kept for IDs below theirs
)

// Refusal says why an ID may not have units now.
type Refusal struct {
	Resource  string // with the key of a family
	ID        string
	Rule      Rule
	Need      int64
	Free      int64     // units that nobody holds
	Held      int64     // by the ID
	Allowance int64     // of the ID
	Until     time.Time // Reservation, OverItsPart: when the units that are free now are kept no longer
	KeptFor   []string  // by Explain: whom they are kept for, who waited longest first
}

// Admits says whether an ID may have so many units at once now. Want must count them. Where the answer is no it is O(1)
// but for the allowance, and does not allocate.
func (p *Pool) Admits(id string, units int64, now time.Time) (ok bool, why Refusal) {
	i := p.member(id)
	ok, why = p.admits(i, units, now, nil)
	return ok, why
}

func (p *Pool) admits(i int32, units int64, now time.Time, by *Bundle) (ok bool, why Refusal) {
	m := &p.members[i]
	free := p.Usable() - p.held
	p.kept.trim(free)
	if units > free {
		rule := Capacity
		if units <= p.capacity-p.held {
			rule = External
		}
		return false, p.refusal(i, rule, units)
	}
	if other, until := p.bookedBy(by, now); units > free-other {
		why = p.refusal(i, Reservation, units)
		why.Until = until
		return false, why
	}
	if m.exempt || m.held < p.allowance(i) {
		return true, Refusal{}
	}
	p.kept.note(now, free)
	if units <= p.kept.ended(now, p.spec.MaxHold) {
		return true, Refusal{}
	}
	why = p.refusal(i, OverItsPart, units)
	why.Until = p.kept.until(units, p.spec.MaxHold)
	return false, why
}

func (p *Pool) refusal(i int32, rule Rule, units int64) Refusal {
	why := Refusal{Resource: p.name, ID: p.members[i].name, Rule: rule, Need: units,
		Free: max(0, p.Usable()-p.held), Held: p.members[i].held}
	if rule == OverItsPart {
		why.Allowance = p.allowance(i)
	}
	return why
}

// Explain is Admits for people: it starts no reservation, and says whom units are kept for.
func (p *Pool) Explain(id string, units int64, now time.Time) (ok bool, why Refusal) {
	before := kept{slices.Clone(p.kept.marks), p.kept.units}
	i := p.member(id)
	ok, why = p.admits(i, units, now, nil)
	p.kept = before
	if ok {
		return true, why
	}
	why.Allowance = p.allowance(i)
	switch why.Rule {
	case Reservation:
		why.KeptFor = []string{p.booked.id}
	case OverItsPart:
		why.KeptFor = p.below(i)
	}
	return false, why
}

// below lists the IDs below their allowance, who waited longest first.
func (p *Pool) below(but int32) (names []string) {
	var list []*member
	for i := range p.members {
		if m := &p.members[i]; int32(i) != but && !m.exempt && m.want > 0 && m.held < p.allowance(int32(i)) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *member) int { return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(a.name, b.name)) })
	for _, m := range list {
		names = append(names, m.name)
	}
	return names
}
