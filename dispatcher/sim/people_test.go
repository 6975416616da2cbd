package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/shares"
)

// do is what a generator or a person wants.
func (w *world) do(d Deed) {
	switch d.Verb {
	case Enqueue:
		w.enqueue(d)
	case Withdraw:
		low := 1 + w.drawn.Int64N(max(1, w.jobs))
		if r := w.truth.rangeOf(low); r != nil {
			w.say("withdraw %d to %d", low, r.High)
			w.write(&rowTruth{task: r.Task, entries: []entry.Entry{entry.Killed{Task: r.Task, Low: low, High: r.High, Reason: "killed", GraceS: 1}}}, d.Host)
		}
	case Kill:
		for _, j := range slices.Sorted(maps.Keys(w.truth.jobs)) {
			if l := w.truth.jobs[j].lease; l != nil {
				w.say("kill %d", j)
				e := entry.Revoked{Job: j, Attempt: l.Attempt, Reason: "killed", GraceS: 1}
				w.write(&rowTruth{task: l.Task, entries: []entry.Entry{e}}, d.Host)
				return
			}
		}
	case Hold, Resume:
		w.verb(d)
	case Move:
		if len(w.plan.Shares) > 0 {
			w.move(d)
		}
	case ScaleAway:
		w.scaleAway(d)
	case Adopt:
		if w.plan.Later != nil && w.tables.away == 0 {
			w.applyLater(d.Host)
		}
	case Return:
		if w.plan.Third != nil && w.tables.away == 0 && w.adopting.there(w) {
			w.applyThird(d.Host)
		}
	case Report:
		w.report(d)
	case Place:
		w.place(d)
	case Make, Delete:
		switch {
		case !w.plan.Claims:
		case d.Verb == Make:
			w.makeDisk(d)
		default:
			w.deleteDisk(d)
		}
	case Cap:
		if w.plan.Units > 0 && w.tables.away == 0 {
			w.say("there are %d units", d.Units)
			w.write(&rowTruth{entries: []entry.Entry{entry.Capped{Capacities: []entry.Capacity{{Name: licence, Units: d.Units}}}}}, d.Host)
		}
	case Err:
		r := &rowTruth{wrong: true, entries: []entry.Entry{entry.Started{Job: 1 << 40, Attempt: 1}}}
		if w.jobs++; d.Jobs > 0 { // the first entry is right
			r.entries = []entry.Entry{entry.Enqueued{Task: w.jobs, Share: 1, Shape: 1, Low: w.jobs, High: w.jobs, Attempt: 1, User: "u"}, r.entries[0]}
		}
		w.write(r, d.Host)
	}
}

// enqueue makes jobs of a task, by one transaction or two.
func (w *world) enqueue(d Deed) {
	task := w.jobs + 1
	place := int64(w.drawn.IntN(3))
	e := entry.Enqueued{Task: task, Share: shares.ShareID(max(1, d.Share)), Shape: shapeOf(d.Units, d.User), Place: place, Attempt: 1, User: users[d.User]}
	jobs := func(n int) entry.Entry {
		e.Low = w.jobs + 1
		w.jobs += int64(n)
		e.High = w.jobs
		return e
	}
	first := &rowTruth{task: task, entries: []entry.Entry{jobs(d.Jobs)}}
	c := w.claimsOf(&d, task)
	first.entries = append(c.of(e), first.entries...)
	if w.drawn.IntN(3) == 0 {
		more := jobs(1)
		first.entries = append(append(first.entries, c.of(e)...), more)
	}
	w.write(first, d.Host)
	if w.drawn.IntN(2) == 0 {
		w.after(upTo(w.delays, w.plan.between()), func() {
			e.Share = w.shareOf(task, e.Share)
			second := &rowTruth{task: task, entries: []entry.Entry{jobs(1 + d.Jobs/2)}}
			if first.there(w) { // as a transaction sees it that locks the task
				second.entries = append(c.of(e), second.entries...)
			}
			w.write(second, d.Host)
		})
	}
}

// move gives jobs of a task to another share.
func (w *world) move(d Deed) {
	r := w.truth.rangeOf(1 + w.drawn.Int64N(max(1, w.jobs)))
	if r == nil || w.tables.away > 0 || w.unwritten > 0 { // who does it sees all jobs of the task
		return
	}
	e := entry.Moved{Task: r.Task, Low: r.Task, High: w.jobs, From: shares.ShareID(d.From), Share: shares.ShareID(d.Share),
		Place: int64(w.drawn.IntN(3)), Running: d.Running}
	some := w.drawn.IntN(2) == 0 && !w.plan.Claims // who starts together is of one share
	if some {
		e.High = e.Low + w.drawn.Int64N(4)
	}
	w.say("move: %+v", e)
	w.write(&rowTruth{task: r.Task, entries: []entry.Entry{e}, moves: !some}, d.Host)
}

// shareOf is the share of a task whose first jobs are written: by the moves of all of it since then.
func (w *world) shareOf(task int64, share shares.ShareID) shares.ShareID {
	for _, r := range w.rowsThere() {
		if r.task == task && r.moves {
			if m := r.entries[0].(entry.Moved); m.From == 0 || m.From == share {
				share = m.Share
			}
		}
	}
	return share
}

// applyLater applies the second version of the site.
func (w *world) applyLater(host int) {
	w.say("version 2 of the site is applied")
	w.adopting = &rowTruth{entries: []entry.Entry{entry.Adopted{Number: 2}}}
	w.write(w.adopting, host)
}

// relent has all that people withheld be there in the end.
func (w *world) relent() {
	if w.plan.Later != nil && !w.adopting.there(w) {
		w.applyLater(-1)
	}
	if w.plan.Third != nil && !w.back.there(w) {
		w.applyThird(-1)
	}
	if w.plan.Units > 0 {
		w.write(&rowTruth{entries: []entry.Entry{entry.Capped{}}}, -1)
	}
	w.insist()
	w.resumeAll()
}

// there says whether the row was written, and no failover lost it.
func (r *rowTruth) there(w *world) bool { return r != nil && r.id > 0 && w.tables.Log.RowFate(r.id).Is }

// write commits a row of the outbox as soon as the database is there, and tells a daemon now and then.
func (w *world) write(r *rowTruth, host int) {
	if w.tables.away > 0 {
		w.unwritten++
		w.after(300*time.Millisecond, func() {
			w.unwritten--
			w.write(r, host)
		})
		return
	}
	w.missing(r.entries)
	r.entries = w.waitsForDisk(r.entries)
	id := w.tables.Log.Write(r.entries...)
	r.id, w.truth.rows[id] = id, r
	w.say("row %d is written: %v", id, r.entries)
	if host < 0 {
		host = w.drawn.IntN(len(w.hosts))
	}
	if h := w.hosts[host]; w.drawn.IntN(2) == 0 {
		w.after(upTo(w.delays, 5*time.Millisecond), func() { h.tell(lease.Written{}) })
	}
}

// pending is how many rows are neither in the log nor refused, or about to be written.
func (w *world) pending() int { return w.unwritten + len(w.tables.Log.Pending(1000)) }

// begin writes what every log begins with.
func (w *world) begin() {
	first := entry.Batch{Seq: 1, ID: w.id(), Entries: w.plan.first()}
	at, err := w.append(first, ledger.Beside{})
	if err == nil {
		_, err = w.append(entry.Batch{Seq: 2, ID: w.id(), After: first.ID, Entries: []entry.Entry{entry.Tick{Now: at}}}, ledger.Beside{})
	}
	if err != nil {
		w.violate("the first batches: %v", err)
	}
}
