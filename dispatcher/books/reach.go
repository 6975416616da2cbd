package books

import "github.com/divvyhq/divvy/shares"

const nClasses = 4

// Reach is which queues of a pool the leaf's jobs could use: their demand is bounded by it.
type Reach struct {
	queues  []bool                // by position
	power   map[*Fit]shares.Units // with which its jobs run there, where that is not the outline's; see site.powerAt
	cap     shares.Units
	bounded bool
	held    shares.Units // of this leaf at those queues
	targets bool         // one of them has target slots
	classes [nClasses]classReach
	stale   bool
}

// classReach is the same of the jobs of one class, where there are target slots.
type classReach struct {
	queues  []bool
	cap     shares.Units
	bounded bool
	held    shares.Units
}

// Work is jobs of a leaf that slots run alike.
type Work struct {
	Fit   *Fit
	Waits int64 // that are ready or to be made
}

// Wanting is a leaf with all its work, and what shares hold.
type Wanting struct {
	Node int
	Work []*Work
	Held Held
}

// NewReach is not measured yet.
func NewReach() *Reach { return &Reach{stale: true} }

// Forget has it measured anew: the leaf has other work.
func (r *Reach) Forget() { r.stale = true }

// Want is what a leaf could use in a pool beyond what it holds: units of its jobs that are ready or to be made, within the
// slots of the queues that could run them.
func (r *Reach) Want(t *Site, p *Pool, of Wanting) shares.Units {
	if r.stale {
		r.measure(t, p, of)
	}
	var byClass [nClasses]shares.Units
	for _, w := range of.Work {
		if w.Waits > 0 {
			power := w.Fit.Power[p]
			if r.power != nil {
				power = r.power[w.Fit]
			}
			byClass[w.Fit.ClassAt] += shares.Units(w.Waits*int64(w.Fit.Need.Cores)) * power
		}
	}
	var want shares.Units
	for class, units := range byClass {
		if c := &r.classes[class]; c.bounded {
			units = min(units, max(0, c.cap-c.held))
		}
		want += units
	}
	if r.bounded {
		want = min(want, max(0, r.cap-r.held))
	}
	return want
}

func (r *Reach) measure(t *Site, p *Pool, of Wanting) {
	*r = Reach{queues: make([]bool, len(t.Version.Queues)), bounded: true}
	for _, w := range of.Work {
		if w.Waits <= 0 {
			continue
		}
		for i, ok := range w.Fit.Queues {
			r.queues[i] = r.queues[i] || ok && t.Version.Queues[i].Pool == p.Name && t.MayRun(i, of.Node, w.Fit)
		}
		if len(t.Policies) > 0 {
			if r.power == nil {
				r.power = map[*Fit]shares.Units{}
			}
			r.power[w.Fit] = t.powerAt(of.Node, w.Fit, p)
		}
	}
	id := t.Version.Tree.Nodes[of.Node].ID
	for i, in := range r.queues {
		if !in {
			continue
		}
		q := t.Queues[t.Version.Queues[i].ID]
		r.targets = r.targets || len(q.Targets) > 0
		u, limited := t.MostAt(q, id, "")
		r.bounded = r.bounded && limited
		r.cap += u
	}
	if r.targets {
		r.measureClasses(t, of)
	}
	for key, h := range of.Held[id] {
		if q := t.Queues[key.Queue]; q != nil {
			r.Hold(q, h.Class, h.Units)
		}
	}
}

// measureClasses is measure for the jobs of each class by itself.
func (r *Reach) measureClasses(t *Site, of Wanting) {
	for _, w := range of.Work {
		if w.Waits <= 0 {
			continue
		}
		c := &r.classes[w.Fit.ClassAt]
		if c.queues == nil {
			c.queues, c.bounded = make([]bool, len(r.queues)), true
		}
		for i, fits := range w.Fit.Queues {
			if !fits || !r.queues[i] || c.queues[i] {
				continue
			}
			u, limited := t.MostAt(t.Queues[t.Version.Queues[i].ID], t.Version.Tree.Nodes[of.Node].ID, w.Fit.Class)
			c.queues[i], c.bounded = true, c.bounded && limited
			c.cap += u
		}
	}
}

// Hold counts what the leaf holds at a queue, if that is one of them.
func (r *Reach) Hold(q *Queue, class int, units shares.Units) {
	if r.stale || !r.queues[q.Pos] {
		return
	}
	r.held += units
	if !r.targets {
		return
	}
	if c := &r.classes[class]; c.queues != nil && c.queues[q.Pos] {
		c.held += units
	}
}
