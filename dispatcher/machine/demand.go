package machine

import "github.com/divvyhq/divvy/shares"

const nClasses = 4

// reach is which queues of a pool the leaf's jobs could use: their demand is bounded by it.
type reach struct {
	queues  []bool                    // by position
	power   map[*outline]shares.Units // with which its jobs run there, where that is not the outline's; see site.powerAt
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

// want is what a leaf could use in a pool beyond what it holds: units of its jobs that are ready or to be made, within the
// slots of the queues that could run them.
func (s *state) want(node int, p *pool) shares.Units {
	l := &s.leaves[node]
	r := l.reach[p]
	if r == nil {
		r = &reach{stale: true}
		if l.reach == nil {
			l.reach = map[*pool]*reach{}
		}
		l.reach[p] = r
	}
	if r.stale {
		s.measure(node, p, r)
	}
	var byClass [nClasses]shares.Units
	for _, g := range l.groups {
		if g.waits > 0 {
			power := g.outline.power[p]
			if r.power != nil {
				power = r.power[g.outline]
			}
			byClass[g.outline.classAt] += shares.Units(g.waits*int64(g.outline.need.Cores)) * power
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

func (s *state) measure(node int, p *pool, r *reach) {
	t := s.site
	*r = reach{queues: make([]bool, len(t.version.Queues)), bounded: true}
	for _, g := range s.leaves[node].groups {
		if g.waits <= 0 {
			continue
		}
		for i, ok := range g.outline.queues {
			r.queues[i] = r.queues[i] || ok && t.version.Queues[i].Pool == p.name && t.mayRun(i, node, g.outline)
		}
		if len(t.policies) > 0 {
			if r.power == nil {
				r.power = map[*outline]shares.Units{}
			}
			r.power[g.outline] = t.powerAt(node, g.outline, p)
		}
	}
	id := t.version.Tree.Nodes[node].ID
	for i, in := range r.queues {
		if !in {
			continue
		}
		q := t.queues[t.version.Queues[i].ID]
		r.targets = r.targets || len(q.targets) > 0
		u, limited := t.mostAt(q, id, "")
		r.bounded = r.bounded && limited
		r.cap += u
	}
	if r.targets {
		s.measureClasses(node, r)
	}
	for key, h := range s.held[id] {
		if q := t.queues[key.queue]; q != nil && r.queues[q.pos] {
			r.hold(q, s.words.shapes[key.shape], h.units)
		}
	}
}

// measureClasses is measure for the jobs of each class by itself.
func (s *state) measureClasses(node int, r *reach) {
	t := s.site
	for _, g := range s.leaves[node].groups {
		if g.waits <= 0 {
			continue
		}
		c := &r.classes[g.outline.classAt]
		if c.queues == nil {
			c.queues, c.bounded = make([]bool, len(r.queues)), true
		}
		for i, fits := range g.outline.queues {
			if !fits || !r.queues[i] || c.queues[i] {
				continue
			}
			u, limited := t.mostAt(t.queues[t.version.Queues[i].ID], t.version.Tree.Nodes[node].ID, g.outline.class)
			c.queues[i], c.bounded = true, c.bounded && limited
			c.cap += u
		}
	}
}

// hold counts what the leaf holds at one of the queues.
func (r *reach) hold(q *queue, sh *shape, units shares.Units) {
	r.held += units
	if !r.targets {
		return
	}
	if c := &r.classes[sh.classAt]; c.queues != nil && c.queues[q.pos] {
		c.held += units
	}
}
