package resource

import "time"

// kept is since when free units have been kept for IDs below their allowance: from the first refusal for a unit on. Marks
// are in the order of time.
type kept struct {
	marks []mark
	units int64 // of all marks
}

type mark struct {
	since time.Time
	units int64
}

// mostMarks bounds the list; what comes after is counted with the last one, and so kept a little less long.
const mostMarks = 128

// note marks the free units that have no mark yet.
func (k *kept) note(now time.Time, free int64) {
	more := free - k.units
	if more <= 0 {
		return
	}
	n := len(k.marks)
	if n > 0 && (n >= mostMarks || !now.After(k.marks[n-1].since)) {
		k.marks[n-1].units += more
	} else {
		k.marks = append(k.marks, mark{now, more})
	}
	k.units = free
}

// trim forgets units that are free no more, those that were kept least long first.
func (k *kept) trim(free int64) {
	for free = max(0, free); k.units > free; {
		last := &k.marks[len(k.marks)-1]
		n := min(last.units, k.units-free)
		last.units -= n
		k.units -= n
		if last.units == 0 {
			k.marks = k.marks[:len(k.marks)-1]
		}
	}
}

// use forgets units that were kept longest: one who is not below its allowance took them.
func (k *kept) use(units int64) {
	for units > 0 && k.units > 0 {
		first := &k.marks[0]
		n := min(first.units, units)
		first.units -= n
		k.units -= n
		units -= n
		if first.units == 0 {
			k.marks = k.marks[1:]
		}
	}
}

// ended is the number of units that have been kept for as long as they may be.
func (k *kept) ended(now time.Time, most time.Duration) (units int64) {
	for _, m := range k.marks {
		if now.Sub(m.since) < most {
			break
		}
		units += m.units
	}
	return units
}

// until is when so many units will have been kept for as long as they may be.
func (k *kept) until(units int64, most time.Duration) (at time.Time) {
	for _, m := range k.marks {
		at = m.since.Add(most)
		if units -= m.units; units <= 0 {
			break
		}
	}
	return at
}
