package provision

import (
	"cmp"
	"slices"
	"time"
)

// State is where a pilot is.
type State string

// States of a pilot. Gone and lost ones leave the table.
const (
	Asked  State = "asked"  // its start command ran, or was about to
	Queued State = "queued" // the batch system lists it
	Alive  State = "alive"  // it pulled
	Gone   State = "gone"   // it was alive, or was cancelled
	Lost   State = "lost"   // it never pulled
)

// Pilot is a pilot that was asked for.
type Pilot struct {
	Name    string    `json:"name"`
	Asked   time.Time `json:"asked"`
	State   State     `json:"state"`
	Listed  bool      `json:"listed,omitempty"` // by the last list
	Stopped bool      `json:"stopped,omitempty"`
}

// Wanted is what the daemon says of the queue.
type Wanted struct{ Wanted, Keep, Alive int }

// Table is the pilots of a queue.
type Table struct {
	Pilots []Pilot
	Grace  time.Duration // until a name that is not listed is lost
	lost   int           // in a row
	until  time.Time     // no start before
}

const (
	firstPause = 10 * time.Second
	mostPause  = 30 * time.Minute
)

// Update takes over which names the batch system lists and which pilots pulled lately, and returns the pilots that left the table.
func (t *Table) Update(now time.Time, listed, seen []string) (left []Pilot) {
	is := func(names []string) map[string]bool {
		set := make(map[string]bool, len(names))
		for _, n := range names {
			set[n] = true
		}
		return set
	}
	there, pulled := is(listed), is(seen)
	kept := t.Pilots[:0]
	for _, p := range t.Pilots {
		was := p.Listed
		p.Listed = there[p.Name]
		switch {
		case pulled[p.Name] && p.State != Alive:
			p.State = Alive
			t.lost, t.until = 0, time.Time{}
		case p.Listed && p.State == Asked:
			p.State = Queued
		}
		if over := !p.Listed && (was || p.State == Queued || now.Sub(p.Asked) >= t.Grace); !over {
			kept = append(kept, p)
			continue
		}
		if p.State == Alive || p.Stopped {
			p.State = Gone
		} else {
			p.State = Lost
			t.pause(now)
		}
		left = append(left, p)
	}
	t.Pilots = kept
	return left
}

// pause counts a lost pilot. Those that are lost during a pause do not make it longer.
func (t *Table) pause(now time.Time) {
	if now.Before(t.until) {
		return
	}
	t.until = now.Add(min(firstPause<<min(t.lost, 10), mostPause))
	t.lost++
}

// Backoff returns until when nothing is started, and how many pauses there were in a row.
func (t *Table) Backoff() (until time.Time, pauses int) { return t.until, t.lost }

// Plan returns how many pilots to start now, and which of those in the batch system's queue to cancel: the newest.
func (t *Table) Plan(now time.Time, w Wanted) (start int, stop []string) {
	var waiting []Pilot
	for _, p := range t.Pilots {
		if p.State != Alive {
			waiting = append(waiting, p)
		}
	}
	// Pilots that others started count too.
	total := len(waiting) + max(len(t.Pilots)-len(waiting), w.Alive)
	if start = max(0, w.Wanted-total); t.lost > 0 {
		if start = min(start, 1); now.Before(t.until) || len(waiting) > 0 {
			start = 0
		}
	}
	over := total - max(w.Keep, w.Wanted)
	slices.SortFunc(waiting, func(a, b Pilot) int { return cmp.Or(b.Asked.Compare(a.Asked), cmp.Compare(b.Name, a.Name)) })
	for _, p := range waiting[:min(max(0, over), len(waiting))] {
		if p.State == Queued && !p.Stopped {
			stop = append(stop, p.Name)
		}
	}
	return start, stop
}
