package lease

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// turns is what a daemon knows of its way to the leader. Daemons that do not reach each other lead by turns: see doc.go.
type turns struct {
	wished  bool          // its wish is in the log, and nobody came to lead since
	first   int64         // who wished first since somebody came to lead; 0: nobody
	next    time.Duration // it does not wish before, unless another daemon came to lead
	since   time.Duration // when it learned that another daemon leads
	told    time.Duration // when it last had a message of that one
	waiting time.Duration // since when an ask of its own has no answer, and none since; 0: there is none
}

// Wishes says whether a batch is the wish of a follower. Who leads goes on to lead with it.
func Wishes(b entry.Batch) bool {
	if len(b.Entries) != 1 {
		return false
	}
	_, is := b.Entries[0].(entry.Wished)
	return is
}

// yields says whether a batch is the last one of a leader.
func yields(b entry.Batch) bool {
	for _, e := range slices.Backward(b.Entries) {
		if _, is := e.(entry.Heard); is {
			return true
		}
	}
	return false
}

// another notes that another daemon leads, or none.
func (n *Node) another() {
	n.since, n.told, n.abroad.unanswered = n.now, n.now, false
	if n.replica.tip.leader != 0 {
		n.wished, n.first, n.next = false, 0, 0
	}
}

// asks notes that something is asked of the leader.
func (n *Node) asks() {
	if n.waiting == 0 {
		n.waiting = n.now
	}
}

// reached notes a message: one of the leader shows that there is a way from it, and an answer that there is one to it.
func (n *Node) reached(e *Received) {
	if n.lead != nil || n.replica == nil || n.replica.tip.leader != e.From {
		return
	}
	n.told = n.now
	if len(e.Message.Answers) > 0 {
		n.waiting, n.abroad.unanswered = 0, false
	}
	for _, a := range n.unpark() {
		n.forward(&a)
	}
}

// mute says that the leader is not to be heard. A leader that appends says so each Tick to all that it reaches.
func (n *Node) mute() bool {
	to := n.replica.tip.leader
	return to != 0 && to != n.cfg.Daemon && n.now-n.told >= 2*n.cfg.Timing.Tick
}

// parks says that an ask is better kept until somebody leads to whom there is a way.
func (n *Node) parks() bool { return n.lead == nil && (n.mute() || n.wished && n.now < n.next) }

// unpark takes the asks that were kept, with what is left of their waits.
func (n *Node) unpark() (asks []Ask) {
	b := &n.abroad
	for _, no := range slices.Sorted(maps.Keys(b.asks)) {
		if f := b.asks[no]; f.ask != nil {
			b.take(no)
			a := *f.ask
			a.Wait = max(0, f.until-n.now-n.cfg.Timing.Patience)
			asks = append(asks, a)
		}
	}
	return asks
}

// serve begins a turn with what was kept for it.
func (n *Node) serve() {
	n.waiting = 0
	for _, a := range n.unpark() {
		n.ask(&a)
	}
}

// wish has the leader stop to lead when there is no way to it and asks of this daemon wait.
func (n *Node) wish() {
	to, t := n.replica.tip.leader, &n.cfg.Timing
	if to == 0 || to == n.cfg.Daemon || n.waiting == 0 {
		return
	}
	sure := n.told + 2*t.Tick
	if n.abroad.unanswered && sure > n.now { // it is heard, and does not hear
		sure = max(n.waiting, n.since) + 2*t.Patience
	}
	early := min(t.Tick, max(0, n.since-n.waiting)/10) // who has waited for longer wishes first
	at := max(n.waiting+t.Wish, sure+t.Tick-early, n.next)
	if n.now < at {
		n.wakeBy(at)
		return
	}
	n.appendOne(entry.Wished{By: n.cfg.Daemon})
}

// wishes notes a wish.
func (n *Node) wishes(by int64) {
	n.first = cmp.Or(n.first, by)
	if by == n.cfg.Daemon {
		n.wished, n.next = true, n.now+4*n.cfg.Timing.Tick
	}
}

// called says that the leader has stopped to lead because this daemon wished it before all others.
func (n *Node) called() bool { return n.first == n.cfg.Daemon && n.replica.tip.leader == 0 }

// heed takes batches that came before the flight into account; false: they are not wishes, and the daemon is deposed. What is in flight is
// appended behind them.
func (l *leader) heed(batches []entry.Batch) bool {
	for _, b := range batches {
		before := l.tip.seq
		if !l.follows(&b) || !Wishes(b) || l.outbox.spoil {
			return false
		}
		l.committed(b, l.now)
		for _, to := range l.peers {
			m := l.letter(to)
			m.Batches = append(m.Batches, b)
		}
		for i := range l.held {
			if h := &l.held[i]; h.seq > before {
				h.seq++
				h.answer.Seq++
			}
		}
		l.recent.shift(before)
	}
	if len(batches) == 0 {
		return true
	}
	if f := l.flight; f != nil {
		f.batch.Seq, f.batch.After, f.batch.ID = l.tip.seq+1, l.tip.id, l.cfg.Draw()
		f.again, f.pause = 0, l.cfg.Timing.Retry
		l.emit(Append{f.batch, f.beside})
	}
	l.wished = true
	return true
}

// ends says whether the turn is over: others wish it, and it was long enough.
func (l *leader) ends() bool {
	if !l.wished || l.yielding || l.outbox.spoil {
		return false
	}
	over := l.began + l.cfg.Timing.Turn
	if l.now < over {
		l.wakeBy(over)
	}
	return l.now >= over
}

// mostHeard bounds how many jobs a farewell names: turns are short, and one that was not is as good as a first one.
const mostHeard = 1 << 17

// yield makes the next batch the last one: whoever wished first and sees it may lead at once. Its commit proves that nobody led before, so all that waits for such a proof waits for it. Pulls that wait for
// a job are told that there is none: they would wait for a whole round of turns.
func (l *leader) yield() {
	l.decide()
	l.yielding = true
	farewell := entry.Heard{All: l.leases.heard == nil || len(l.words) > mostHeard}
	if !farewell.All {
		farewell.Jobs = slices.Sorted(maps.Keys(l.words))
	}
	l.must(l.add(farewell))
	l.dismiss()
	for i := range l.held {
		if h := &l.held[i]; !h.sure {
			h.sure, h.seq = true, l.seq()
		}
	}
	for _, p := range slices.Clone(l.line.waiting) {
		if p.class.awake || p.class.made {
			continue // it was not tried, and is to ask again
		}
		l.counted.Refuse(p.class.lacks)
		l.take(p)
		l.held = append(l.held, held{answer: Answer{Status: NoJob, Seq: l.seq()}, pull: p, seq: l.seq(), sure: true, since: l.now})
	}
}

// stepDown ends a turn once its last batch is in the log.
func (n *Node) stepDown() {
	if n.lead.flight != nil || len(n.lead.next.batch.Entries) > 0 {
		return
	}
	n.lead.depose()
	n.lead = nil
	n.reader.heard, n.reader.next, n.waiting = n.now, n.now, 0
	n.another()
}
