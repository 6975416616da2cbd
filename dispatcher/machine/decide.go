package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/dispatcher/running"
	"github.com/divvyhq/divvy/shares"
)

// Decide gives the pull as many jobs as it may have, and applies what it gives. The queue must be of the site.
func (m *Machine) Decide(p Pull) (d Decision) {
	q := m.site.Queues[p.Queue]
	if q == nil {
		return Decision{}
	}
	m.supplies.Moment = later(p.At, m.now)
	if m.holes.Keeps(q.ID, m.now) {
		return Decision{Lacked: Refusal{Gate: gate.Hole, Ref: q.Name}}
	} else if m.holes.Has(q.ID) {
		p.Most, p.Beside = 1, nil
	}
	most := max(1, p.Most)
	left := job.RoomOf(p.Slot, q.Queue)
	nth := make([]int, 1+len(p.Beside))
	for nth[0] < most {
		r := round{state: m.state, pull: &p, queue: q, left: left, most: most - nth[0], nth: nth, decision: &d}
		found, verdict := r.decide()
		if verdict != Given {
			if nth[0] == 0 {
				d.Verdict = verdict
			}
			break
		}
		if found.buffer != nil {
			r.give(0, found, r.offer())
		}
		left = r.left
	}
	if nth[0] > 0 {
		d.Verdict = Given
	}
	if d.Verdict == Given || d.Verdict == Unmade {
		d.Lacked = Refusal{}
	}
	return d
}

// round is one decision: which job, if any, the room that is left of a slot gets.
type round struct {
	*state
	pull     *Pull
	queue    *books.Queue
	left     job.Room
	most     int   // jobs that the pull may still get
	nth      []int // jobs that it was granted, and after it the pulls beside it
	kind     *kind
	filtered *filtered          // the jobs of the task or user that the pull names; nil: all
	set      *shares.Contenders // the leaves with jobs for the pull
	offered  shares.Units       // R
	decision *Decision
	slot     *resource.Offer // devices and node of the slot, for claims; nil: not asked for yet
	guests   []*buffer       // buffers whose jobs are bound to the node by claims and fit the slot
	reserved map[int]bool    // pulls that wait for the gang for which the node is held, by Decision.To
	entered  []int           // leaves that contend for these alone
	looks    bool            // only looks: grants nothing
	asked    bool            // it is that of a question, whose slot has whatever claims ask for
}

// mostRounds bounds how often a decision asks again the jobs that resources keep back.
const mostRounds = 4

func (r *round) decide() (choice, Verdict) {
	r.settle()
	r.supplies.AskAgain()
	c, full := r.kinds.kindOf(r)
	if r.kind = c; full.Gate != "" {
		r.decision.Lacked = full
	}
	r.set = &c.leaves
	if r.filtered = r.filteredOf(r.pull); r.filtered != nil {
		r.set = &r.filtered.set
	} else {
		c.ask()
		r.meet()
		defer r.leave()
	}
	r.offered = r.queue.Home.Round(r.left.Offered(r.queue.Queue, r.most))
	if verdict, decided := (gathering{r}).gather(); decided {
		return choice{}, verdict
	}
	var passed []due
	for asked := 0; ; {
		first, ok := r.choose(passed)
		if !ok && r.filtered == nil && r.supplies.Easing() && asked < mostRounds {
			asked++
			r.supplies.AskAgain() // who was kept back moved aside for others
			continue
		}
		if !ok {
			if kept := c.keptBack(); r.filtered == nil && kept.Gate != "" {
				r.decision.Lacked = kept
			}
			return choice{}, None
		}
		found, in := r.best(first)
		if r.filtered != nil && in.Stands() {
			r.decision.Lacked = in.Refusal(r.site.Version.Tree)
		}
		switch {
		case found.buffer != nil:
			if r.pull.Contests {
				r.decision.Contests = append(r.decision.Contests, r.contest(first))
			}
			return found, Given
		case in.unmade != nil:
			if r.patient(in.unmade) {
				return choice{}, Unmade
			}
		case first.class() != "":
			passed = append(passed, first) // jobs of other classes may be there
		case r.filtered != nil:
			r.set.Set(c.pool.Book, first.leaf, false)
		case in.Stands():
			r.decision.Lacked = in.Refusal(r.site.Version.Tree)
			c.keepBack(first.leaf, in)
		default:
			c.review(first.leaf)
			if r.set.Has(c.pool.Book, first.leaf) {
				panic("a leaf contends that has nothing: " + r.site.Version.Tree.Nodes[first.leaf].Path)
			}
		}
	}
}

// choose is the leaf that the pull gets. First come those who are owed units, for which jobs of others were ended; then who
// holds less at the queue than its floor; else whom the tree says. A floor says who is next among those whom all limits
// admit, and nothing else: no target is another for it, and beyond the floor what is held counts as ever.
func (r *round) choose(passed []due) (d due, ok bool) {
	p := r.queue.Home
	if leaf, ok := p.Owed.LeafIn(p.Book, r.set); ok {
		return due{leaf: leaf, owed: true}, true
	}
	if len(r.queue.Floors) > 0 {
		f, leaf, ok := r.queue.DueByFloor(r.offered, r.set, func(f *books.Target, leaf int) bool {
			d := due{floor: f, leaf: leaf}
			return !slices.Contains(passed, d) && r.offersTo(d)
		})
		if ok {
			return due{floor: f, leaf: leaf}, true
		}
	}
	d.leaf, ok = r.set.Choose(p.Book, r.offered)
	return d, ok
}

// granted is the entry of a choice, the nth of the pull.
func (r *round) granted(p *Pull, found choice, n int) entry.Granted {
	key := found.buffer.log()
	return entry.Granted{Job: found.job.Low, Attempt: found.job.Attempt, Nonce: running.Nonce(p.Nonce, n), Task: found.job.Task, Share: key.Share,
		Shape: key.Shape, Place: found.job.Place, Queue: r.queue.ID, Units: shares.Units(int64(found.buffer.shape.Need.Cores) * r.queue.CorePowerMilli),
		Pilot: p.Pilot, Node: p.Node, Request: p.Request}
}

// give grants a choice to a pull: 0 is the one that is decided, i is Beside[i-1]. offer is what the claims of the job may take.
func (r *round) give(to int, found choice, offer resource.Offer) {
	p := r.pull
	if to > 0 {
		p = p.Beside[to-1]
	}
	g := r.granted(p, found, r.nth[to])
	if r.nth[to]++; to == 0 {
		r.left = r.left.Without(found.buffer.shape.Need)
	}
	if sh := found.buffer.shape; sh.base != sh {
		if devices, _, _ := r.claims.Pick(g.Job, offer); len(devices) > 0 {
			r.emit(to, entry.Took{Job: g.Job, Devices: devices})
		}
	}
	r.emit(to, g)
}

// emit applies an entry that was decided for a pull.
func (r *round) emit(to int, e entry.Entry) {
	var err error
	if g, is := e.(entry.Granted); is {
		err = r.grant(g)
	} else {
		err = r.sorts.claim(e)
	}
	if err != nil {
		panic("the machine decides what cannot be: " + err.Error())
	}
	r.decision.Entries = append(r.decision.Entries, e)
	if len(r.nth) > 1 {
		r.decision.To = append(r.decision.To, to)
	}
}
