package demo

import (
	"cmp"
	"slices"
)

// spanRow is one attempt: how many slots it held, from when until when, in seconds from the start of the window.
type spanRow struct {
	Share        string
	Slots        float64
	Began, Ended float64
}

// due is what one leaf was promised over the window.
type due struct {
	target float64 // ∫target dt, slot-seconds: what it is owed where every slot is in use all the time
	part   float64 // ∫held of all · target / targets of all dt: its target's part of what was delivered at each moment
	low    float64 // least target in the window, slots
	high   float64 // largest one
}

// ledger walks through the window and adds up what each leaf is due.
type ledger struct {
	targets map[string]float64 // slots, at this moment
	held    float64            // slots of all leaves together, at this moment
	dues    map[string]due
}

// dues adds up what each leaf was promised in the window of so many seconds. A sample's target holds until the next
// one of its leaf. Slots that no leaf held are in nobody's part: a slow machine leaves slots idle, which is not unfair.
func dues(history []historyRow, spans []spanRow, window float64) map[string]due {
	type change struct {
		t     float64
		apply func()
	}
	l := ledger{targets: map[string]float64{}, dues: map[string]due{}}
	var changes []change
	for _, h := range history {
		changes = append(changes, change{h.T, func() { l.targets[h.Share] = h.Target }})
	}
	for _, s := range spans {
		changes = append(changes, change{s.Began, func() { l.held += s.Slots }}, change{s.Ended, func() { l.held -= s.Slots }})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.t, b.t) })
	now := 0.0
	for _, c := range changes {
		if at := min(c.t, window); at > now {
			l.pass(at - now)
			now = at
		}
		c.apply()
	}
	l.pass(window - now)
	return l.dues
}

// pass lets seconds go by in which nothing changes.
func (l *ledger) pass(seconds float64) {
	if seconds <= 0 {
		return
	}
	all := 0.0
	for _, t := range l.targets {
		all += t
	}
	for share, t := range l.targets {
		d, seen := l.dues[share]
		if !seen {
			d.low, d.high = t, t
		}
		d.target += seconds * t
		if all > 0 {
			d.part += seconds * l.held * t / all
		}
		d.low, d.high = min(d.low, t), max(d.high, t)
		l.dues[share] = d
	}
}
