package dispatcher

import (
	"encoding/json"
	"slices"

	"github.com/divvyhq/divvy/shares"
)

// outline is what shapes have in common that differ in their resources and sharing IDs only: all that says which slots may
// run their jobs. There are few of them, as many as kinds of jobs; of shapes there may be as many as users.
type outline struct {
	at      int          // its number here, without gaps
	need    Requirements // without resources
	class   string       // see JobClass
	classAt int          // in JobClasses
	queues  []bool       // that may run it, by position in version.Queues
	power   map[string]shares.Units
	first   int32     // a shape that has it
	shapes  []*shape  // that ask for resources, or hold some
	windows []*window // on a leaf of the present tree
	nOpen   int       // of them
	pilots  int       // its queues that pilots asked at lately
}

// outlineOf finds or makes the outline of requirements.
func (s *state) outlineOf(need Requirements, first int32) *outline {
	need.Resources, need.SharingID = nil, ""
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
		o = &outline{at: len(s.byAt), need: need, class: JobClass(need), first: first}
		o.classAt = slices.Index(JobClasses, o.class)
		s.outlines[string(key)], s.byAt = o, append(s.byAt, o)
		s.place(o)
		s.claims.know(o)
	}
	return o
}

// place finds the queues that may run an outline. Its windows are hung afterwards.
func (s *state) place(o *outline) {
	o.queues, o.power = make([]bool, len(s.version.Queues)), map[string]shares.Units{}
	o.windows, o.nOpen, o.pilots = nil, 0, 0
	for i, q := range s.version.Queues {
		if fitsQueue(o.need, q, q.Labels) != "" {
			continue
		}
		o.queues[i] = true
		o.power[q.Pool] = max(o.power[q.Pool], shares.Units(q.CorePowerMilli))
		e := s.queues[q.ID]
		if o.need.Claims.bound() {
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
	plain   *window           // of the shape that asks for no resource; nil: there is none
	heads   map[*queue]*heads // by the queue that they are for alone; nil: for all
	kinds   int64             // of slots that there were when heads were made
	waits   int64             // jobs of all its windows that are ready or to come
}

// group finds or makes the group of an outline on a leaf.
func (s *state) group(leaf int, o *outline) *group {
	for _, g := range s.leaves[leaf].groups {
		if g.outline == o {
			return g
		}
	}
	g := &group{leaf: leaf, outline: o}
	s.leaves[leaf].groups = append(s.leaves[leaf].groups, g)
	return g
}

// recountWaits brings the count of a group up to date after the jobs of a window have changed.
func (w *window) recountWaits() {
	n := max(0, w.ready+w.backlog)
	if w.group != nil {
		w.group.waits += n - w.waits
	}
	w.waits = n
}

func (w *window) groupWaits() int64 {
	if w.group == nil {
		return 0
	}
	return w.group.waits
}
