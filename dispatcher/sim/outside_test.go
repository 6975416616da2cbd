package sim

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// disk is the claim that people make: jobs of all tasks may hold it.
const disk = int64(1) << 30

// made says whether the tables have it that people made the claim, and deleted it not since. What was refused is not made.
func (w *world) made() (is bool) {
	for _, r := range w.rowsThere() {
		for _, e := range r.entries {
			switch e := e.(type) {
			case entry.Claimed:
				is = is || e.Claim == disk && !e.Missing && w.tables.Log.RowFate(r.id).Refused == ""
			case entry.Unclaimed:
				is = is && e.Claim != disk
			}
		}
	}
	return is
}

// makeDisk makes the claim, where there is none.
func (w *world) makeDisk(d Deed) {
	if w.tables.away > 0 || w.made() {
		return
	}
	e := entry.Claimed{Claim: disk, Key: "disk", Queue: queueID(d.Jobs % 2), Node: nodesOf[d.Jobs/2%3],
		Template: shares.ClaimTemplate{Name: "disk", MaxSharers: d.Claim.Sharers}}
	if e.Node != "" && d.Claim.Devices > 0 {
		e.Devices = devicesOf[1:]
	}
	w.write(&rowTruth{entries: []entry.Entry{e}, maybe: true}, d.Host) // what it needs may be held
}

// deleteDisk deletes it.
func (w *world) deleteDisk(d Deed) {
	if w.tables.away == 0 && w.made() {
		w.write(&rowTruth{entries: []entry.Entry{entry.Unclaimed{Claim: disk}}}, d.Host)
	}
}

// insist has people make the claim again and again as long as jobs may wait for it.
func (w *world) insist() {
	if !slices.ContainsFunc(w.plan.Deeds, func(d Deed) bool { return d.Claim.Outside }) {
		return
	}
	if w.now < w.plan.Span+settling {
		w.makeDisk(Deed{Host: -1})
		w.after(renewEvery, w.insist)
	}
}

// waitsForDisk says that jobs wait for the claim, where the tables do not have that people made it.
func (w *world) waitsForDisk(entries []entry.Entry) []entry.Entry {
	is := func(e entry.Entry) bool { c, ok := e.(entry.Claimed); return ok && c.Claim == disk && c.Missing }
	if slices.ContainsFunc(entries, is) && w.made() {
		entries = slices.DeleteFunc(slices.Clone(entries), is)
	}
	return entries
}

// madeOutside is what the log says of claims that people make.
func (t *truth) madeOutside(e entry.Claimed) {
	c := t.claims.by[e.Claim]
	if c == nil {
		c = &claimTruth{made: e, holders: map[int64]bool{}}
		t.claims.by[e.Claim] = c
	} else if e.Missing {
		return
	}
	if c.state != pending {
		t.violate("people make claim %d, which is there", e.Claim)
	}
	if c.made, c.deleted = e, c.deleted && e.Missing; e.Missing {
		return
	}
	c.state, c.queue, c.node, c.devices = bound, e.Queue, e.Node, e.Devices
	t.takeDevices(c)
}

// goneOutside has the claim be nowhere, once it is deleted and nobody holds it. It is forgotten once no job waits for it.
func (t *truth) goneOutside(c *claimTruth) {
	if !c.deleted || len(c.holders) > 0 {
		return
	}
	t.freeDevices(c)
	c.state, c.queue, c.node, c.devices = pending, 0, "", nil
	c.made = entry.Claimed{Claim: c.made.Claim, Key: c.made.Key, Missing: true}
	if c.jobs == 0 {
		delete(t.claims.by, c.made.Claim)
	}
}
