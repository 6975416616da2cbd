package machine

import (
	"iter"
	"time"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/running"
	"github.com/divvyhq/divvy/shares"
)

// View shows a machine as it stands, for explanations, standings and metrics. It changes nothing that a decision goes by, and
// holds until the machine is given the next entry. The values that it returns are the caller's.
type View struct {
	Site      shares.Version // in force, its tree with the plans of PlansAt
	Now       time.Time      // of the last Tick
	PlansAt   time.Time
	NextPlans time.Time     // when others come into force; zero: never
	Patience  time.Duration // how long pulls wait at the most for jobs to be made

	state *state
}

// View returns the present one.
func (m *Machine) View() View {
	m.settle()
	return View{Site: m.site.Version, Now: m.now, PlansAt: m.site.At, NextPlans: m.site.Next, Patience: makingMost * m.making.pause, state: m.state}
}

// PoolView, QueueView and TargetView are how pools, queues and target slots stand; see package books.
type (
	PoolView   = books.PoolView
	QueueView  = books.QueueView
	TargetView = books.TargetView
)

// Pool returns how a pool stands; false when no queue is in it.
func (v View) Pool(name string) (PoolView, bool) { return v.state.site.PoolView(name) }

// Queue returns what runs at a queue of the site.
func (v View) Queue(id shares.QueueID) QueueView {
	return v.state.site.QueueView(id, v.state.supplies.polled[id], v.state.holes)
}

// Shape returns what the jobs of a shape need; false when no entry said so.
func (v View) Shape(id int32) (job.Requirements, bool) {
	sh := v.state.words.shapes[id]
	if sh == nil {
		return job.Requirements{}, false
	}
	return sh.full, true
}

// ReadyView counts the jobs of a share and shape that have no lease.
type ReadyView struct {
	Share    shares.ShareID
	Shape    int32
	User     string // empty: the share gives no turns
	Leaf     int    // node of the tree; -1: the share has gone
	Ready    int64
	First    int64  // job that comes first, of users the oldest; 0: none is ready
	Expected int64  // to be made
	Runs     []bool // queues whose figures admit them, by position in the site's; not to be changed
}

// Ready lists every share and shape that has or had ready jobs, by user where the share gives turns, in no order.
func (v View) Ready() iter.Seq[ReadyView] {
	return func(yield func(ReadyView) bool) {
		for key, b := range v.state.buffers {
			w := ReadyView{Share: key.Share, Shape: key.Shape, User: key.User, Leaf: b.leaf, Ready: b.Count(), Expected: b.expected, Runs: b.shape.Queues}
			if first, ok := b.First(); ok {
				w.First = first.Low
			}
			if !yield(w) {
				return
			}
		}
	}
}

// HeldView counts the leases of a share and shape at a queue; see books.HeldView.
type HeldView = books.HeldView

// Held lists what all shares hold, in no order.
func (v View) Held() iter.Seq[HeldView] { return v.state.held.All() }

// Leases returns the leases of a task, or of a share, in no order; 0: of any. It looks at every lease.
func (v View) Leases(task int64, share shares.ShareID) []Lease {
	return v.state.leases.Find(task, share)
}

// Running are attempts that have no order to end, part by part of all leases: see running.Leases.Unordered. They are not to be changed.
func (v View) Running(from, most int) (part iter.Seq[*running.Run], all int) {
	return v.state.leases.Unordered(from, most)
}

// UserView is how a user of a share stands in a pool.
type UserView struct {
	Name   string
	Held   shares.Units
	Wants  shares.Units // that ready jobs could use
	Served uint64       // number of the last grant; 0: there was none
}

// Users returns the users of a share that gives jobs by fair turn among them, in no order.
func (v View) Users(share shares.ShareID, pool string) (list []UserView) {
	leaf, ok := v.state.site.Leaf(share)
	if !ok || v.state.leaves[leaf].users == nil {
		return nil
	}
	for _, p := range v.state.site.Pools {
		if p.Name != pool {
			continue
		}
		for name, u := range v.state.leaves[leaf].users.By {
			list = append(list, UserView{Name: name, Held: u.Held[p], Served: u.Served[p], Wants: wantOf(v.state.leaves[leaf].mine[u], p)})
		}
	}
	return list
}

// wantOf is what ready jobs of buffers could use.
func wantOf(buffers []*buffer, p *books.Pool) (units shares.Units) {
	for _, b := range buffers {
		units += shares.Units(b.Count()*int64(b.shape.Need.Cores)) * b.shape.Power[p]
	}
	return units
}

// AheadView counts jobs of the share of a Question.
type AheadView struct {
	Shape  int32
	Before int64 // that come before its job, by place and age
	Ready  int64
	Other  bool // of another user, where the share gives turns: none of them counts as before
}

// Ahead counts the jobs that come before that of a question, by shape.
func (v View) Ahead(q Question) (list []AheadView) {
	sh := v.state.words.shapes[q.Shape]
	leaf, ok := v.state.site.Leaf(q.Share)
	if sh == nil || !ok {
		return nil
	}
	for _, b := range v.state.buffersOf(leaf) {
		w := AheadView{Shape: b.shape.id, Ready: b.Count(), Other: b.user != nil && b.user.Name != q.User}
		if !w.Other {
			w.Before = b.Ahead(q.Place, q.Job)
		}
		if w.Ready > 0 {
			list = append(list, w)
		}
	}
	return list
}

// keyOf is of the buffer that the job of a question is in.
func (a *asking) keyOf(q *Question) ready.Key {
	key := ready.Key{Share: q.Share, Shape: q.Shape}
	if a.givesTurns(q.Share) {
		key.User = q.User
	}
	return key
}

// buffersOf are the buffers of a leaf, but for those of jobs that claims bind to a node.
func (s *state) buffersOf(leaf int) (list []*buffer) {
	for _, g := range s.leaves[leaf].groups {
		list = append(list, g.buffers...)
	}
	return list
}
