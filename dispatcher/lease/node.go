package lease

import (
	"errors"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// Node is one daemon's part in the log: it leads or follows. It belongs to one goroutine.
type Node struct {
	desk
	cfg      Config
	replica  *replica // nil: a machine is asked for
	lead     *leader  // nil: it follows
	claim    *flight  // the Leader entry that it tries to append; nil: none
	reader   reader
	abroad   abroad
	windows  map[int64]*window // of asks, by daemon
	peers    []int64
	draining bool
	stepped  time.Duration // when the step before was
	begun    bool
	turns    turns
	company  bool // it has claimed, or heard of another daemon: it listens for a Silence before it claims
}

// reader is how far a follower is with the log.
type reader struct {
	busy  bool          // a Read or a Reload is under way
	due   bool          // there is something to read
	next  time.Duration // it reads then at the latest
	asked time.Duration // when the last Read began
	heard time.Duration // when it last learned of a new batch, or had to begin anew to listen
}

// New makes a Node that first asks for a machine.
func New(cfg Config) *Node {
	n := &Node{cfg: cfg.orDefault(), abroad: newAbroad(), windows: map[int64]*window{}}
	n.post = map[int64]*Message{}
	n.turns.Node = n
	return n
}

// Step tells the Node what happened and returns what it wants done, in order. Now is the monotonic clock, read after the last
// of the events: what came later may not be answered by it.
func (n *Node) Step(now time.Duration, events ...Event) []Effect {
	now = max(now, n.stepped)
	n.begin(now)
	switch {
	case !n.begun:
		n.begun = true
		n.reload()
	case now-n.stepped >= n.cfg.Timing.Stopped:
		n.away()
	}
	n.stepped = now
	for _, e := range events {
		n.take(e)
	}
	n.pass()
	pause := n.cfg.Timing.Push
	if n.lead == nil { // nothing more comes
		pause = 0
	}
	n.spread(n.peers, pause)
	return n.end()
}

// away notes that the daemon did not run for a time: what it did not hear says nothing about others.
func (n *Node) away() {
	n.reader.heard, n.reader.due = n.now, true
	if n.lead != nil {
		n.lead.leases.spare(n.now + n.cfg.Timing.Grace)
	}
}

func (n *Node) take(e Event) {
	switch e := e.(type) {
	case Ask:
		n.ask(&e)
	case Appended:
		n.appended(e)
	case Fetched:
		n.fetched(e)
	case Reloaded:
		n.reloaded(e)
	case Looked:
		if n.lead != nil {
			n.lead.lookedUp(e)
		}
	case Gathered:
		if n.lead != nil {
			n.lead.outbox.gathered(e, n.cfg.Bounds.Rows)
		}
	case Written:
		n.written()
	case Folded:
		if n.replica != nil {
			n.replica.recent.folded(min(e.Seq, n.replica.tip.seq)) // a wish that is not known yet may have the seq of ends that are to come
		}
	case Received:
		n.received(e)
	case Peers:
		gone := func(d int64) bool { return slices.Contains(n.peers, d) && !slices.Contains(e.Daemons, d) }
		n.abroad.lost(&n.desk, gone)
		if n.lead != nil {
			for _, call := range n.lead.line.callsOf(gone) { // their daemon has told them so as well, or is no more
				n.lead.left(call)
			}
		}
		if n.peers = e.Daemons; n.lead == nil && n.replica != nil {
			n.turns.resume()
		}
	case Drain:
		n.draining = true
		n.abroad.leave(&n.desk)
	}
}

// ask answers a caller, or has the leader answer.
func (n *Node) ask(a *Ask) {
	if n.lead == nil || n.draining || n.lead.turn.yielding && !a.Left {
		n.forward(a)
		return
	}
	switch l := n.lead; {
	case l.outbox.spoil:
		if !a.Left {
			l.answer(a.Call, Answer{Status: Unavailable})
		}
	case a.Left:
		l.left(a.Call)
	case a.Pull != nil:
		l.pull(a)
	case a.Seen != nil:
		l.words.tell(l, a)
	case a.Renew != nil:
		l.renew(a)
	default:
		l.late.finish(l, a)
	}
}

func (n *Node) written() {
	switch {
	case n.lead != nil:
		n.lead.outbox.due = true
	case n.Leader() != 0 && n.Leader() != n.cfg.Daemon:
		n.letter(n.Leader()).Written = true
	}
}

// pass is what comes with time, after the events of the step.
func (n *Node) pass() {
	if n.lead != nil {
		n.lead.outbox.close = n.draining
		n.lead.pass()
		switch {
		case n.lead.outbox.spoil && n.lead.flight == nil:
			n.depose() // all that was decided before is in the log
		case n.lead.turn.yielding:
			n.stepDown()
		default:
			n.handOn()
		}
	}
	if n.lead == nil {
		n.listen()
	}
	n.abroad.expire(&n.desk)
}

// pass decides, appends and answers.
func (l *leader) pass() {
	if l.turn.ends() {
		l.turn.yield()
	}
	if l.turn.yielding {
		l.release()
		l.depart()
		return
	}
	if !l.outbox.spoil {
		l.tick()
		l.expire()
		l.late.end(l)
		l.outbox.take(l)
	}
	if !l.outbox.spoil {
		l.stands()
		l.decide()
		l.expireWaits() // from here on nothing joins the next batch
	}
	l.release()
	l.depart()
}

// settled says of a daemon that leads that all that it has decided is in the log.
func (n *Node) settled() bool { return n.lead.flight == nil && len(n.lead.next.batch.Entries) == 0 }

// handOn stops to lead once nothing is in flight, and has another daemon claim.
func (n *Node) handOn() {
	if !n.draining || !n.settled() {
		return
	}
	n.abdicate()
	if len(n.peers) > 0 {
		n.letter(n.peers[0]).HandOn = true
	}
}

// abdicate ends the lead, and listens from now on.
func (n *Node) abdicate() {
	n.lead.depose()
	n.lead = nil
	n.reader.heard, n.reader.next = n.now, n.now
}

// appended is the log's answer to this daemon's batch, or to its claim.
func (n *Node) appended(e Appended) {
	if n.lead != nil {
		if !n.lead.appended(e) {
			n.depose()
		}
		return
	}
	c := n.claim
	if c == nil || c.batch.ID != e.ID {
		return
	}
	switch {
	case e.Err == nil && n.replica != nil && n.replica.follows(&c.batch):
		c.batch.At = e.At
		n.claim = nil
		if n.apply(c.batch) && Wishes(c.batch) {
			n.push(c.batch)
		} else if n.replica != nil {
			n.lead = lead(&n.desk, n.replica, &n.cfg, c.began)
			n.abroad.fail(&n.desk)
			n.push(c.batch)
			n.turns.serve()
		}
	case e.Err == nil:
		n.claim = nil // what it has read meanwhile is newer
	case errors.Is(e.Err, ledger.ErrTaken):
		n.claim, n.reader.due = nil, true
		n.reader.heard = n.now // another daemon is there
	case errors.Is(e.Err, ledger.ErrGap):
		n.claim = nil
		n.reload()
	default:
		c.retry(n.now, n.cfg.Timing.Retry)
	}
}

// depose drops all that was decided and is not in the log, and whatever rests on it.
func (n *Node) depose() {
	n.lead.depose()
	n.lead = nil
	n.reload()
}

// reload asks for a machine made of the tables.
func (n *Node) reload() {
	n.replica, n.claim, n.turns.wished = nil, nil, false
	n.reader = reader{busy: true, heard: n.now}
	n.emit(Reload{})
}

// Leads says whether this daemon leads, as far as it knows.
func (n *Node) Leads() bool { return n.lead != nil }

// Leader is the daemon that wrote the newest batch that is known; 0: none is.
func (n *Node) Leader() int64 {
	if n.replica == nil {
		return 0
	}
	return n.replica.tip.leader
}

// Machine is what this daemon knows, for those who only read. Settled says that it is the log up to where it stands, and not ahead of it.
// It is nil while the daemon reloads.
func (n *Node) Machine() (m Machine, settled bool) {
	if n.replica == nil {
		return nil, false
	}
	return n.replica.machine, n.lead == nil || n.settled()
}
