package dispatcher

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// outline is what shapes have in common that differ in their resources and sharing IDs only: all that says which slots may
// run their jobs. There are few of them, as many as kinds of jobs; of shapes there may be as many as users.
type outline struct {
	at      int              // its number here, without gaps; -1: one node can run its jobs, see contenders.enter
	need    job.Requirements // without resources
	class   string           // see job.Class
	classAt int              // in job.Classes
	queues  []bool           // that may run it, by position in version.Queues
	remote  []bool           // of them that it prefers not to; nil: it does not matter
	power   map[string]shares.Units
	first   int32     // a shape that has it
	shapes  []*shape  // that ask for resources or hold some, or name users
	windows []*window // on a leaf of the present tree
	nOpen   int       // of them
	pilots  int       // its queues that pilots asked at lately
	sum     *outline  // of one of a node: what those of all nodes of its queue have in common
}

// outlineOf finds or makes the outline of requirements.
func (s *state) outlineOf(need job.Requirements, first int32) *outline {
	need.Resources, need.SharingID, need.User = nil, "", ""
	if need.Claims != nil && need.Claims.Resources != nil {
		claims := *need.Claims
		need.Claims, claims.Resources = &claims, nil
	}
	key, err := json.Marshal(need)
	if err != nil {
		panic(err) // plain values: it cannot be
	}
	o := s.outlines[string(key)]
	if o == nil {
		o = &outline{at: -1, need: need, class: job.Class(need), first: first}
		o.classAt = slices.Index(job.Classes, o.class)
		s.outlines[string(key)] = o
		if need.Claims.Bound() {
			o.sum, s.ofNodes = s.sumOf(o), append(s.ofNodes, o)
		} else {
			o.at, s.byAt = len(s.byAt), append(s.byAt, o)
		}
		s.place(o)
		s.claims.know(o)
	}
	return o
}

// sumOf finds or makes the outline that jobs of an outline of one node are counted by where their demand is asked for: what
// leaves want of queues costs no more for the nodes that there are. No window has it.
func (s *state) sumOf(o *outline) *outline {
	need := o.need
	claims := *need.Claims
	need.Claims, claims.Node, claims.Devices, claims.OnNode = &claims, "", nil, false
	for _, sum := range s.sums {
		if reflect.DeepEqual(sum.need, need) {
			return sum
		}
	}
	sum := &outline{at: -1, need: need, class: o.class, classAt: o.classAt, first: o.first}
	s.sums = append(s.sums, sum)
	return sum
}

// place finds the queues that may run an outline. Its windows are hung afterwards.
func (s *state) place(o *outline) {
	o.queues, o.power = make([]bool, len(s.version.Queues)), map[string]shares.Units{}
	o.remote = s.prefersElsewhere(o)
	o.windows, o.nOpen, o.pilots = nil, 0, 0
	for i, q := range s.version.Queues {
		if job.Fits(o.need, q, q.Labels) != "" {
			continue
		}
		o.queues[i] = true
		o.power[q.Pool] = max(o.power[q.Pool], shares.Units(q.CorePowerMilli))
		if o.sum != nil {
			o.sum.queues, o.sum.power = o.queues, o.power
		}
		e := s.queues[q.ID]
		if o.need.Claims.Bound() {
			e.bound = append(e.bound, o) // one a node: they are found by that, see claims.among
		} else {
			e.outlines = append(e.outlines, o)
		}
		if e.asked() {
			o.pilots++
		}
	}
}

// group is the windows of a leaf whose shapes have the same outline: what is in the way of one of them at a slot is in
// the way of all, but for resources.
type group struct {
	leaf    int
	outline *outline
	plain   *window // of the shape that asks for no resource and names no user; nil: there is none
	heads   map[headsKey]*heads
	kinds   int64     // of slots that there were when heads were made
	waits   int64     // jobs of all its windows that are ready or to come
	coming  int64     // of them, those to come
	passed  bool      // pulls do not wait for these, see makingMost
	asked   time.Time // when one first did, without a gap up to met
	met     time.Time // when one last did
	sum     *group    // that they are counted in as well; nil: none
}

// group finds or makes the group of an outline on a leaf.
func (s *state) group(leaf int, o *outline) *group {
	l := &s.leaves[leaf]
	if o.sum != nil {
		g := l.near[o]
		if g == nil {
			if l.near == nil {
				l.near = map[*outline]*group{}
			}
			g = &group{leaf: leaf, outline: o, sum: s.group(leaf, o.sum)}
			l.near[o] = g
		}
		return g
	}
	for _, g := range l.groups {
		if g.outline == o {
			return g
		}
	}
	g := &group{leaf: leaf, outline: o}
	l.groups = append(l.groups, g)
	return g
}

// groups are those of a leaf that slots of the kind may get jobs of, and maybe others.
func (c *contenders) groups(leaf int) []*group {
	l := &c.of.leaves[leaf]
	all := slices.Clip(l.groups)
	for _, o := range c.near {
		if g := l.near[o]; g != nil {
			all = append(all, g)
		}
	}
	return all
}

// recountWaits brings the count of a group up to date after the jobs of a window have changed.
func (w *window) recountWaits() {
	n, coming := max(0, w.ready+w.backlog), max(0, w.backlog)
	for g := w.group; g != nil; g = g.sum {
		g.waits += n - w.waits
		g.coming += coming - w.coming
	}
	w.waits, w.coming = n, coming
}

// groupWaits is how many jobs stand for the demand that those of the window are part of.
func (w *window) groupWaits() int64 {
	switch {
	case w.group == nil:
		return 0
	case w.group.sum != nil:
		return w.group.sum.waits
	}
	return w.group.waits
}
