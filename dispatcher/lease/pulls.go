package lease

import (
	"container/heap"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// pull lets a pull into the line, or finds the answer that it has already.
func (l *leader) pull(a *Ask) {
	if l.line.calls[a.Call] != nil {
		return // said twice on the way
	}
	id := a.Pull.Request
	if p := l.line.asked[id]; id != (entry.ID{}) && p != nil && (p.class != nil || len(p.leases) > 0) {
		l.join(p, a.Call)
		return
	}
	if id != (entry.ID{}) {
		if leases := l.machine.Answered(id); len(leases) > 0 {
			l.hold(a.Call, Answer{Leases: leases}, false)
			return
		}
		if _, over := l.recent.requests[id]; over {
			l.hold(a.Call, Answer{Status: Over}, false)
			return
		}
	}
	l.line.add(&pull{calls: []Call{a.Call}, pull: *a.Pull, until: l.now + a.Wait}, l.cfg.Class(*a.Pull))
}

// join lets a repeat share the answer of a pull that is on its way.
func (l *leader) join(p *pull, call Call) {
	l.line.calls[call] = p
	told := p.class == nil && len(p.calls) == 0
	p.calls, p.unheard = append(p.calls, call), false
	if told { // Unavailable, but its batch may come to be yet
		l.holdPull(p, Answer{Leases: p.leases}, false)
	}
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
	if p.class != nil {
		l.line.take(p)
		l.line.forget(p)
	}
}

// decide gives jobs to pulls in the order of their arrival until the batch is full or nothing more can be given.
func (l *leader) decide() {
	l.line.ease(l.machine.Eased())
	for p := l.line.first(); p != nil; p = l.line.first() {
		ask, room := p.pull, l.cfg.Bounds.Grants-l.next.grants
		if ask.Most = min(max(1, ask.Most), l.cfg.Bounds.Grants); ask.Most > room {
			return // the next batch begins with it
		}
		d := l.machine.Decide(ask)
		l.gather(p, d)
		if d.Verdict != Given {
			l.line.sleep(d.Verdict == Unmade)
		}
		l.line.ease(l.machine.Eased())
	}
}

// gather takes a decision into the next batch.
func (l *leader) gather(p *pull, d Decision) {
	for _, e := range d.Entries {
		l.note(e, l.seq(), l.now+l.cfg.Timing.TTL)
		if g, ok := e.(entry.Granted); ok {
			l.next.grants++
			if lease, ok := l.machine.Lease(g.Job); ok {
				p.leases = append(p.leases, lease)
			}
		}
	}
	l.next.batch.Entries = append(l.next.batch.Entries, d.Entries...)
	if d.Verdict == Given {
		l.line.take(p)
		l.next.pulls = append(l.next.pulls, p)
		l.holdPull(p, Answer{Leases: p.leases}, true)
	}
}

// expireWaits answers pulls whose wait is over. A pull that was not tried since the machine may have something is tried first; one whose job is
// still to be made is not told that there is none.
func (l *leader) expireWaits() {
	for len(l.line.waiting) > 0 {
		p := l.line.waiting[0]
		if p.class != nil && p.until > l.now {
			l.wakeBy(p.until)
			return
		}
		switch late := l.now-p.until >= l.cfg.Timing.Patience; {
		case p.class == nil:
			heap.Pop(&l.line.waiting)
		case !p.class.awake && !p.class.made:
			heap.Pop(&l.line.waiting)
			l.line.take(p)
			l.holdPull(p, Answer{Status: NoJob}, false)
		case late:
			heap.Pop(&l.line.waiting)
			l.line.take(p)
			l.reply(held{pull: p}, Answer{Status: Unavailable})
		default: // it is the batch that is full: those behind it wait for the same
			l.wakeBy(p.until + l.cfg.Timing.Patience)
			return
		}
	}
}
