package machine

import (
	"iter"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Look is what a pull would get next.
type Look struct {
	Verdict Verdict
	Grant   entry.Granted // of Given
	Lacked  Refusal
	Contest Contest // where the pull asks for contests
}

// Look decides which job a pull gets next that has had some already, and gives nothing. Gangs, which start in several pulls at once, are
// left out.
func (m *Machine) Look(p Pull, had []entry.Granted) (l Look) {
	q := m.site.Queues[p.Queue]
	if q == nil {
		return Look{Lacked: Refusal{Gate: gate.Site}}
	}
	m.supplies.Moment = later(p.At, m.now)
	left := job.RoomOf(p.Slot, q.Queue)
	for _, g := range had {
		if sh := m.words.shapes[g.Shape]; sh != nil {
			left = left.Without(sh.Need)
		}
	}
	var d Decision
	r := round{state: m.state, pull: &p, queue: q, left: left, most: max(1, p.Most) - len(had), nth: []int{len(had)}, decision: &d, looks: true}
	found, verdict := r.decide()
	l.Verdict, l.Lacked = verdict, d.Lacked
	if verdict == Given {
		l.Grant, l.Lacked = r.granted(&p, found, len(had)), Refusal{}
	}
	if len(d.Contests) > 0 {
		l.Contest = d.Contests[0]
	}
	return l
}

// Walltime returns the shortest walltime of a slot that runs the same jobs as the one that is given; 0 stays 0. Slots that state what is
// left of their life are alike by it.
func (m *Machine) Walltime(seconds int64) (least int64) {
	for _, o := range m.words.outlines {
		if w := o.Need.WalltimeS; w <= seconds {
			least = max(least, w)
		}
	}
	return max(least, min(1, seconds))
}

// Claims says whether a job holds claims, whether one of them is of a gang, and whether one that is bound with the job takes units.
func (m *Machine) Claims(job int64) (holds, gang, units bool) {
	for _, id := range m.claims.HeldBy(job) {
		c, _ := m.claims.Claim(id)
		holds, gang = true, gang || c.Template.Gang
		units = units || c.State == resource.ClaimPending && len(c.Template.Resources) > 0
	}
	return holds, gang, units
}

// Ranges are the live jobs without a lease as entries that would enqueue them, in no order, with whether they wait for a rule. Those of paused
// tasks are among them.
func (m *Machine) Ranges() iter.Seq2[entry.Enqueued, bool] {
	return func(yield func(entry.Enqueued, bool) bool) {
		for i, set := range [3]*ready.Set{m.ready, m.aside.Paused, m.aside.Waiting} {
			for b := range set.Buffers() {
				key := b.Key()
				if i == 0 {
					key = m.buffers[key].log()
				}
				for r := range b.Ranges() {
					user, _ := set.User(r.Task)
					if !yield(entry.Enqueued{Task: r.Task, Share: key.Share, Shape: key.Shape, Place: r.Place, Low: r.Low, High: r.High, Attempt: r.Attempt, User: user}, i == 2) {
						return
					}
				}
			}
		}
	}
}

// Shapes are all that the log has named, in no order.
func (m *Machine) Shapes() iter.Seq[entry.Shaped] {
	return func(yield func(entry.Shaped) bool) {
		for id, sh := range m.words.shapes {
			if id > 0 && !yield(entry.Shaped{Shape: id, Need: sh.full}) {
				return
			}
		}
	}
}

// Skipped is a leaf with ready jobs that did not contend.
type Skipped struct {
	Leaf int
	Gate gate.Gate // that kept its jobs back; empty: none of them fits the slot
}

// mostSkipped bounds the names in a Contest.
const mostSkipped = 8

// contest compares the leaf that comes first with the one that would without it, and says which stood before it and did not contend.
func (r *round) contest(first due) Contest {
	book, c := r.queue.Home.Book, Contest{Rule: first.rule(), Round: r.offered, Candidates: r.set.Len()}
	c.Contest, _ = r.set.Contest(book, r.offered)
	c.Skipped = r.kind.skipped(c.Winner, r.set, &c)
	if won := c.Winner; first.leaf != won { // the tree says another one, which comes second
		c.Contest = between(book, r.offered, first.leaf, won)
	}
	c.Trail = book.Trail(c.Winner, nil)
	return c
}

// between is a contest of two leaves, of which the first comes first whatever the tree says: by a floor, or by what it is owed.
func between(book *shares.Pool, offered shares.Units, first, second int) shares.Contest {
	var two shares.Contenders
	two.Set(book, first, true)
	two.Set(book, second, true)
	c, _ := two.Contest(book, offered)
	if c.Winner != first {
		c.Deficit, c.RunnerUpDeficit = c.RunnerUpDeficit, c.Deficit
	}
	c.Winner, c.RunnerUp = first, second
	return c
}

// skipped counts the leaves with ready jobs that do not contend, and returns the first of those that stand before the winner.
func (c *kind) skipped(winner int, contenders *shares.Contenders, n *Contest) (list []Skipped) {
	var aside shares.Contenders
	book := c.pool.Book
	for _, o := range c.state.words.byAt {
		for _, b := range o.buffers {
			if !b.opened || contenders.Has(book, b.leaf) || aside.Has(book, b.leaf) {
				continue
			}
			aside.Set(book, b.leaf, true)
			if c.gateOf(b.leaf) == "" {
				n.Unfit++
			} else {
				n.Barred++
			}
		}
	}
	for _, leaf := range aside.Ahead(book, winner, mostSkipped, nil) {
		list = append(list, Skipped{leaf, c.gateOf(leaf)})
	}
	return list
}

// gateOf is the gate that keeps the jobs of a leaf from slots of the kind.
func (c *kind) gateOf(leaf int) gate.Gate {
	if in := c.barred[leaf]; len(in) > 0 {
		return in[0].Gate
	}
	if in, ok := c.refused[leaf]; ok {
		return in.Refusal(c.state.site.Version.Tree).Gate
	}
	return c.starved[leaf]
}
