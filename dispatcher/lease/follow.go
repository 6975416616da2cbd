package lease

import (
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// listen reads what is new, and claims when there has been nothing for too long.
func (n *Node) listen() {
	r := &n.reader
	if n.replica == nil {
		if !r.busy && r.next <= n.now {
			n.reload()
		}
		r.wake(&n.desk)
		return
	}
	n.replica.leases.over(n.now, n.cfg.Timing.TTL, lookAtMost)
	if !r.busy && (r.due || r.next <= n.now) {
		r.busy, r.due, r.asked = true, false, n.now
		n.emit(Read{n.replica.tip.seq})
	}
	r.wake(&n.desk)
	if c := n.claim; c != nil {
		if c.again > 0 && n.replica.tip.seq >= c.batch.Seq {
			n.claim = nil // the log has gone past it
		} else {
			c.resend(&n.desk)
		}
		return
	}
	if n.draining || r.busy {
		return
	}
	if at := r.heard + n.silence(); n.now >= at || n.replica.tip.leader == n.cfg.Daemon || n.alone() || n.turns.called() {
		n.appendOne(entry.Leader{Address: n.cfg.Address}) // the log says that this daemon leads, and it does not: it was deposed by a failover, or its claim was in doubt
	} else {
		n.wakeBy(at)
		n.turns.wish()
	}
}

// wake asks for a step when the next read is due. The answer to one that is under way is a step itself: until then all times that it
// could be woken by may be past, and it would make steps without a pause.
func (r *reader) wake(d *desk) {
	if !r.busy {
		d.wakeBy(r.next)
	}
}

// alone says that there is no other daemon to listen for: at a start, once the log was read to its end. If that is wrong the seq is taken, as for any claim.
func (n *Node) alone() bool { return !n.company && !n.reader.due && n.cfg.Alone() }

// silence is for how long this daemon waits before it claims: daemons do not do so all at once.
func (n *Node) silence() time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte{byte(n.cfg.Daemon), byte(n.cfg.Daemon >> 8), byte(n.cfg.Daemon >> 16), byte(n.cfg.Daemon >> 24)})
	full := n.cfg.Timing.Silence
	return full - full/8*time.Duration(h.Sum32()%64)/64
}

// appendOne appends an entry behind the newest batch that is known.
func (n *Node) appendOne(e entry.Entry) {
	n.company = true
	tip := &n.replica.tip
	b := entry.Batch{Seq: tip.seq + 1, ID: n.cfg.Draw(), After: tip.id, By: n.cfg.Daemon, Entries: []entry.Entry{e}}
	n.claim = &flight{batch: b, began: n.now, pause: n.cfg.Timing.Retry}
	n.emit(Append{Batch: b})
}

func (n *Node) fetched(e Fetched) {
	if n.lead != nil {
		if n.reader.busy = false; !n.lead.told(e) {
			n.depose()
		}
		return
	}
	r := &n.reader
	if n.replica == nil { // it was for the machine before
		return
	}
	r.busy, r.next = false, n.now+n.cfg.Timing.Poll
	switch {
	case errors.Is(e.Err, ledger.ErrDropped):
		n.reload()
	case e.Err != nil:
		r.heard = n.now // no leader can write while the log is away
	default:
		r.due = len(e.Batches) >= n.cfg.Bounds.Read
		r.heard = min(n.now, r.heard+n.now-r.asked) // who leads could no more write than this daemon could read
		n.follow(e.Batches)
	}
}

// follow applies batches that were read or pushed, as far as they continue what is known.
func (n *Node) follow(batches []entry.Batch) {
	for _, b := range batches {
		tip := &n.replica.tip
		switch {
		case b.Seq < tip.seq, b.Seq == tip.seq && b.ID == tip.id:
		case n.replica.follows(&b):
			if !n.apply(b) {
				return
			}
			if n.reader.next = n.now + n.cfg.Timing.Poll; !Wishes(b) { // a wish says nothing of a leader
				n.reader.heard = n.now
			}
		case b.Seq <= tip.seq+1: // a failover lost what is known here
			n.reload()
			return
		default:
			n.reader.due = true
			return
		}
	}
}

// apply makes a batch of the log part of the replica; false: they contradict each other.
func (n *Node) apply(b entry.Batch) bool {
	was := n.replica.tip.leader
	if err := n.replica.advance(b, n.now, n.now+n.cfg.Timing.TTL); err != nil {
		n.emit(Broken{b.Seq, err})
		n.reload()
		return false
	}
	if Wishes(b) {
		n.turns.wishes(b.By)
	}
	if n.replica.tip.leader != was {
		n.abroad.fail(&n.desk)
		n.turns.another()
	}
	return true
}

// reloaded begins to follow with a new machine.
func (n *Node) reloaded(e Reloaded) {
	if n.replica != nil {
		return
	}
	n.reader.busy, n.reader.heard = false, n.now
	if e.Err != nil {
		n.reader.next = n.now + n.cfg.Timing.Poll
		return
	}
	n.replica = newReplica(e, &n.cfg, n.now)
	n.reader.due = true
}

// mostWindows bounds of how many daemons asks are remembered: also of those that are gone, since what they sent may still be on its way.
const mostWindows = 256

// window is what came from a daemon lately.
func (n *Node) window(from int64) *window {
	w := n.windows[from]
	if w == nil {
		if len(n.windows) == mostWindows {
			delete(n.windows, slices.Min(slices.Collect(maps.Keys(n.windows)))) // numbers of daemons grow
		}
		w = &window{}
		n.windows[from] = w
	}
	return w
}

// fit says whether the tables could hold the texts of an ask. One that they could not would keep the log from going on.
func fit(a *Ask) bool {
	for i := range a.Finish {
		if t := a.Finish[i].Text; t != nil && t.Check() != nil {
			return false
		}
	}
	return true
}

func (n *Node) received(e Received) {
	n.company = true
	for i := range e.Message.Asks {
		a := e.Message.Asks[i]
		if !a.Left && !n.window(e.From).first(a.Call.Number) {
			continue
		}
		if a.Call.Daemon = e.From; n.lead == nil || n.draining || !fit(&a) {
			if !a.Left {
				n.answer(a.Call, Answer{Status: Unavailable}) // not sent on: two daemons that take each other for the leader would do so for ever
			}
			continue
		}
		n.ask(&a)
	}
	if e.Message.Written && n.lead != nil {
		n.lead.outbox.due = true
	}
	for _, a := range e.Message.Answers {
		n.abroad.answered(&n.desk, e.From, a)
	}
	n.turns.reached(&e)
	if n.lead != nil || n.replica == nil {
		return
	}
	n.follow(e.Message.Batches)
	// A late one finds another leader, and does nothing: no daemon claims while a leader may be fresh.
	if e.Message.HandOn && n.replica != nil && n.replica.tip.leader == e.From && n.claim == nil && !n.draining {
		n.appendOne(entry.Leader{Address: n.cfg.Address})
	}
}
