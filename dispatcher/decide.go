package dispatcher

import (
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// grant is one job on its way to a pull: out of its window, counted as held, not committed yet.
type grant struct {
	pull   *pull
	window *window
	job    readyJob
	queue  *queue
	share  string // path
	units  shares.Units
	nonce  int64
	of     *state
	lane   int         // that leases it
	spent  bool        // charged to this daemon's escrow of the present epoch
	number int64       // which decision of this daemon it was
	former int64       // the one that granted its leaf something before
	leaf   int         // node of the tree that it was decided by
	note   *pickRecord // the record of the decision, where the sample has it
	place  shares.Turn // that it took in the order of grants
	owed   *retry.Debt // that it was given of; nil: of none
	taken  *takenUnits // of resources; nil: its job needs none
	claims []heldClaim

	serving serving
}

// move is the ledger's word for the grant, as far as this daemon counts it before the commit.
func (g *grant) move() move {
	return move{Task: g.job.task, Share: g.window.key.share, Shape: g.window.key.shape, Queue: g.queue.ID,
		Before: isReady, After: isLeased, N: 1, Units: g.units}
}

// undo is the opposite: the job was not ours, or the grant did not commit. Nothing is announced.
func (g *grant) undo() move {
	m := g.move()
	m.Before, m.After = isLeased, isReady
	return m
}

// outcome of a decision.
type decision int

const (
	none    decision = iota // no job that this slot may run; the pull waits for one
	given                   // at least one grant
	blocked                 // a window must be read or units taken first; needs says which
	unmade                  // jobs of the leaf that comes first must be made first
)

// needs is what a blocked decision waits for.
type needs struct {
	windows map[*window]bool
	limits  map[*limit]lack
	placing bool   // jobs of claims that were just bound must be placed
	making  bool   // jobs must be made
	passed  int    // leaves that were not waited for any longer, whose jobs are not made yet
	lacked  string // kind of a hard limit, or lend or borrow, that left out a window; empty: none did
	lane    int    // whose batch is being decided
	narrows map[*narrow]bool

	gangs    map[*gang]bool     // whose jobs must be read
	nodes    map[*gangNode]bool // of which it must be read what runs there
	gathered []*pull            // others that the present decision gave jobs of a gang to
}

func newNeeds(lane int) *needs {
	return &needs{lane: lane, windows: map[*window]bool{}, limits: map[*limit]lack{}, gangs: map[*gang]bool{}, nodes: map[*gangNode]bool{}}
}

// lack is what a decision was short of under a limit, the grants counted that it had made by then.
type lack struct {
	need shares.Units // of a job
	more shares.Units // beside the balance
}

// lack notes that a job needs so much. Of several that lack something the one counts that lacks most.
func (n *needs) lack(l *limit, need shares.Units) {
	if more := need - l.balance(); more > n.limits[l].more {
		n.limits[l] = lack{need, more}
	}
}

// asks says whether more is asked for under a limit.
func (n *needs) asks(l *limit) bool { return n.limits[l].more > 0 }

// decide gives the pull as many jobs as it may have. What it grants is counted as held at once.
func (s *state) decide(p *pull, n *needs) decision {
	q := s.byName[p.req.Queue]
	left := job.RoomOf(p.req.Slot, q.Queue)
	for len(p.grants) < p.most {
		g, verdict := s.decideOne(p, q, left, n)
		if verdict != given {
			if verdict == unmade && len(p.grants) == 0 {
				n.making = true
				return blocked
			}
			if verdict == unmade || verdict == none && len(p.grants) > 0 {
				return given
			}
			return verdict
		}
		if g == nil { // a gang's jobs: it must not be put back for more
			return given
		}
		p.grants = append(p.grants, g)
		left = left.Without(g.window.shape.need)
	}
	return given
}

// mostRounds bounds how often a decision asks again those whom resources keep back.
const mostRounds = 4

func (s *state) decideOne(p *pull, q *queue, left job.Room, n *needs) (*grant, decision) {
	s.settle()
	if len(s.supplies.by) > 0 {
		s.moment = s.now()
		s.askAgain()
	}
	if p.among = s.narrows.among(p); p.among != nil && p.among.wanted() {
		n.narrow(p.among)
		return nil, blocked
	}
	of, wait := s.contendersFor(p, q, left, n)
	if len(of.near) > 0 {
		defer of.leave()
	}
	if wait {
		return nil, blocked
	}
	of.ask()
	r, rounds := s.round(q.pool, left.Offered(q.Queue, p.most-len(p.grants))), 0
	if g, verdict, decided := s.gangsFirst(slotNow{p, q, left, of, r}, n); decided {
		return g, verdict
	}
	var passed []due
	for {
		if kind := of.keptBack(); kind != "" {
			n.lacked = kind
		}
		first, ok := s.choose(q, of, r, passed)
		if !ok && p.among != nil && p.among.mayHave(of) {
			n.narrow(p.among)
			return nil, blocked
		}
		if !ok && len(s.supplies.easing) > 0 && rounds < mostRounds {
			rounds++
			s.askAgain() // who was kept back moved aside for others
			continue
		}
		if !ok {
			return nil, s.noneYet(p, n)
		}
		found, in := of.best(first, q, n)
		switch {
		case in.limit != nil && n.asks(in.limit):
			return nil, blocked
		case found.window == nil && in.unmade != nil:
			if s.patient(p, in.unmade, n) {
				return nil, unmade
			}
		case found.window == nil && first.class() != "":
			passed = append(passed, first) // jobs of other classes may be there
		case found.window == nil && in.stands():
			of.keepBack(first.leaf, in)
		case found.window == nil:
			s.recheck(first.leaf, of)
		case !found.exact:
			of.unread(first.leaf, n)
			return nil, blocked
		default:
			asked := asked{pull: p.number, cores: left.Cores, most: p.most - len(p.grants)}
			return s.give(p, q, found, s.note(of, r, q, found, asked), n), given
		}
	}
}

// give takes the job out of its window and counts it as held; one of a gang is out of it already.
func (s *state) give(p *pull, q *queue, c choice, note *pickRecord, n *needs) *grant {
	job := c.job
	if job == nil {
		first := c.window.pop()
		job = &first
	}
	g := &grant{pull: p, window: c.window, job: *job, queue: q, units: c.units, note: note,
		share: s.version.Tree.Nodes[c.window.leaf].Path, nonce: newNonce(), of: s, lane: n.lane, spent: true, leaf: c.window.leaf}
	s.diary.number++
	g.number = s.diary.number
	s.holdClaims(g)
	g.serving = s.serve(c.window, q.pool)
	s.apply(g.move(), true)
	s.inflight[g.job.id] = g
	if len(s.narrows.by) > 0 {
		s.gone(g)
	}
	s.bookUnits(g)
	g.place = q.pool.book.Granted(c.window.leaf)
	g.owed = q.pool.owed.take(c.window.leaf, g.units)
	g.former, q.pool.lastGrant[c.window.leaf] = q.pool.lastGrant[c.window.leaf], g.number
	return g
}

// takeBack undoes what give has counted: the job was not ours, or the grant did not commit.
func (g *grant) takeBack() {
	delete(g.of.inflight, g.job.id)
	g.taken.giveBack()
	g.dropClaims()
	g.serving.undo()
	g.of.apply(g.undo(), g.spent)
	g.queue.pool.book.Ungranted(g.place)
	if g.owed != nil {
		g.owed.Units += g.units
	}
	if last := &g.queue.pool.lastGrant[g.leaf]; *last == g.number {
		*last = g.former
	}
	g.of.diary.noteGrant(wordBack, g)
}

// round is R of sharing.md §1 for a pull that offers these units.
func (s *state) round(p *pool, offered shares.Units) shares.Units {
	return shares.Round(p.full(), p.book.Held(0), offered)
}
