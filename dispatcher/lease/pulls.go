package lease

import (
	"container/heap"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// pull lets a pull into the line, or finds the answer that it has already.
func (l *leader) pull(a *Ask) {
	if l.line.calls[a.Call] != nil {
		return // said twice on the way
	}
	id := a.Pull.Request
	if p := l.line.asked[id]; id != (entry.ID{}) && p != nil {
		l.join(p, a)
		return
	}
	if id != (entry.ID{}) && l.recent.reused(id) {
		l.answer(a.Call, Answer{Status: Reused})
		return
	}
	if id != (entry.ID{}) {
		if leases := l.machine.Answered(id); len(leases) > 0 {
			l.hold(held{call: a.Call, answer: Answer{Leases: leases}})
			return
		}
		if _, over := l.recent.requests.all[id]; over {
			l.hold(held{call: a.Call, answer: Answer{Status: Over}})
			return
		}
	}
	l.supply.pulled(l, a.Pull)
	l.line.add(&pull{calls: []Call{a.Call}, pull: *a.Pull, since: l.now, until: l.now + a.Wait})
	if l.cfg.Watch != nil {
		l.cfg.Watch.Came(a.Pull)
	}
}

// take ends the wait of a pull.
func (l *leader) take(p *pull) {
	if p.class == nil {
		return
	}
	l.line.take(p)
	if l.cfg.Watch != nil {
		l.cfg.Watch.Went(&p.pull, l.now-p.since, p.leases)
	}
}

// join lets a repeat share the answer of a pull that waits. For how long both wait says the repeat. One that is decided is not shared: its batch may
// have been in the log before the repeat came, so it proves nothing to it.
func (l *leader) join(p *pull, a *Ask) {
	l.line.calls[a.Call] = p
	p.calls = append(p.calls, a.Call)
	p.until, p.pull.At = l.now+a.Wait, time.Time{}
	heap.Fix(&l.line.waiting, p.place)
}

// left takes back a pull whose caller went away. What it was granted is returned, unless a repeat can ask for it.
func (l *leader) left(call Call) {
	p := l.line.calls[call]
	if p == nil {
		return
	}
	delete(l.line.calls, call)
	if p.calls = slices.DeleteFunc(p.calls, func(c Call) bool { return c == call }); len(p.calls) > 0 {
		return
	}
	p.unheard = true
	l.take(p)
}

// decide gives jobs to pulls in the order of their arrival until the batch is full or nothing more can be given.
func (l *leader) decide() {
	l.line.place(l.machine.Placed())
	l.line.ease(l.machine.Eased())
	l.line.retry(l.desk)
	for p := l.line.first(); p != nil; p = l.line.first() {
		if p.pull.At.IsZero() {
			p.pull.Until = l.clock(l.now).Add(p.until - l.now)
		}
		p.pull.At = l.clock(l.now)
		ask, room := p.pull, l.cfg.Bounds.Grants-l.next.grants
		if ask.Most = min(max(1, ask.Most), l.cfg.Bounds.Grants); ask.Most > room {
			return // the next batch begins with it
		}
		beside := l.line.beside(p)
		for _, o := range beside {
			ask.Beside = append(ask.Beside, &o.pull)
		}
		ask.Contests = l.cfg.Watch != nil && l.cfg.Watch.Wants()
		d := l.machine.Decide(ask)
		l.counted.Passed += int64(d.Passed)
		if ask.Contests {
			l.cfg.Watch.Decided(&d)
		}
		l.gather(p, ask, beside, d)
		if p.class != nil {
			p.class.lacks = d.Lacked.Gate
		}
		switch {
		case p.class == nil: // it was given something
		case d.Verdict == machine.Unmade:
			l.line.sleep(l.now+l.cfg.Timing.Making, true)
		case d.Verdict == machine.Held:
			l.line.sleep(l.now+max(time.Millisecond, d.Until.Sub(ask.At)), false)
		default:
			l.line.sleep(0, false)
		}
		l.line.ease(l.machine.Eased())
	}
}

// gather takes a decision into the next batch. A gang may have given jobs to pulls beside the one that was decided, or to these alone.
func (l *leader) gather(p *pull, ask machine.Pull, beside []*pull, d machine.Decision) {
	for i, e := range d.Entries {
		l.note(e, l.seq(), l.now+l.cfg.Timing.TTL)
		g, ok := e.(entry.Granted)
		if !ok {
			continue
		}
		to, asked := p, ask
		if d.To != nil && d.To[i] > 0 {
			to = beside[d.To[i]-1]
			asked = to.pull
		}
		asked.Slot.WalltimeS = l.machine.Walltime(asked.Slot.WalltimeS)
		l.next.asks.Note(asked, 1)
		l.next.grants++
		l.granted++
		if lease, ok := l.machine.Lease(g.Job); ok {
			to.leases = append(to.leases, lease)
		}
		l.supply.granted(&to.pull, g.Units)
	}
	l.next.batch.Entries = append(l.next.batch.Entries, d.Entries...)
	l.give(p)
	for _, o := range beside {
		l.give(o)
	}
}

func (l *leader) give(p *pull) {
	if len(p.leases) > 0 {
		l.take(p)
		l.next.pulls = append(l.next.pulls, p)
		l.hold(held{pull: p, answer: Answer{Leases: p.leases}, sure: true})
	}
}

// expireWaits answers pulls whose wait is over. "No job" is said by the state at the end of a batch that is just about to leave, or of the log:
// while a batch is in flight, what gathers behind it may yet bring a job. A pull that was not tried since the machine may have something is tried
// first, and so is one whose job is still to be made, until the machine says that it has waited for too long.
func (l *leader) expireWaits() {
	for len(l.line.waiting) > 0 {
		p := l.line.waiting[0]
		if p.until > l.now {
			l.wakeBy(p.until)
			return
		}
		switch late := l.now-p.until >= l.cfg.Timing.Patience; {
		case p.class.made:
			p.until += l.cfg.Timing.Making
			heap.Fix(&l.line.waiting, 0)
		case !p.class.awake && l.flight == nil:
			l.noJob(p)
		case late:
			l.take(p)
			l.reply(held{pull: p}, Answer{Status: Unavailable})
		default: // those behind it wait for the same batch
			l.wakeBy(p.until + l.cfg.Timing.Patience)
			return
		}
	}
}

// noJob tells a pull that there is no job for it. Nothing is in flight, or what is next proves it.
func (l *leader) noJob(p *pull) {
	l.counted.Refuse(p.class.lacks)
	l.take(p)
	if len(l.next.batch.Entries) > 0 || !l.fresh() {
		l.force = true // what leaves with this step proves it
	}
	h := held{answer: Answer{Status: NoJob, Seq: l.tip.seq}, pull: p, seq: l.tip.seq, sure: l.force, since: l.now}
	if l.force {
		h.seq, h.answer.Seq = l.seq(), l.seq()
	}
	l.held = append(l.held, h)
}
