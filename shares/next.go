package shares

import "time"

// NextChange is the first moment after t at which other plans come into force than at t; false if none ever does.
// Clocks that are set forward or back are part of it.
func (t *Tree) NextChange(now time.Time) (next time.Time, ok bool) {
	for i := range t.Nodes {
		for _, w := range t.Nodes[i].Plan.Windows {
			when, err := ParseWhen(w.When)
			if err != nil {
				continue
			}
			if at, changes := when.Next(now); changes && (!ok || at.Before(next)) {
				next, ok = at, true
			}
		}
	}
	return next, ok
}

// Next is the first moment after t at which the span begins or ends; false for one that has no end.
func (w When) Next(t time.Time) (next time.Time, ok bool) {
	in := w.Contains(t)
	for _, at := range w.edges(t) {
		if at.After(t) && (!ok || at.Before(next)) && w.Contains(at) != in {
			next, ok = at, true
		}
	}
	return next, ok
}

// edges are the moments of the week to come at which the span may begin or end: its hours on each day, by every
// offset from UTC that the zone has meanwhile, and the moments at which that offset changes.
func (w When) edges(t time.Time) (list []time.Time) {
	const days = 9
	offsets := map[int]bool{}
	for at, end := t, t.AddDate(0, 0, days); ; {
		_, offset := at.In(w.zone).Zone()
		offsets[offset] = true
		_, change := at.In(w.zone).ZoneBounds()
		if change.IsZero() || change.After(end) {
			break
		}
		list = append(list, change)
		at = change
	}
	local := t.In(w.zone)
	for d := -1; d < days; d++ {
		for _, minute := range []int{w.from, w.to} {
			wall := time.Date(local.Year(), local.Month(), local.Day()+d, 0, minute, 0, 0, time.UTC)
			for offset := range offsets {
				list = append(list, wall.Add(-time.Duration(offset)*time.Second))
			}
		}
	}
	return list
}
