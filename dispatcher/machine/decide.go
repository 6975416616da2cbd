package machine

import (
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// Decide gives the pull as many jobs as it may have, and applies what it gives. The queue must be of the site.
func (m *Machine) Decide(p Pull) (d Decision) {
	q := m.site.queues[p.Queue]
	if q == nil {
		return Decision{}
	}
	if m.moment = p.At; m.moment.Before(m.now) {
		m.moment = m.now
	}
	most := max(1, p.Most)
	left := job.RoomOf(p.Slot, q.Queue)
	for n := 0; n < most; n++ {
		r := round{state: m.state, pull: &p, queue: q, left: left, most: most - n, decision: &d}
		found, verdict := r.decide()
		if verdict != Given {
			if n == 0 {
				d.Verdict = verdict
			}
			break
		}
		d.Verdict = Given
		g := r.granted(found, n)
		if err := m.grant(g); err != nil {
			panic("the machine grants what it has not: " + err.Error())
		}
		d.Entries = append(d.Entries, g)
		left = left.Without(found.buffer.shape.need)
	}
	if d.Verdict != None {
		d.Lacked = Refusal{}
	}
	return d
}

// round is one decision: which job, if any, the room that is left of a slot gets.
type round struct {
	*state
	pull     *Pull
	queue    *queue
	left     job.Room
	most     int // jobs that the pull may still have
	kind     *kind
	narrow   *narrow // the jobs that the pull takes alone; nil: all
	decision *Decision
}

// mostRounds bounds how often a decision asks again those whom resources keep back.
const mostRounds = 4

func (r *round) decide() (choice, Verdict) {
	r.settle()
	r.supplies.askAgain()
	c, full := r.kinds.kindOf(r.pull, r.queue, r.left)
	if r.kind = c; full.Gate != "" {
		r.decision.Lacked = full
	}
	if r.narrow = r.narrowOf(r.pull); r.narrow != nil {
		return r.decideAmong()
	}
	c.ask()
	offered := r.queue.pool.round(r.left.Offered(r.queue.Queue, r.most))
	var passed []due
	for asked := 0; ; {
		first, ok := r.choose(offered, &c.leaves, passed)
		if !ok && len(r.supplies.easing) > 0 && asked < mostRounds {
			asked++
			r.supplies.askAgain() // who was kept back moved aside for others
			continue
		}
		if !ok {
			if kept := c.keptBack(); kept.Gate != "" {
				r.decision.Lacked = kept
			}
			return choice{}, None
		}
		found, in := r.best(first)
		switch {
		case found.buffer != nil:
			r.note(first, offered, &c.leaves)
			return found, Given
		case in.unmade != nil:
			if r.patient(in.unmade) {
				return choice{}, Unmade
			}
		case first.class() != "":
			passed = append(passed, first) // jobs of other classes may be there
		case in.stands():
			r.decision.Lacked = in.refusal(r.site.version.Tree)
			c.keepBack(first.leaf, in)
		default:
			c.review(first.leaf)
			if c.pool.book.Contends(&c.leaves, first.leaf) {
				panic("a leaf contends that has nothing: " + r.site.version.Tree.Nodes[first.leaf].Path)
			}
		}
	}
}

// choose is the leaf that the pull gets. First come those who are owed units, for which jobs of others were ended; then who
// holds less at the queue than its floor; else whom the tree says. A floor says who is next among those whom all limits
// admit, and nothing else: no target is another for it, and beyond the floor what is held counts as ever.
func (r *round) choose(offered shares.Units, contenders *shares.Contenders, passed []due) (d due, ok bool) {
	p := r.queue.pool
	if leaf, ok := p.owed.leafIn(p.book, contenders); ok {
		return due{leaf: leaf, owed: true}, true
	}
	if len(r.queue.floors) > 0 {
		if d, ok := r.dueByFloor(offered, contenders, passed); ok {
			return d, true
		}
	}
	d.leaf, ok = p.book.Choose(offered, contenders)
	return d, ok
}

// note keeps the contest of a choice that was just made.
func (r *round) note(first due, offered shares.Units, contenders *shares.Contenders) {
	if !r.pull.Contests {
		return
	}
	c := Contest{Rule: "share"}
	switch {
	case first.owed:
		c.Rule = "owed"
	case first.floor != nil:
		c.Rule = "floor"
	}
	if c.Rule == "share" {
		c.Contest, _ = r.queue.pool.book.Contest(offered, contenders)
	} else {
		c.Contest = shares.Contest{Winner: first.leaf, RunnerUp: -1}
	}
	r.decision.Contests = append(r.decision.Contests, c)
}

// granted is the entry of a choice, the nth of the pull.
func (r *round) granted(found choice, n int) entry.Granted {
	key := found.buffer.Key()
	return entry.Granted{Job: found.job.Low, Attempt: found.job.Attempt, Nonce: nonce(r.pull.Nonce, n), Task: found.job.Task, Share: key.Share,
		Shape: key.Shape, Place: found.job.Place, Queue: r.queue.ID, Units: shares.Units(int64(found.buffer.shape.need.Cores) * r.queue.CorePowerMilli),
		Pilot: r.pull.Pilot, Node: r.pull.Node, Request: r.pull.Request}
}

// nonce is the nth secret of a seed (splitmix64).
func nonce(seed int64, n int) int64 {
	z := uint64(seed) + uint64(n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64(z ^ z>>31)
}
