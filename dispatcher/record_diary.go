package dispatcher

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// diary is what a daemon took into account beside its own decisions, in the order in which it did: with the records of
// the decisions and the ledger it is enough to make them again. It is kept while every decision is recorded. When one is
// not, it breaks off, and goes on with a stand: the position of the daemon in all lanes, and what it counted beyond
// that. Dispatcher.mu guards it.
type diary struct {
	number  int64 // of the last decision that was made
	chapter int   // rises with every stand; 0 while it is broken off
	stands  int
	stood   time.Time // when the last stand was written
	upTo    int64     // number of the last entry
	entries []entry
	tape    *taping // nil but in tests
}

// The words of entries. What they refer to is in ref, share, shape, queue and amount.
const (
	wordStand   = 'S' // a stand begins: positions, grants in flight, the order of last grants, backlogs
	wordStood   = 'E' // a stand ends
	wordQueue   = 'q' // queue is in the state that has number amount; before the version that it belongs to
	wordTarget  = 'T' // shape is the class (its number from 1; 0: all) of share (0: all) of which queue may hold amount cores; before the version, as above
	wordVersion = 'V' // version ref was adopted, with the plans of the moment amount (microseconds; 0: it has none)
	wordSeen    = 's' // lane shape of daemon ref is counted up to amount
	wordBack    = 'v' // grant number ref was taken back: share, shape, queue, amount units
	wordFlight  = 'f' // stand: grant number ref is counted, and not committed; as above
	wordBacklog = 'b' // amount jobs of (share, shape) are not generated yet
	wordLast    = 't' // stand: the next one in the order of last grants: share, in the pool of queue; ref is the grant's number while in flight
	wordLag     = 'l' // what share remembers in the pool of queue: amount is the bits of a float64
	wordKind    = 'K' // kind ref of slots is told of from the beginning
	wordFits    = 'k' // slots of kind ref can run shape, and all that have its outline
	wordContend = 'c' // share contends for slots of kind ref (amount 1), or not any more (0)
	wordUpTo    = 'u' // nothing else was taken into account up to here
	wordBroken  = 'x' // what comes after is not known, up to the next stand: not every decision is recorded, or (ref 1) entries are lost
)

type entry struct {
	word                byte
	share, shape, queue int32
	number              int64 // of the last decision before it
	ref, amount         int64
	at                  time.Time
}

// mostEntries bounds what waits to be written: some seconds of what a daemon can do.
const mostEntries = 1 << 17

// open says whether entries are kept.
func (y *diary) open() bool { return y.chapter > 0 }

// add notes an entry; nothing while the diary is broken off.
func (y *diary) add(e entry) {
	if y.chapter == 0 {
		return
	}
	if len(y.entries) >= mostEntries {
		y.breakOff(entriesLost)
		return
	}
	e.number, e.at = y.number, time.Now()
	y.upTo = e.number
	y.entries = append(y.entries, e)
}

// Why a chapter ends: ref of wordBroken.
const (
	notRecorded = 0
	entriesLost = 1
)

// breakOff ends the chapter.
func (y *diary) breakOff(why int64) {
	if y.chapter == 0 {
		return
	}
	y.chapter = 0
	y.entries = append(y.entries, entry{word: wordBroken, number: y.number, ref: why, at: time.Now()})
}

// saw notes that the moves of a ledger row are counted.
func (y *diary) saw(daemon int64, lane int, seq int64) {
	y.add(entry{word: wordSeen, ref: daemon, shape: int32(lane), amount: seq})
}

// noteGrant is an entry about a grant.
func (y *diary) noteGrant(word byte, g *grant) {
	y.add(entry{word: word, ref: g.number, share: int32(g.window.key.share), shape: g.window.key.shape, queue: int32(g.queue.ID), amount: int64(g.units)})
}

// noteBacklog is an entry about jobs that are not generated yet.
func (y *diary) noteBacklog(w *window) {
	y.add(entry{word: wordBacklog, share: int32(w.key.share), shape: w.key.shape, amount: w.backlog})
}

// queueStates are the states of queues by their number in entries.
var queueStates = []shares.QueueState{shares.Online, shares.Drain, shares.Offline, shares.Test}

// noteVersion is about the version that was adopted.
func (y *diary) noteVersion(s *state) {
	for _, q := range s.version.Queues {
		y.add(entry{word: wordQueue, queue: int32(q.ID), amount: int64(slices.Index(queueStates, q.State))})
	}
	for _, q := range s.version.Queues {
		for _, t := range s.queues[q.ID].targets { // floors change nobody's want, and who came before its turn is recorded
			y.add(entry{word: wordTarget, share: int32(t.ShareID), shape: int32(slices.Index(job.Classes, t.Class) + 1), queue: int32(q.ID), amount: int64(t.Slots)})
		}
	}
	e := entry{word: wordVersion, ref: s.version.Number}
	if !s.plans.at.IsZero() {
		e.amount = s.plans.at.UnixMicro()
	}
	y.add(e)
	y.noteLags(s)
}

// tell notes what has changed about a set of contenders since it was last told of, before a decision among them.
func (c *contenders) tell(y *diary) {
	if !y.open() {
		return
	}
	nodes := c.of.version.Tree.Nodes
	about := func(leaf int) {
		e := entry{word: wordContend, ref: c.kind, share: int32(nodes[leaf].ID)}
		if c.pool.book.Contends(&c.leaves, leaf) {
			e.amount = 1
		}
		y.add(e)
	}
	if c.told == y.chapter {
		for _, leaf := range c.changed {
			about(leaf)
		}
		c.changed = c.changed[:0]
		return
	}
	c.told, c.changed = y.chapter, c.changed[:0]
	y.add(entry{word: wordKind, ref: c.kind})
	for _, sh := range c.of.byAt {
		if c.runs(sh) {
			y.add(entry{word: wordFits, ref: c.kind, shape: sh.first})
		}
	}
	for leaf := range nodes {
		if c.of.version.Tree.Leaf(leaf) && c.pool.book.Contends(&c.leaves, leaf) {
			about(leaf)
		}
	}
}

// contend is Pool.Contend that remembers what is to be told. Leaves that the queues do not run never contend.
func (c *contenders) contend(leaf int, is bool) {
	is = is && c.policy.admits(leaf)
	if c.told > 0 && c.pool.book.Contends(&c.leaves, leaf) != is {
		if c.changed = append(c.changed, leaf); len(c.changed) > len(c.of.version.Tree.Nodes) {
			c.told = 0 // shorter to tell all
		}
	}
	c.pool.book.Contend(&c.leaves, leaf, is)
}

// standEvery is the time between two stands of a diary that is open: a replay begins at one.
const standEvery = time.Minute

// takeDiary hands over the entries that are to be written. It opens the diary where every decision is recorded, and
// writes a stand in it now and then. The last entry says up to where they are all: a replay must not make a decision
// again while what was counted before it may be in a page that was never written. d.mu is held.
func (d *Dispatcher) takeDiary(now time.Time) []entry {
	s := d.state
	if y := &s.diary; !y.open() && s.sample.weight <= 1 || y.open() && now.Sub(y.stood) >= standEvery {
		d.stand(now)
	}
	if y := &s.diary; y.upTo < y.number {
		y.add(entry{word: wordUpTo})
	}
	entries := s.diary.entries
	s.diary.entries = nil
	return entries
}

// stand writes a stand. d.mu is held.
func (d *Dispatcher) stand(now time.Time) {
	s := d.state
	y := &s.diary
	y.stands++
	y.chapter, y.stood = y.stands, now
	y.add(entry{word: wordStand})
	y.noteVersion(s)
	for id, seq := range d.followed {
		if id.Daemon != d.id && seq > 0 {
			y.saw(id.Daemon, id.Lane, seq)
		}
	}
	for _, l := range d.lanes {
		y.saw(l.daemon, l.no, l.seq)
	}
	for _, g := range s.inflight {
		y.noteGrant(wordFlight, g)
	}
	for _, w := range s.windows {
		if w.backlog != 0 {
			y.noteBacklog(w)
		}
	}
	for _, q := range s.version.Queues {
		if p := s.pools[q.Pool]; p != nil && s.firstQueue(q.Pool) == q.ID {
			y.noteOrder(s, p, q.ID)
		}
	}
	y.add(entry{word: wordStood})
}

// noteLags is about what shares remember, after it has changed.
func (y *diary) noteLags(s *state) {
	if !y.open() {
		return
	}
	for _, p := range s.pools {
		for i, n := range s.version.Tree.Nodes {
			if n.Plan.HalfLife > 0 {
				y.add(entry{word: wordLag, share: int32(n.ID), queue: int32(s.firstQueue(p.name)), amount: int64(math.Float64bits(p.book.Lag(i)))})
			}
		}
	}
}

// microTime is a moment that is noted in microseconds.
func microTime(us int64) time.Time { return time.UnixMicro(us).UTC() }

// firstQueue stands for its pool.
func (s *state) firstQueue(pool string) shares.QueueID {
	for _, q := range s.version.Queues {
		if q.Pool == pool {
			return q.ID
		}
	}
	return 0
}

// noteOrder lists the leaves of a pool in the order of their last grants: ties are decided by it. A grant in flight may be
// taken back, and then its leaf has the place that it had before: both are listed.
func (y *diary) noteOrder(s *state, p *pool, queue shares.QueueID) {
	leaves, flying := map[int64]int{}, map[int64]bool{}
	for leaf, number := range p.lastGrant {
		leaves[number] = leaf
	}
	for _, g := range s.inflight {
		if g.queue.pool == p { // else the site was another one, in which it had its place
			leaves[g.number], leaves[g.former], flying[g.number] = g.leaf, g.leaf, true
		}
	}
	delete(leaves, 0) // never granted
	for _, number := range slices.Sorted(maps.Keys(leaves)) {
		e := entry{word: wordLast, share: int32(s.version.Tree.Nodes[leaves[number]].ID), queue: int32(queue)}
		if flying[number] {
			e.ref = number
		}
		y.add(e)
	}
}
