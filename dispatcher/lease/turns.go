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
	*Node
	wished  bool          // its wish is in the log, and no daemon began to lead since
	first   int64         // who wished first since the last change of leader; 0: no one
	next    time.Duration // it does not wish before, unless another daemon came to lead
	since   time.Duration // when it learned that another daemon leads
	told    time.Duration // when it last had a message of that one
	waiting time.Duration // since when an ask of its own has no answer, and none since; 0: there is none
}

// turn is what a leader knows of its turn.
type turn struct {
	*leader
	began    time.Duration // when it came to lead
	wished   bool          // another daemon wishes it to lead no more
	yielding bool          // the next batch is its last one
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
func (t *turns) another() {
	t.since, t.told, t.abroad.unanswered = t.now, t.now, false
	if t.replica.tip.leader != 0 {
		t.wished, t.first, t.next = false, 0, 0
	}
}

// asks notes that something is asked of the leader.
func (t *turns) asks() {
	if t.waiting == 0 {
		t.waiting = t.now
	}
}

// reached notes a message: one of the leader shows that there is a way from it, and an answer that there is one to it.
func (t *turns) reached(e *Received) {
	if t.lead != nil || t.replica == nil || t.replica.tip.leader != e.From {
		return
	}
	t.told = t.now
	if len(e.Message.Answers) > 0 {
		t.waiting, t.abroad.unanswered = 0, false
	}
	t.resume()
}

// resume forwards what was kept, as far as there is a way now.
func (t *turns) resume() {
	for _, a := range t.unpark() {
		t.forward(&a)
	}
}

// mute says that the leader is not to be heard. A leader that appends says so each Tick to all that it reaches.
func (t *turns) mute() bool {
	to := t.replica.tip.leader
	return to != 0 && to != t.cfg.Daemon && t.now-t.told >= 2*t.cfg.Timing.Tick
}

// far says that there is no way to the leader: at a start it comes a moment after the machine.
func (t *turns) far() bool {
	to := t.replica.tip.leader
	return to != 0 && to != t.cfg.Daemon && !slices.Contains(t.peers, to)
}

// parks reports whether an ask should wait until a reachable daemon leads.
func (t *turns) parks() bool {
	return t.lead == nil && (t.far() || t.mute() || t.wished && t.now < t.next)
}

// unpark takes the asks that were kept, with what is left of their waits.
func (t *turns) unpark() (asks []Ask) {
	b := &t.abroad
	for _, no := range slices.Sorted(maps.Keys(b.asks)) {
		if f := b.asks[no]; f.ask != nil {
			b.take(no)
			a := *f.ask
			a.Wait = max(0, f.until-t.now-t.cfg.Timing.Patience)
			asks = append(asks, a)
		}
	}
	return asks
}

// serve begins a turn with what was kept for it.
func (t *turns) serve() {
	t.waiting = 0
	for _, a := range t.unpark() {
		t.ask(&a)
	}
}

// wish has the leader stop to lead when there is no way to it and asks of this daemon wait.
func (t *turns) wish() {
	to, of := t.replica.tip.leader, &t.cfg.Timing
	if to == 0 || to == t.cfg.Daemon || t.waiting == 0 {
		return
	}
	sure := t.told + 2*of.Tick
	if t.abroad.unanswered && sure > t.now { // it is heard, and does not hear
		sure = max(t.waiting, t.since) + 2*of.Patience
	}
	early := min(of.Tick, max(0, t.since-t.waiting)/10) // who has waited for longer wishes first
	at := max(t.waiting+of.Wish, sure+of.Tick-early, t.next)
	if t.now < at {
		t.wakeBy(at)
		return
	}
	t.appendOne(entry.Wished{By: t.cfg.Daemon})
}

// wishes notes a wish.
func (t *turns) wishes(by int64) {
	t.first = cmp.Or(t.first, by)
	if by == t.cfg.Daemon {
		t.wished, t.next = true, t.now+4*t.cfg.Timing.Tick
	}
}

// called says that the leader has stopped to lead because this daemon wished it before all others.
func (t *turns) called() bool { return t.first == t.cfg.Daemon && t.replica.tip.leader == 0 }

// heed takes batches that came before the flight into account; false: they are not wishes, and the daemon is deposed. What is in flight is
// appended behind them.
func (t *turn) heed(batches []entry.Batch) bool {
	for _, b := range batches {
		before := t.tip.seq
		if !t.follows(&b) || !Wishes(b) || t.outbox.spoil {
			return false
		}
		t.committed(b, t.now)
		t.push(b)
		for i := range t.held {
			if h := &t.held[i]; h.seq > before {
				h.seq++
				h.answer.Seq++
			}
		}
		t.recent.shift(before)
	}
	if len(batches) == 0 {
		return true
	}
	if f := t.flight; f != nil {
		f.batch.Seq, f.batch.After, f.batch.ID = t.tip.seq+1, t.tip.id, t.cfg.Draw()
		f.again, f.pause = 0, t.cfg.Timing.Retry
		t.emit(Append{f.batch, f.beside})
	}
	t.wished = true
	return true
}

// ends says whether the turn is over: others wish it, and it was long enough.
func (t *turn) ends() bool {
	if !t.wished || t.yielding || t.outbox.spoil {
		return false
	}
	over := t.began + t.cfg.Timing.Turn
	if t.now < over {
		t.wakeBy(over)
	}
	return t.now >= over
}

// mostHeard bounds how many jobs a farewell names: turns are short, and one that was not is as good as a first one.
const mostHeard = 1 << 17

// yield makes the next batch the last one: whoever wished first and sees it may lead at once. Its commit proves that nobody led before, so all
// that waits for such a proof waits for it. Pulls that wait for a job are told that there is none: they would wait for a whole round of turns.
func (t *turn) yield() {
	t.decide()
	t.yielding = true
	farewell := entry.Heard{All: t.leases.heard == nil || len(t.words) > mostHeard}
	if !farewell.All {
		farewell.Jobs = slices.Sorted(maps.Keys(t.words))
	}
	t.must(t.add(farewell))
	t.late.dismiss(t.leader)
	for i := range t.held {
		if h := &t.held[i]; !h.sure {
			h.sure, h.seq = true, t.seq()
		}
	}
	for _, p := range slices.Clone(t.line.waiting) {
		if p.class.awake || p.class.made {
			continue // it was not tried, and is to ask again
		}
		t.noJob(p)
	}
}

// stepDown ends a turn once its last batch is in the log.
func (n *Node) stepDown() {
	if n.settled() {
		n.abdicate()
		n.turns.waiting = 0
		n.turns.another()
	}
}
