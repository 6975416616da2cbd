package resource

import "time"

// Recent remembers how much was granted of late, to tell what a report from outside has seen of it.
type Recent struct {
	grants []mark
	units  int64
}

// Add notes a grant.
func (r *Recent) Add(now time.Time, units int64) {
	if n := len(r.grants); n > 0 && now.Sub(r.grants[n-1].since) < time.Second {
		r.grants[n-1].units += units // at most a second younger than its mark says
	} else {
		r.grants = append(r.grants, mark{now, units})
	}
	r.units += units
}

// Settled is how many of the units held have been so for longer than settle, to the second. Of what was granted of late some may
// have ended: then it is less than the truth, and more counts as used by others, never less. Where all jobs are longer
// than settle, or all shorter, it is exact.
func (r *Recent) Settled(held int64, now time.Time, settle time.Duration) int64 {
	for len(r.grants) > 0 && now.Sub(r.grants[0].since) > settle+time.Second {
		r.units -= r.grants[0].units
		r.grants = r.grants[1:]
	}
	return max(0, held-r.units)
}
