package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
)

// do is what a generator or a person asks for.
func (w *world) do(d Deed) {
	switch d.Verb {
	case Enqueue:
		low := w.jobs + 1
		w.jobs += int64(d.Jobs)
		w.announce(entry.Enqueued{Task: low, Share: 1, Shape: 1, Place: int64(w.drawn.IntN(3)), Low: low, High: w.jobs, Attempt: 1, User: "u"}, d.Host)
	case Withdraw:
		low := 1 + w.drawn.Int64N(max(1, w.jobs))
		if r := w.truth.rangeOf(low); r != nil {
			w.say("withdraw %d to %d", low, r.High)
			w.verb(entry.Withdrew{Task: r.Task, Low: low, High: r.High})
		}
	case Kill:
		for _, j := range slices.Sorted(maps.Keys(w.truth.jobs)) {
			if l := w.truth.jobs[j].lease; l != nil {
				w.say("kill %d", j)
				w.verb(entry.Revoked{Job: j, Attempt: l.Attempt, Reason: "killed", GraceS: 1})
				return
			}
		}
	}
}

// verb asks once; nothing depends on whether it is done.
func (w *world) verb(e entry.Entry) {
	w.call(w.hosts[w.drawn.IntN(len(w.hosts))], lease.Ask{Commit: []entry.Entry{e}}, patience, func(lease.Answer, bool) {})
}

// announce has a range enqueued, exactly once. An ask that was not answered holds until a time of the log: once that has come, the tables say
// whether the range is there.
func (w *world) announce(e entry.Enqueued, host int) {
	w.open++
	until := w.truth.now().Add(1500 * time.Millisecond)
	var look func()
	look = func() {
		switch {
		case w.truth.rangeOf(e.Low) != nil:
			w.open--
		case w.truth.now().After(until):
			w.open--
			w.announce(e, -1)
		default:
			w.after(200*time.Millisecond, look)
		}
	}
	lost := w.tables.lost
	if host < 0 {
		host = w.drawn.IntN(len(w.hosts))
	}
	w.call(w.hosts[host], lease.Ask{Until: until, Commit: []entry.Entry{e}}, time.Second, func(a lease.Answer, ok bool) {
		switch {
		case ok && a.Status == lease.Done && w.truth.rangeOf(e.Low) == nil && lost == w.tables.lost:
			w.violate("the announcement of %+v was answered and is not in the log", e)
		case ok && a.Status == lease.Refused:
			w.violate("the announcement of %+v was refused: %v", e, a.Err)
		}
		look()
	})
}

// begin writes what every log begins with.
func (w *world) begin() {
	first := entry.Batch{Seq: 1, ID: w.id(), Entries: w.first}
	at, err := w.append(first)
	if err == nil {
		_, err = w.append(entry.Batch{Seq: 2, ID: w.id(), After: first.ID, Entries: []entry.Entry{entry.Tick{Now: at}}})
	}
	if err != nil {
		w.violate("the first batches: %v", err)
	}
}
