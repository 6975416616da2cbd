package machine

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// Question asks whether a ready job would get a slot that is as large as a queue allows. The job need not be there: one that is
// not stands as the last or wherever its place and id say.
type Question struct {
	Share  shares.ShareID
	Shape  int32
	User   string // of the task
	Place  int64
	Job    int64
	Queues []shares.QueueID
	Ahead  int       // shares that stand before that of the job are named up to this number
	At     time.Time // the caller's clock; zero: that of the last Tick
}

// Turn is what comes before a job that no gate keeps back.
type Turn string

// The turns.
const (
	TurnNone     Turn = "none"     // nothing: it gets the next slot
	TurnShare    Turn = "share"    // another share
	TurnUser     Turn = "user"     // another user of its share
	TurnPriority Turn = "priority" // another job of its share, or of its user
)

// Answer is what the machine says of a job at a queue.
type Answer struct {
	Queue    shares.QueueID
	Slot     job.Slot  // that was thought of
	Refusals []Refusal // the first gate that refuses at each stage: queue and pool, share, resources; empty: none does
	Shortage *Shortage // of the resource that refuses

	Turn     Turn // without refusals
	Round    shares.Units
	First    Next        // what the slot would get
	Rule     string      // why its leaf comes first: share, floor or owed
	Floor    *TargetView // of the rule
	Deficit  float64     // of its side where the paths part, in thousandths; with TurnShare
	Own      float64     // the same of the job's side
	Trail    []float64   // deficits down to the leaf that comes first
	OwnTrail []float64   // and down to the job's
	Before   []int       // leaves that stand before the job's, in their order
	Remote   bool        // the job prefers other queues for a time
	Wider    bool        // the queue prefers the first job for its cores
}

// Next is the job that a slot would get.
type Next struct {
	Leaf   int    // node of the tree
	Job    int64  // 0: the jobs that come first are still to be made
	User   string // whose it is, where the share gives turns to users
	Served uint64 // when the user was served last
}

// asking is a question under work. It decides as a round does, and changes nothing: neither kinds nor heads, nor what supplies
// and generators are known for.
type asking struct {
	*state
	*Question
	own    *buffer // the job's; where there is none yet it hangs nowhere
	moment time.Time
	fields map[string]*field
	passed map[*group]bool // jobs that are not made yet and for which a pull would not wait
}

// field is the leaves that have jobs for a kind of slot.
type field struct {
	leaves shares.Contenders
	first  *due // the leaf that comes first; nil: not known, or another one at each queue
	group  *group
}

// Ask answers for each queue of a question; nil when the machine knows no such shape, or the share is no leaf.
func (v View) Ask(q Question) (answers []Answer) {
	a := asking{state: v.state, Question: &q, moment: later(q.At, v.Now), fields: map[string]*field{}, passed: map[*group]bool{}}
	if a.own = a.bufferOf(); a.own == nil {
		return nil
	}
	for _, id := range q.Queues {
		if at := a.site.Queues[id]; at != nil {
			answers = append(answers, a.at(at))
		}
	}
	return answers
}

// bufferOf finds the buffer of the job, or makes one that hangs nowhere.
func (a *asking) bufferOf() *buffer {
	sh := a.words.shapes[a.Shape]
	leaf, ok := a.site.Leaf(a.Share)
	if sh == nil || !ok {
		return nil
	}
	key := a.sorts.keyOf(ready.Key{Share: a.Share, Shape: a.Shape}, nil, a.User)
	if b := a.buffers[key]; b != nil {
		return b
	}
	l := &a.leaves[leaf]
	b := &buffer{Buffer: ready.NewSet().Buffer(key), shape: sh, leaf: leaf, headed: sh.headed || l.users != nil,
		wants: gate.Wants{Asked: &sh.asked, Share: a.Share}, group: &group{leaf: leaf, outline: sh.outline}}
	if i := slices.IndexFunc(l.groups, func(g *group) bool { return g.outline == sh.outline }); i >= 0 {
		b.group = l.groups[i]
	}
	if l.users != nil {
		if b.user = l.users.By[a.User]; b.user == nil {
			b.user = l.users.Stranger(a.User)
		}
	}
	return b
}

func (a *asking) at(q *books.Queue) (out Answer) {
	sh, leaf := a.own.shape, a.own.leaf
	out.Queue, out.Slot.Cores = q.ID, q.Cores
	if q.Cores == 0 {
		out.Slot.Cores = sh.Need.Cores
	}
	left := job.RoomOf(out.Slot, q.Queue)
	if !a.site.MayRun(q.Pos, leaf, &sh.Fit) || !left.Fits(sh.Need) {
		out.Refusals = []Refusal{{Gate: gate.Site, Ref: q.Name}}
		return out
	}
	r, f := a.round(q, left)
	if l, units := q.Full(sh.Need.Cores); l != nil {
		out.Refusals = append(out.Refusals, l.Refuses(units))
	}
	var in obstacle
	if !r.admitted(leaf, sh.outline, &in) {
		out.Refusals = append(out.Refusals, in.Refusal(a.site.Version.Tree))
	}
	if short, no := a.lacks(r, a.asks()); no.Gate != "" {
		out.Refusals, out.Shortage = append(out.Refusals, no), short
	}
	if len(out.Refusals) > 0 {
		return out
	}
	a.turn(r, f, &out)
	return out
}

// round is that of a pull at a queue. Queues that are alike have the same field.
func (a *asking) round(q *books.Queue, left job.Room) (*round, *field) {
	r := &round{state: a.state, pull: &Pull{Queue: q.ID, Until: a.moment}, queue: q, left: left, most: 1, decision: &Decision{}, asked: true}
	in, _ := a.kinds.runnable(r, nil)
	r.kind = a.kinds.newKind(q, in)
	key := a.kinds.keyOf(q, in, nil)
	key = binary.LittleEndian.AppendUint64(key, uint64(left.Offered(q.Queue, 1)))
	if len(q.Floors) > 0 {
		key = binary.LittleEndian.AppendUint32(key, uint32(q.ID))
	}
	f := a.fields[string(key)]
	if f == nil {
		f = &field{}
		a.fields[string(key)] = f
		a.gather(r, f)
	}
	for _, t := range q.Floors {
		if t.Class != "" && r.filtered == nil { // filtered knows the classes of a leaf's jobs
			r.filtered = a.filtered(r)
		}
	}
	return r, f
}

// gather has the leaves contend that have a job for the slot, or one to be made.
func (a *asking) gather(r *round, f *field) {
	for leaf := range a.leaves {
		for _, g := range a.leaves[leaf].groups {
			if g.Waits > 0 && r.kind.runs(g.outline) && r.kind.policy.Admits(leaf) && (g.Waits > g.coming || a.unmade(g)) {
				f.leaves.Set(r.kind.pool.Book, leaf, true)
				break
			}
		}
	}
	if r.kind.runs(a.own.shape.outline) {
		f.leaves.Set(r.kind.pool.Book, a.own.leaf, true)
	}
}

func (a *asking) filtered(r *round) *filtered {
	n := &filtered{leaves: map[int][]choice{}}
	for leaf := range a.leaves {
		for _, b := range a.buffersOf(leaf) {
			if job, ok := b.First(); ok && r.kind.runs(b.shape.outline) {
				n.leaves[leaf] = append(n.leaves[leaf], r.choice(b, job))
			}
		}
	}
	n.leaves[a.own.leaf] = append(n.leaves[a.own.leaf], r.choice(a.own, a.ownRange()))
	return n
}

// asks is the buffer by which the job asks for units: where its claims take some when they are bound, that in which it is ready.
func (a *asking) asks() *buffer {
	if p := a.claims.Of(a.Job); p != nil {
		if sh := a.words.variants[variantKey{a.Shape, p.Sort().Text()}]; sh != nil {
			key := a.own.Key()
			key.Shape = sh.id
			return cmp.Or(a.buffers[key], a.own)
		}
	}
	return a.own
}

func (a *asking) ownRange() ready.Range {
	return ready.Range{Place: a.Place, Low: a.Job, High: a.Job}
}

// unmade says whether a pull would wait for the jobs of a group, which has no others.
func (a *asking) unmade(g *group) bool { return g.unmade() && !a.passed[g] }

// buffersOf are the buffers of a leaf, but for those of jobs that claims bind to a node.
func (s *state) buffersOf(leaf int) (list []*buffer) {
	for _, g := range s.leaves[leaf].groups {
		list = append(list, g.buffers...)
	}
	return list
}
