package books

import "github.com/divvyhq/divvy/shares"

const nClasses = 4

// Reach is which queues of a pool the leaf's jobs could use: their demand is bounded by it. The zero one is not measured yet.
type Reach struct {
	room
	power   map[*Fit]shares.Units // with which its jobs run there, where that is not the outline's; see site.powerAt
	targets bool                  // one of the queues has target slots: then there is
	classes [nClasses]room        // the same of the jobs of each class
	known   bool
}

// room is what jobs may hold of the queues that they could use.
type room struct {
	queues  []bool // by position
	cap     shares.Units
	bounded bool
	held    shares.Units // of this leaf at those queues
}

func newRoom(t *Site) room { return room{queues: make([]bool, len(t.Version.Queues)), bounded: true} }

// add adds the queue at a position, for jobs of a share and class.
func (r *room) add(t *Site, at int, share shares.ShareID, class string) {
	most, limited := t.MostAt(t.Queues[t.Version.Queues[at].ID], share, class)
	r.queues[at], r.bounded = true, r.bounded && limited
	r.cap += most
}

func (r *room) bound(want shares.Units) shares.Units {
	if r.bounded {
		want = min(want, max(0, r.cap-r.held))
	}
	return want
}

// Work is jobs of a leaf that slots run alike.
type Work struct {
	Fit   *Fit
	Waits int64 // that are ready or to be made
}

// Forget has it measured anew: the leaf has other work.
func (r *Reach) Forget() { r.known = false }

// Want is what a leaf with such work could use in a pool beyond what it holds: units of its jobs that are ready or to be made, within the
// slots of the queues that could run them.
func (r *Reach) Want(t *Site, p *Pool, node int, work []*Work, held Held) shares.Units {
	if !r.known {
		r.measure(t, p, node, work, held)
	}
	var byClass [nClasses]shares.Units
	for _, w := range work {
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
		want += r.classes[class].bound(units)
	}
	return r.bound(want)
}

func (r *Reach) measure(t *Site, p *Pool, node int, work []*Work, held Held) {
	*r = Reach{room: newRoom(t), known: true}
	for _, w := range work {
		if w.Waits <= 0 {
			continue
		}
		for i, ok := range w.Fit.Queues {
			r.queues[i] = r.queues[i] || ok && t.Version.Queues[i].Pool == p.Name && t.MayRun(i, node, w.Fit)
		}
		if len(t.Policies) > 0 {
			if r.power == nil {
				r.power = map[*Fit]shares.Units{}
			}
			r.power[w.Fit] = t.powerAt(node, w.Fit, p)
		}
	}
	id := t.Version.Tree.Nodes[node].ID
	for i, in := range r.queues {
		if in {
			r.add(t, i, id, "")
			r.targets = r.targets || len(t.Queues[t.Version.Queues[i].ID].Targets) > 0
		}
	}
	if r.targets {
		r.measureClasses(t, id, work)
	}
	for key, h := range held[id] {
		if q := t.Queues[key.Queue]; q != nil {
			r.Hold(q, h.Class, h.Units)
		}
	}
}

// measureClasses is measure for the jobs of each class by itself.
func (r *Reach) measureClasses(t *Site, share shares.ShareID, work []*Work) {
	for _, w := range work {
		if w.Waits <= 0 {
			continue
		}
		c := &r.classes[w.Fit.ClassAt]
		if c.queues == nil {
			*c = newRoom(t)
		}
		for i, fits := range w.Fit.Queues {
			if fits && r.queues[i] && !c.queues[i] {
				c.add(t, i, share, w.Fit.Class)
			}
		}
	}
}

// Hold counts what the leaf holds at a queue, if that is one of them.
func (r *Reach) Hold(q *Queue, class int, units shares.Units) {
	if !r.known || !r.queues[q.Pos] {
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
