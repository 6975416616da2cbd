package lease

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/replay"
)

// leader is all that a daemon has only while it leads. When it is deposed this is dropped as a whole, and its replica with it: the machine is ahead of the log.
type leader struct {
	*desk
	*replica
	cfg *Config

	flight *flight // the append in flight; nil: none
	next   flight  // what is decided meanwhile
	force  bool    // append next though there may be nothing in it but a tick
	held   []held  // answers that wait, by the batch on which they rest
	line   line
	outbox outbox
	supply *supply
	late   late
	words  words
	looks  map[Call]*looked

	confirmed time.Duration // when the newest append that was committed had begun
	ticked    time.Duration // when a tick was last decided
	stand     time.Duration // when it says next where pools stand
	turn      turn
}

// flight is a batch on its way to the log.
type flight struct {
	batch   entry.Batch
	beside  ledger.Beside
	pulls   []*pull // that were given leases in it
	grants  int
	asks    replay.Asks // what they were asked for by
	lost    int
	ends    int
	written int // entries of rows
	texts   int // bytes

	began time.Duration // when it was first appended
	again time.Duration // when it is appended again; 0: the log has not answered
	pause time.Duration // before that
	read  bool          // Read is asked which batch has its seq
}

// held is an answer that waits for its batch.
type held struct {
	answer Answer
	call   Call
	pull   *pull // whose answer it is, instead of call
	seq    int64
	sure   bool // its batch proves it; else it needs a leader that is fresh, see invariant 4
	since  time.Duration
}

// lead begins to lead, at the moment in which the daemon's own Leader entry is known to be committed.
func lead(d *desk, r *replica, cfg *Config, began time.Duration) *leader {
	l := &leader{desk: d, replica: r, cfg: cfg, line: newLine(), outbox: newOutbox(), supply: newSupply(d.now), words: words{}, looks: map[Call]*looked{},
		confirmed: began, ticked: d.now - cfg.Timing.Tick}
	l.turn = turn{leader: l, began: d.now}
	cfg.Led()
	l.line.eased = r.machine.Eased()
	for _, q := range cfg.Polled(r.machine) {
		l.supply.polled[q] = d.now
	}
	l.leases.lead(d.now, cfg.Timing.Rest)
	l.leases.renewed = func(age int32) { d.counted.Age(float64(age)) }
	return l
}

// seq is that of the next batch.
func (l *leader) seq() int64 {
	if l.flight != nil {
		return l.flight.batch.Seq + 1
	}
	return l.tip.seq + 1
}

// rests is the batch on which an answer of the machine rests.
func (l *leader) rests() int64 {
	if len(l.next.batch.Entries) > 0 {
		return l.seq()
	}
	return l.seq() - 1
}

// fresh says whether no other daemon can lead, see invariant 4.
func (l *leader) fresh() bool { return !l.turn.yielding && l.now-l.confirmed < l.cfg.Timing.Fresh }

// add applies an entry, which becomes part of the next batch.
func (l *leader) add(e entry.Entry) error {
	l.note(e, l.seq(), l.now+l.cfg.Timing.TTL)
	if err := l.machine.Apply(e); err != nil {
		return err
	}
	l.next.batch.Entries = append(l.next.batch.Entries, e)
	switch e.(type) {
	case entry.Adopted, entry.Bounded, entry.Capped:
		l.stand = l.now // the pools are others
	}
	return nil
}

// hold sends an answer once the batches on which it rests are committed.
func (l *leader) hold(h held) {
	h.seq, h.since = l.rests(), l.now
	h.answer.Seq = h.seq
	l.held = append(l.held, h)
}

// release sends the answers whose time has come. Those that have waited for too long are Unavailable.
func (l *leader) release() {
	n := 0
	for ; n < len(l.held); n++ {
		h := l.held[n]
		switch late := l.now-h.since >= l.cfg.Timing.Patience; {
		case h.seq <= l.tip.seq && (h.sure || l.fresh()):
			l.reply(h, h.answer)
		case late:
			l.reply(h, Answer{Status: Unavailable})
		case h.seq <= l.tip.seq: // an append that begins now proves it
			h.sure, h.seq, l.force = true, l.seq(), true
			l.held = append(l.held, h)
		default:
			l.wakeBy(h.since + l.cfg.Timing.Patience)
			l.held = l.held[n:]
			return
		}
	}
	l.held = l.held[n:]
}

// reply sends an answer.
func (l *leader) reply(h held, a Answer) {
	if h.pull == nil {
		l.answer(h.call, a)
		return
	}
	h.pull.unheard = h.pull.unheard || a.Status == Unavailable
	for _, call := range l.line.tell(h.pull) {
		l.answer(call, a)
	}
}

// depose answers all waiting requests: not done, or not known.
func (l *leader) depose() {
	for _, h := range l.held {
		l.reply(h, Answer{Status: Unavailable})
	}
	for len(l.line.waiting) > 0 {
		p := l.line.waiting[0]
		l.take(p)
		l.reply(held{pull: p}, Answer{Status: Unavailable})
	}
	l.late.dismiss(l)
}

// dismiss answers asks of which nothing is decided yet.
func (t *late) dismiss(l *leader) {
	for _, w := range t.asks {
		l.answer(w.ask.Call, Answer{Status: Unavailable})
	}
	for _, call := range slices.SortedFunc(maps.Keys(l.looks), compareCalls) {
		l.answer(call, Answer{Status: Unavailable})
	}
	*t, l.looks = late{}, map[Call]*looked{}
}
