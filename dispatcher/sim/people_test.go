package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
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
			w.write(rowTruth{task: r.Task, entries: []entry.Entry{entry.Killed{Task: r.Task, Low: low, High: r.High, Reason: "killed", GraceS: 1}}}, d.Host)
		}
	case Kill:
		for _, j := range slices.Sorted(maps.Keys(w.truth.jobs)) {
			if l := w.truth.jobs[j].lease; l != nil {
				w.say("kill %d", j)
				e := entry.Revoked{Job: j, Attempt: l.Attempt, Reason: "killed", GraceS: 1}
				w.write(rowTruth{task: l.Task, entries: []entry.Entry{e}}, d.Host)
				return
			}
		}
	case Err:
		r := rowTruth{wrong: true, entries: []entry.Entry{entry.Started{Job: 1 << 40, Attempt: 1}}}
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
	jobs := func(n int) entry.Entry {
		low := w.jobs + 1
		w.jobs += int64(n)
		return entry.Enqueued{Task: task, Share: 1, Shape: 1, Place: place, Low: low, High: w.jobs, Attempt: 1, User: "u"}
	}
	first := rowTruth{task: task, entries: []entry.Entry{jobs(d.Jobs)}}
	if w.drawn.IntN(3) == 0 {
		first.entries = append(first.entries, jobs(1))
	}
	w.write(first, d.Host)
	if w.drawn.IntN(2) == 0 {
		w.after(upTo(w.delays, 20*time.Millisecond), func() { w.write(rowTruth{task: task, entries: []entry.Entry{jobs(1 + d.Jobs/2)}}, d.Host) })
	}
}

// write commits a row of the outbox as soon as the database is there, and tells a daemon now and then.
func (w *world) write(r rowTruth, host int) {
	if w.tables.away > 0 {
		w.unwritten++
		w.after(300*time.Millisecond, func() {
			w.unwritten--
			w.write(r, host)
		})
		return
	}
	id := w.tables.Log.Write(r.entries...)
	w.truth.rows[id] = &r
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
	first := entry.Batch{Seq: 1, ID: w.id(), Entries: w.first}
	at, err := w.append(first, ledger.Beside{})
	if err == nil {
		_, err = w.append(entry.Batch{Seq: 2, ID: w.id(), After: first.ID, Entries: []entry.Entry{entry.Tick{Now: at}}}, ledger.Beside{})
	}
	if err != nil {
		w.violate("the first batches: %v", err)
	}
}
