package sim

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// started is the machine of a start: half of them are made of what tables have, as production makes all of them, and go on from there.
func (t *Tables) started(host int) lease.Reloaded {
	r := t.Machine(t.Folded)
	if m, ok := r.Machine.(*machine.Machine); ok && r.Err == nil && (int(t.Folded)+host)%2 == 0 && m.Site().Number > 0 {
		r.Machine, r.Err = t.restored(m, func(*machine.Checkpoint) {})
	}
	return r
}

// restored is a machine that is made of what another one knows, but for what lack takes away.
func (t *Tables) restored(m *machine.Machine, lack func(*machine.Checkpoint)) (*machine.Machine, error) {
	c := m.Checkpoint()
	lack(&c)
	byID := func(a, b entry.Shaped) int { return cmp.Compare(a.Shape, b.Shape) }
	r, err := machine.Restore(config, c, *t.sites[c.Version-1], slices.SortedFunc(m.Shapes(), byID))
	if err != nil {
		return nil, err
	}
	waiting := map[int64]bool{}
	var ranges []entry.Enqueued
	for e, waits := range m.Ranges() {
		ranges, waiting[e.Low] = append(ranges, e), waits
	}
	slices.SortFunc(ranges, func(a, b entry.Enqueued) int { return cmp.Compare(a.Low, b.Low) })
	for _, e := range ranges {
		take := r.Ready
		if waiting[e.Low] {
			take = r.Waiting
		}
		err = errors.Join(err, take(e))
	}
	since := t.since(m)
	for _, l := range slices.SortedFunc(m.Leases(), func(a, b machine.Lease) int { return cmp.Compare(a.Job, b.Job) }) {
		l.Home, l.Killed, l.Idle = 0, false, false // the checkpoint says so
		err = errors.Join(err, r.Lease(l, since[l.Job]))
	}
	made, failed := r.Done()
	return made, errors.Join(err, failed)
}

// since is when the leases of a machine began to run, or were granted where they do not run yet.
func (t *Tables) since(m *machine.Machine) map[int64]time.Time {
	var now time.Time
	seq, _ := m.Stand()
	at := map[int64]time.Time{}
	for _, b := range t.batches(seq) {
		for _, e := range b.Entries {
			switch e := e.(type) {
			case entry.Tick:
				now = e.Now
			case entry.Granted:
				at[e.Job] = now
			case entry.Started:
				at[e.Job] = now
			}
		}
	}
	return at
}
