package replay

import (
	"iter"
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
	instead map[int64]occupant        // by job that the log gave a slot; absent: the same job has it
	waits   map[int64]returning       // by job that the log has waiting
	had     map[int64][]entry.Granted // what the pulls of the batch were given here, by the seeds of their secrets
	at      int                       // entries of the batch that it has followed
}

// occupant is who has a slot instead of a job of a task.
type occupant struct{ job, task int64 } // job 0: none

// returning says how the job comes back that had the slot of a job of a task; of job 0: none had.
type returning struct {
	entry.Enqueued
	task int64
}

func newRival(m *machine.Machine, site shares.Version) *rival {
	return &rival{machine: m, site: site, instead: map[int64]occupant{}, waits: map[int64]returning{}, had: map[int64][]entry.Granted{}}
}

// adopt puts the other site in force, its queues in the states of those that are in force.
func (r *rival) adopt(now shares.Version) error {
	v := r.site
	v.Queues = slices.Clone(v.Queues)
	for i := range v.Queues {
		if q := now.Queue(v.Queues[i].ID); q.ID != 0 {
			v.Queues[i].State = q.State
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

// finish follows what is left of the batch.
func (r *rival) finish(entries []entry.Entry) {
	r.follow(entries[r.at:])
	r.at = 0
	clear(r.had)
}

// follow counts entries. What the rival refuses is about jobs that are in another state here, and is left out.
func (r *rival) follow(entries []entry.Entry) {
	for _, e := range entries {
		switch e := e.(type) {
		case entry.Granted, entry.Took, entry.Started, entry.Lasting, entry.Wished, entry.Heard, entry.Revoked: // grants are decided; nothing follows from the others
		case entry.Adopted:
			_ = r.adopt(*e.Site)
		case entry.Ended:
			r.end(e)
		case entry.Enqueued:
			r.enqueue(e)
		case entry.Closed:
			r.gone(e, e.Task, e.Low, e.High)
		case entry.Killed:
			r.gone(e, e.Task, e.Low, e.High)
		default:
			_ = r.machine.Apply(e)
		}
	}
}

func (r *rival) end(e entry.Ended) {
	has, other := r.instead[e.Job]
	delete(r.instead, e.Job)
	if !other {
		has.job = e.Job
	}
	l, ok := r.machine.Lease(has.job)
	if !other {
		has.task = l.Task
	}
	waits := e.Next == entry.Waits
	switch {
	case !ok: // no job had the slot
		if waits {
			r.waits[e.Job] = returning{task: has.task}
		}
		return
	case l.Killed && !e.Next.Final():
		e.Next = entry.Undone
	case other && !l.Killed && (e.Next == entry.Undone || e.Outcome == entry.Cancelled):
		e.Next = entry.Again // this job was not cancelled
	}
	if waits {
		r.waits[e.Job] = returning{entry.Enqueued{Task: l.Task, Share: l.Home, Shape: l.Shape, Place: l.Place, Low: has.job, High: has.job,
			Attempt: l.Attempt + 1, User: l.User}, has.task}
	}
	e.Job, e.Attempt = has.job, l.Attempt
	_ = r.machine.Apply(e)
}

// enqueue has jobs come: new ones, and instead of those that come back the ones that had their slots.
func (r *rival) enqueue(e entry.Enqueued) {
	_ = r.machine.Apply(e)
	for id, back := range r.waiting(e.Task, e.Low, e.High) {
		one := back.Enqueued
		if one.Low == id { // what the log says of it now holds, but for its attempt
			one = e
			one.Low, one.High, one.Attempt = id, id, back.Attempt
		}
		_ = r.machine.Apply(one)
	}
}

// waiting takes out the jobs of a task that wait in the log, with how those come back that had their slots.
func (r *rival) waiting(task, low, high int64) iter.Seq2[int64, returning] {
	return func(yield func(int64, returning) bool) {
		give := func(id int64) bool {
			back, ok := r.waits[id]
			if !ok || back.task != task {
				return true
			}
			delete(r.waits, id)
			return back.Low == 0 || yield(id, back)
		}
		if high-low < int64(len(r.waits)) {
			for id := low; id <= high && give(id); id++ {
			}
			return
		}
		for id := range r.waits {
			if low <= id && id <= high && !give(id) {
				return
			}
		}
	}
}

// gone follows a kill of jobs that wait in the log. Closed ends the jobs that had their slots; after Killed these come back.
func (r *rival) gone(e entry.Entry, task, low, high int64) {
	_ = r.machine.Apply(e)
	for id, back := range r.waiting(task, low, high) {
		switch e.(type) {
		case entry.Closed:
			_ = r.machine.Apply(entry.Closed{Task: back.Task, Low: back.Low, High: back.High})
		case entry.Killed:
			if back.Low != id {
				_ = r.machine.Apply(back.Enqueued)
			}
		}
	}
}

// decide gives a slot of the log to whom the other site says; a reason where what happened stands. now is the machine of the log. tell: how
// shares stand is wanted too.
func (r *rival) decide(t *Turn, now *machine.Machine, tell bool) (o score.Outcome, why score.Reason) {
	holds, gang, _ := now.Claims(t.Grant.Job)
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
		if l = r.machine.Look(p, r.had[p.Nonce]); l.Verdict == machine.Given {
			if holds, _, _ := r.machine.Claims(l.Grant.Job); holds {
				why = score.Claimed
			}
		}
	}
	switch {
	case why != "":
		r.stand(t)
		return o, why
	case l.Verdict != machine.Given:
		r.instead[t.Grant.Job] = occupant{task: t.Grant.Task}
		return o, ""
	}
	o = outcome(r.machine, l, t.Grant.Job)
	if o.Other = false; tell && o.Share != t.Grant.Share {
		o.Held = r.held(o.Share, t.Grant.Queue)
	}
	if r.give(l.Grant, t) != nil {
		r.instead[t.Grant.Job] = occupant{task: t.Grant.Task}
	}
	return o, ""
}

// held is what a share holds in the pool of a queue, in units.
func (r *rival) held(share shares.ShareID, queue shares.QueueID) float64 {
	v := r.machine.View()
	node, there := v.Site.Tree.ByID(share)
	p, ok := v.Pool(v.Site.Queue(queue).Pool)
	if !there || !ok {
		return 0
	}
	return p.Book.Held(node).Float()
}

// give counts a grant for a slot of the log.
func (r *rival) give(g entry.Granted, t *Turn) error {
	if err := r.machine.Apply(g); err != nil {
		return err
	}
	if g.Job != t.Grant.Job {
		r.instead[t.Grant.Job] = occupant{g.Job, t.Grant.Task}
	}
	r.had[t.Pull.Nonce] = append(r.had[t.Pull.Nonce], g)
	return nil
}

// stand grants what the log does, where that is possible; else no job has the slot.
func (r *rival) stand(t *Turn) {
	if t.Took != nil {
		_ = r.machine.Apply(*t.Took)
	}
	if r.give(t.Grant, t) != nil {
		r.instead[t.Grant.Job] = occupant{task: t.Grant.Task}
	}
}
