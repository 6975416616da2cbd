package replay

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
	score "github.com/divvyhq/divvy/shares/replay"
)

// rival is the machine that there would be under another site. What the log says of the job that really had a slot is here about the
// job that has it instead.
type rival struct {
	machine *machine.Machine
	site    shares.Version
	instead map[int64]int64          // by job that the log gave a slot: who has it here; 0: nobody. Absent: the same job
	waits   map[int64]entry.Enqueued // by job that the log has waiting: how the one comes back that had its slot; of job 0: nobody had
	had     []entry.Granted          // what the pull was given here
	at      int                      // entries of the batch that it has followed
	turns   int                      // of had: grants of the log that it is for
}

func newRival(m *machine.Machine, site shares.Version) *rival {
	return &rival{machine: m, site: site, instead: map[int64]int64{}, waits: map[int64]entry.Enqueued{}}
}

// adopt puts the other site in force, its queues in the states of those that are in force.
func (r *rival) adopt(now shares.Version) error {
	v := r.site
	v.Queues = slices.Clone(v.Queues)
	for i := range v.Queues {
		for _, q := range now.Queues {
			if q.ID == v.Queues[i].ID {
				v.Queues[i].State = q.State
			}
		}
	}
	return r.machine.Apply(entry.Adopted{Number: v.Number, Site: &v})
}

// catchUp follows the entries of the batch up to a grant.
func (r *rival) catchUp(entries []entry.Entry, t *Turn) {
	for i, e := range entries[r.at:] {
		if g, ok := e.(entry.Granted); ok && g.Job == t.Grant.Job {
			r.follow(entries[r.at : r.at+i])
			r.at += i + 1
			return
		}
	}
}

// follow counts entries. What the rival refuses is about jobs that are in another state here, and is left out.
func (r *rival) follow(entries []entry.Entry) {
	for _, e := range entries {
		switch e := e.(type) {
		case entry.Granted, entry.Took, entry.Started, entry.Revoked: // grants are decided; nothing follows from the others
		case entry.Adopted:
			_ = r.adopt(*e.Site)
		case entry.Ended:
			r.end(e)
		case entry.Enqueued:
			r.enqueue(e)
		default:
			_ = r.machine.Apply(e)
		}
	}
}

// end ends the attempt that has the slot of the one that ended.
func (r *rival) end(e entry.Ended) {
	job, other := r.instead[e.Job]
	delete(r.instead, e.Job)
	if !other {
		job = e.Job
	}
	l, ok := r.machine.Lease(job)
	if e.Next == entry.Waits {
		r.waits[e.Job] = entry.Enqueued{}
	}
	if !ok {
		return // nobody had the slot
	}
	if other && (e.Next == entry.Undone || e.Outcome == entry.Cancelled) {
		e.Next = entry.Again // nobody cancelled this one
	}
	if e.Next == entry.Waits {
		r.waits[e.Job] = entry.Enqueued{Task: l.Task, Share: l.Share, Shape: l.Shape, Place: l.Place, Low: job, High: job, Attempt: l.Attempt + 1, User: l.User}
	}
	e.Job, e.Attempt = job, l.Attempt
	_ = r.machine.Apply(e)
}

// enqueue has jobs come: new ones, and instead of those that come back the ones that had their slots.
func (r *rival) enqueue(e entry.Enqueued) {
	if (e.Attempt == 1 || len(r.waits) == 0) && r.machine.Apply(e) == nil {
		return
	}
	for id := e.Low; id <= e.High; id++ {
		one, back := e, r.waits[id]
		one.Low, one.High = id, id
		if _, waited := r.waits[id]; waited && back.Low != id { // else it was this job, and what the log says now holds
			one = back
		}
		if delete(r.waits, id); one.Low != 0 {
			_ = r.machine.Apply(one)
		}
	}
}

// decide gives a slot of the log to whom the other site says; a reason where what happened stands. now is the machine of the log. tell: how
// shares stand is wanted too.
func (r *rival) decide(t *Turn, now *machine.Machine, tell bool) (o score.Outcome, why score.Reason) {
	if len(t.Had) == 0 {
		r.had = r.had[:0]
	}
	holds, gang := now.Claims(t.Grant.Job)
	switch {
	case gang:
		why = score.Gang
	case holds:
		why = score.Claimed
	case !t.Known:
		why = score.Unasked
	}
	var l machine.Look
	if why == "" {
		p := t.Pull
		p.Contests = tell
		if l = r.machine.Look(p, r.had); l.Verdict == machine.Given {
			if holds, _ := r.machine.Claims(l.Grant.Job); holds {
				why = score.Claimed
			}
		}
	}
	switch {
	case why != "":
		r.stand(t)
		return o, why
	case l.Verdict != machine.Given:
		r.instead[t.Grant.Job] = 0
		return o, ""
	}
	o = outcome(r.machine, l, t.Grant.Job)
	if o.Other = false; tell && o.Share != t.Grant.Share {
		o.Held = r.held(o.Share, t.Grant.Queue)
	}
	if r.give(l.Grant, t.Grant.Job) != nil {
		r.instead[t.Grant.Job] = 0
	}
	return o, ""
}

// held is what a share holds in the pool of a queue, in units.
func (r *rival) held(share shares.ShareID, queue shares.QueueID) float64 {
	v := r.machine.View()
	node, ok := v.Site.Tree.ByID(share)
	for _, q := range v.Site.Queues {
		if p, is := v.Pool(q.Pool); ok && is && q.ID == queue {
			return p.Book.Held(node).Float()
		}
	}
	return 0
}

// give counts a grant for the slot of a job of the log.
func (r *rival) give(g entry.Granted, slot int64) error {
	if err := r.machine.Apply(g); err != nil {
		return err
	}
	if g.Job != slot {
		r.instead[slot] = g.Job
	}
	r.had = append(r.had, g)
	return nil
}

// stand grants what the log does, where that can be; else nobody has the slot.
func (r *rival) stand(t *Turn) {
	if t.Took != nil {
		_ = r.machine.Apply(*t.Took)
	}
	if r.give(t.Grant, t.Grant.Job) != nil {
		r.instead[t.Grant.Job] = 0
	}
}
