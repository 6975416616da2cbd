package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/replay"
)

// Replay makes the decisions of the past again.
type Replay struct {
	DB           querier                                                         // read only; one connection is enough
	Version      func(ctx context.Context, number int64) (shares.Version, error) // of the site, with the ids that it had
	Since, Until time.Time
	Site         *shares.Version // another site to decide by; nil: the one that was in force each time
	List         int             // most differences to list
}

// Run reads what the daemons of the time recorded and says what came out. It writes nothing, and keeps in memory a
// state, a few rows of each lane, and the records of what is in flight.
func (r Replay) Run(ctx context.Context) (replay.Score, error) {
	score := replay.Score{NotComparable: []replay.Count{}, First: []replay.Difference{}, Version: []int64{}}
	daemons, err := collect[pastDaemon](ctx, r.DB, "past_daemons", map[string]any{"since": r.Since, "until": r.Until.Add(lateBy)})
	if err != nil {
		return score, fmt.Errorf("replay: %w", err)
	}
	var meter replay.Meter
	versions := map[int64]shares.Version{}
	for _, d := range daemons {
		p := &past{Replay: r, score: &score, meter: &meter, versions: versions, why: replay.NoStand,
			pages: pastPages{db: r.DB, daemon: d.DaemonID, since: r.Since, until: r.Until}}
		if err := p.run(ctx); err != nil {
			return score, fmt.Errorf("replay of daemon %d: %w", d.DaemonID, err)
		}
	}
	meter.Report(&score)
	return score, nil
}

type pastDaemon struct{ DaemonID int64 }

// past is the replay of one daemon. Its state is made of the same parts as that of a daemon, and changed by the same
// functions; only where it comes from differs.
type past struct {
	Replay
	pages    pastPages
	score    *replay.Score
	meter    *replay.Meter
	versions map[int64]shares.Version

	state  *state // nil: it is not known
	rival  *rival // beside it, where there is another site
	lanes  pastLanes
	number int64 // of the last decision of which is known whether it counts
	kinds  map[int64]*pastKind
	why    replay.Reason // why the state is or was not known
	stand  *pastStand    // that is being read
	skip   bool          // a stand that is not needed
	queues map[shares.QueueID]shares.QueueState

	entries []entry            // read, not handled
	targets []entry            // of the version that is to come
	picks   map[int64]pastPick // by number
	backs   map[int64]entry    // grants that are taken back further on
	undo    map[int64]func()   // gives back their places
}

// pastKind is a kind of slot.
type pastKind struct {
	shapes map[int32]bool
	leaves shares.Contenders
}

// pastStand is a stand while it is read.
type pastStand struct {
	at      time.Time
	number  int64
	version entry
	targets []entry
	lanes   map[laneID]int64
	flights []entry
	rest    []entry // what the shares stand by
}

// mostPending bounds what is read ahead of a decision whose record does not come.
const mostPending = 1 << 18

func (p *past) run(ctx context.Context) error {
	p.kinds, p.picks, p.backs, p.queues = map[int64]*pastKind{}, map[int64]pastPick{}, map[int64]entry{}, map[shares.QueueID]shares.QueueState{}
	p.undo = map[int64]func(){}
	if err := p.pages.begin(ctx); err != nil {
		return err
	}
	for {
		more, err := p.step(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	return p.rest(ctx)
}

// step handles the next entry, or makes the next decision again.
func (p *past) step(ctx context.Context) (more bool, err error) {
	if len(p.entries) == 0 && !p.pages.diaryEnd {
		return true, p.readDiary(ctx)
	}
	if len(p.entries) > 0 && (p.state == nil || p.entries[0].number <= p.number) {
		e := p.entries[0]
		p.entries = p.entries[1:]
		return true, p.handle(ctx, e)
	}
	if p.state == nil {
		return false, nil
	}
	if len(p.entries) == 0 { // what comes next may follow from entries that were never written
		p.lose(replay.Missing)
		return true, nil
	}
	next := p.number + 1
	if pick, ok := p.picks[next]; ok {
		delete(p.picks, next)
		if pick.At.After(p.Until) {
			return false, nil
		}
		p.number = next
		p.decide(pick)
		return true, nil
	}
	if back, ok := p.backs[next]; ok {
		p.number = next
		was := p.grant(back.grantMove(), back.at)
		now := p.rival.grant(back.grantMove())
		p.undo[next] = func() { was(); now() }
		return true, nil
	}
	return p.readAhead(ctx)
}

// readAhead looks further on for the record of the next decision.
func (p *past) readAhead(ctx context.Context) (more bool, err error) {
	switch {
	case p.pages.diaryEnd && p.pages.picksEnd && len(p.picks) == 0:
		return false, nil
	case p.pages.diaryEnd && p.pages.picksEnd, len(p.picks) > mostPending, len(p.entries) > 8*mostEntries:
		p.lose(replay.Missing)
		return true, nil
	case !p.pages.picksEnd:
		if err := p.readPicks(ctx); err != nil {
			return false, err
		}
	}
	if !p.pages.diaryEnd {
		return true, p.readDiary(ctx)
	}
	return true, nil
}

func (p *past) readDiary(ctx context.Context) error {
	list, err := p.pages.nextDiary(ctx)
	for _, e := range list {
		if e.word == wordBack {
			p.backs[e.ref] = e
		}
	}
	p.entries = append(p.entries, list...)
	return err
}

func (p *past) readPicks(ctx context.Context) error {
	list, err := p.pages.nextPicks(ctx)
	for _, pick := range list {
		if pick.Number == 0 || pick.Number <= p.number || pick.Weight != 1 {
			p.leave(pick)
		} else {
			p.picks[pick.Number] = pick
		}
	}
	return err
}

// rest counts the records that are left: there was no standing to compare them on.
func (p *past) rest(ctx context.Context) error {
	for number, pick := range p.picks {
		p.leave(pick)
		delete(p.picks, number)
	}
	for !p.pages.picksEnd {
		list, err := p.pages.nextPicks(ctx)
		if err != nil {
			return err
		}
		for _, pick := range list {
			p.leave(pick)
		}
	}
	return nil
}

// wanted says whether a moment is within what is asked for.
func (p *past) wanted(at time.Time) bool { return !at.Before(p.Since) && !at.After(p.Until) }

// leave counts a decision that cannot be compared.
func (p *past) leave(pick pastPick) {
	if !p.wanted(pick.At) {
		return
	}
	why := p.why
	switch {
	case pick.Number == 0:
		why = replay.OldRecord
	case pick.Weight > 1:
		why = replay.Sampled
	}
	p.score.Leave(why, int64(pick.Weight))
}

// lose forgets the state: what comes next is not known up to the next stand. What was read ahead may belong to what comes
// after that.
func (p *past) lose(why replay.Reason) {
	p.state, p.rival, p.stand, p.skip, p.why = nil, nil, nil, false, why
	p.targets = nil
	clear(p.kinds)
	clear(p.undo)
}

// decide makes a decision again, and counts what was decided.
func (p *past) decide(pick pastPick) {
	p.state.settle()
	q, kind := p.state.queues[pick.Queue], p.kinds[max(pick.kind, -pick.kind)]
	p.measure(pick.At)
	if p.wanted(pick.At) && q != nil {
		if node, ok := p.state.version.Tree.ByID(pick.Share); ok {
			p.meter.Start(q.pool.book, node, false)
		}
	}
	m := pick.move()
	switch sh := p.state.shapes[pick.shape]; {
	case sh != nil && sh.need.Claims.Starts():
		if p.wanted(pick.At) {
			p.score.Leave(replay.Gang, 1)
		}
		p.rival.grant(m)
	case p.rival != nil && kind != nil:
		p.rival.decide(pick, kind, p)
	case !p.wanted(pick.At):
	case q == nil || kind == nil:
		p.score.Leave(replay.Missing, 1)
	case pick.floor:
		p.score.Leave(replay.Floor, 1)
	case pick.kind < 0:
		p.score.Leave(replay.Owed, 1)
	default:
		if leaf := p.score.Again(q.pool.book, &kind.leaves, pick.Decision, p.List); leaf >= 0 {
			p.meter.Start(q.pool.book, leaf, true)
		}
	}
	p.grant(m, pick.At)
}

// move is that of the job that got the slot.
func (pick pastPick) move() move {
	return move{Share: pick.Share, Shape: pick.shape, Queue: pick.Queue, Before: isReady, After: isLeased, N: 1, Units: pick.Units}
}

// grant counts a grant as the daemon did.
func (p *past) grant(m move, at time.Time) (undo func()) {
	p.measure(at)
	p.state.apply(m, false)
	return p.state.granted(m)
}

// granted puts the share of a grant last in the order of grants.
func (s *state) granted(m move) (undo func()) {
	if node, ok := s.version.Tree.ByID(m.Share); ok && s.queues[m.Queue] != nil {
		book := s.queues[m.Queue].pool.book
		place := book.Granted(node)
		return func() { book.Ungranted(place) }
	}
	return func() {}
}
