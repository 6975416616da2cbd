package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// claiming makes the claims of a task as its jobs are made.
type claiming struct {
	*world
	Claiming
	task  int64
	user  string
	all   int64 // claim of all jobs; 0: there is none yet
	group int64 // of the newest group
	room  int   // jobs that it may yet get
}

func (w *world) claimsOf(d *Deed, task int64) *claiming {
	return &claiming{world: w, Claiming: d.Claim, task: task, user: users[d.User]}
}

// of says which claims jobs hold that are about to be announced. A group that is not full gets its jobs first.
func (c *claiming) of(jobs entry.Enqueued) (entries []entry.Entry) {
	if c.Group == 0 {
		return nil
	}
	if c.All {
		node := shares.ClaimTemplate{Name: "all", Node: c.Node, Linger: c.Linger}
		entries = append(entries, c.claimed(&c.all, node, jobs.Jobs()))
	}
	if c.Outside {
		entries = append(entries, entry.Claimed{Claim: disk, Key: "disk", Missing: true, Template: shares.ClaimTemplate{Name: "disk"}})
	}
	for low := jobs.Low; low <= jobs.High; {
		if c.room == 0 || c.scaled[c.group] {
			c.group, c.room = 0, c.Group
		}
		high := min(jobs.High, low+int64(c.room)-1)
		entries = append(entries, c.claimed(&c.group, c.template(), high-low+1))
		joined := entry.Joined{Task: c.task, Low: low, High: high, Claims: []int64{c.group}}
		if c.All {
			joined.Claims = append(joined.Claims, c.all)
		}
		if c.Outside {
			joined.Claims = append(joined.Claims, disk)
		}
		entries = append(entries, joined)
		c.room -= int(high - low + 1)
		low = high + 1
	}
	return entries
}

// claimed has so many jobs more hold a claim, which is made if there is none.
func (c *claiming) claimed(id *int64, t shares.ClaimTemplate, jobs int64) entry.Entry {
	if *id == 0 {
		c.nClaim++
		*id = c.nClaim
		jobs += int64(c.spareOf(*id))
	}
	return entry.Claimed{Claim: *id, Task: c.task, Key: fmt.Sprintf("%s %d", t.Name, *id), Jobs: int(jobs), Template: t, SharingID: c.user}
}

// missing has claims be without the templates that the site does not have as long as the second version is not applied.
func (w *world) missing(entries []entry.Entry) {
	for i, e := range entries {
		c, ok := e.(entry.Claimed)
		if ok && strings.HasPrefix(c.Template.Name, "late") && !w.adopting.there(w) {
			c.Missing, c.Template = true, shares.ClaimTemplate{Name: c.Template.Name}
			entries[i] = c
		}
	}
}

// scaleAway ends the claim of a group with the jobs that hold it: those that run go on to their end, and are not tried again.
func (w *world) scaleAway(d Deed) {
	if w.tables.away > 0 || w.unwritten > 0 { // who does it sees all jobs of the task
		return
	}
	for _, id := range slices.Sorted(maps.Keys(w.truth.claims.by)) {
		c := w.truth.claims.by[id]
		if c.made.Template.Name == "all" || c.made.Outside() || w.scaled[id] {
			continue
		}
		w.say("scale claim %d away", id)
		w.scaled[id] = true
		r := &rowTruth{task: c.made.Task}
		for _, row := range w.rowsThere() {
			for _, e := range row.entries {
				if j, ok := e.(entry.Joined); ok && slices.Contains(j.Claims, id) {
					r.entries = append(r.entries, entry.Killed{Task: j.Task, Low: j.Low, High: j.High, Reason: "scaled", GraceS: 1, Idle: true})
				}
			}
		}
		r.entries = append(r.entries, entry.Unclaimed{Claim: id})
		w.write(r, d.Host)
		return
	}
}

// rowsThere are all rows that were written and that no failover lost, in their order.
func (w *world) rowsThere() (list []*rowTruth) {
	for _, id := range slices.Sorted(maps.Keys(w.truth.rows)) {
		if r := w.truth.rows[id]; r.there(w) {
			list = append(list, r)
		}
	}
	return list
}
