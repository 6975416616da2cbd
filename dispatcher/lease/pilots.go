package lease

import (
	"cmp"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// renew keeps leases alive. Kept and lost are both answers that a newer leader could contradict.
func (l *leader) renew(a *Ask) {
	out := make([]Renewed, len(a.Renew))
	for i, r := range a.Renew {
		lease, ok := l.live(r.Key)
		if !ok {
			continue
		}
		l.leases.prolong(r.Key.Job, l.now+cmp.Or(r.TTL, l.cfg.Timing.TTL))
		l.words.note(&r, l.now)
		l.renewed++
		out[i] = Renewed{Kept: true, Order: lease.Order}
		ttl := int32((r.TTL + time.Second - 1) / time.Second)
		switch known := l.leases.own[r.Key.Job]; {
		case r.Started && !lease.Started:
			l.must(l.add(entry.Started{Job: r.Key.Job, Attempt: r.Key.Attempt, TTLS: ttl}))
		case ttl != known && (known > 0 || r.TTL > l.cfg.Timing.TTL):
			l.must(l.add(entry.Lasting{Job: r.Key.Job, Attempt: r.Key.Attempt, TTLS: ttl}))
		}
	}
	l.hold(held{call: a.Call, answer: Answer{Renewed: out}})
}

// looked is an ask about ends that this daemon does not remember.
type looked struct {
	ask  *Ask
	out  []Recorded
	open []int // of them, those that the tables are asked about
}

// finish ends leases. An end that was said before is answered as it was then; of two different words on one attempt the first counts.
func (l *leader) finish(a *Ask) {
	w := &looked{ask: a, out: make([]Recorded, len(a.Finish))}
	var keys []Key
	sure := true
	for i, e := range a.Finish {
		if lease, ok := l.live(e.Key); ok {
			w.out[i] = l.endLease(lease, e)
			continue
		}
		sure = false
		if end, ok := l.recent.ends[e.Key]; ok {
			w.out[i] = Recorded{same(end.outcome, e.Outcome), end.outcome, end.next}
			continue
		}
		w.open, keys = append(w.open, i), append(keys, e.Key)
	}
	if len(keys) == 0 {
		l.hold(held{call: a.Call, answer: Answer{Verdicts: w.out}, sure: sure})
		return
	}
	l.looks[a.Call] = w
	l.emit(Look{a.Call, keys})
}

func (l *leader) endLease(lease machine.Lease, e End) Recorded {
	ended := entry.Ended{Job: lease.Job, Attempt: lease.Attempt, Outcome: e.Outcome, ExitCode: e.ExitCode, CPUMilli: e.CPUMilli, MemoryMB: e.MemoryMB}
	ended = l.cfg.End(lease, ended)
	if err := l.add(ended); err != nil {
		l.must(err)
		return Recorded{}
	}
	delete(l.words, lease.Job)
	l.next.ends++
	l.counted.End(lease.Share, lease.Queue, ended.Outcome)
	if e.Text != nil {
		t := *e.Text
		t.Job, t.Attempt = lease.Job, lease.Attempt
		l.next.beside.Texts = append(l.next.beside.Texts, t)
		l.next.texts += t.Size()
	}
	return Recorded{true, ended.Outcome, ended.Next}
}

// same says whether what was recorded is what is said. One that was told to give its units back says cancelled or failed and is recorded as returned.
func same(recorded, said entry.Outcome) bool {
	return recorded == said || recorded == entry.Returned && (said == entry.Cancelled || said == entry.Failed)
}

// lookedUp completes an answer with what the tables say. They are asked only about what this daemon does not remember, and they have all that it has forgotten.
func (l *leader) lookedUp(e Looked) {
	w := l.looks[e.Call]
	if w == nil {
		return
	}
	delete(l.looks, e.Call)
	if e.Err != nil || len(e.Ended) != len(w.open) {
		l.answer(e.Call, Answer{Status: Unavailable})
		return
	}
	for n, i := range w.open {
		found := e.Ended[n]
		w.out[i] = Recorded{found.Is && same(found.Outcome, w.ask.Finish[i].Outcome), found.Outcome, found.Next}
	}
	l.hold(held{call: e.Call, answer: Answer{Verdicts: w.out}})
}

// expire ends leases whose pilots are silent. It does so only while this daemon can hear them: see invariant 6.
func (l *leader) expire() {
	if !l.fresh() {
		return
	}
	room := l.cfg.Bounds.Expiries - l.next.lost
	if room <= 0 {
		return // the commit of what is in flight makes room, and is a step
	}
	for _, job := range l.leases.over(l.now, 0, room) {
		if lease, ok := l.machine.Lease(job); ok {
			l.next.lost++
			l.counted.Expired++
			l.endLease(lease, End{Key: keyOf(lease), Outcome: entry.Lost})
		}
	}
	l.wakeBy(l.leases.wake())
}

func compareCalls(a, b Call) int {
	return cmp.Or(cmp.Compare(a.Daemon, b.Daemon), cmp.Compare(a.Number, b.Number))
}
