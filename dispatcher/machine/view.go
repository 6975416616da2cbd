package machine

import (
	"iter"
	"time"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
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

// Lease returns the lease of a job; false if it has none.
func (v View) Lease(job int64) (Lease, bool) { return v.state.leases.Of(job) }

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
	p := v.state.site.Pool(pool)
	if p == nil {
		return nil
	}
	for name, u := range v.state.leaves[leaf].users.By {
		w := UserView{Name: name, Held: u.Held[p], Served: u.Served[p]}
		for _, b := range v.state.leaves[leaf].mine[u] {
			w.Wants += shares.Units(b.Count()*int64(b.shape.Need.Cores)) * b.shape.Power[p]
		}
		list = append(list, w)
	}
	return list
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

// JobsView counts live jobs by where they are.
type JobsView struct {
	Ready   int64
	Paused  int64 // would be ready if their task were not paused
	Waiting int64 // for a rule
	Leased  int64
}

// Jobs counts the live jobs of every share: a lease counts for the share that pays for it.
func (v View) Jobs() map[shares.ShareID]JobsView {
	all, s := map[shares.ShareID]JobsView{}, v.state
	add := func(set *ready.Set, to func(w *JobsView) *int64) {
		for share, n := range set.Shares() {
			w := all[share]
			*to(&w) += n
			all[share] = w
		}
	}
	add(s.ready, func(w *JobsView) *int64 { return &w.Ready })
	add(s.aside.Paused, func(w *JobsView) *int64 { return &w.Paused })
	add(s.aside.Waiting, func(w *JobsView) *int64 { return &w.Waiting })
	for share, of := range s.held {
		w := all[share]
		for _, n := range of {
			w.Leased += n.Jobs
		}
		all[share] = w
	}
	return all
}

// Job says where a job of a task is; the zero one counts nothing: it is over, or was never there.
func (v View) Job(task, id int64) (w JobsView) {
	s := v.state
	if l := s.leases.Run(id); l != nil && l.Task == task {
		w.Leased = 1
	}
	for set, n := range map[*ready.Set]*int64{s.ready: &w.Ready, s.aside.Paused: &w.Paused, s.aside.Waiting: &w.Waiting} {
		if set.Has(task, id, id) {
			*n = 1
		}
	}
	return w
}

// Shelves are the units of resources, which hold until the next entry and are not to be changed.
func (v View) Shelves() []gate.Shelf { return v.state.supplies.Shelves() }

// SharingID returns the ID that units of a resource are counted for.
func (v View) SharingID(of *shares.Resource, p gate.Payer, share shares.ShareID) string {
	return v.state.supplies.SharingID(of, p, share)
}

// Claims returns all claims that are not over, and the jobs that share them; nil: there are none.
func (v View) Claims() *gate.Saved { return v.state.claims.Save() }

// Claim returns one of them.
func (v View) Claim(id int64) (gate.Shown, bool) { return v.state.claims.Claim(id) }

// FreeDevices are those of a node that no claim has.
func (v View) FreeDevices(at resource.Place, devices []string) []string {
	return v.state.claims.Free(at, devices)
}

// GangWhys are why a gang did not start, by the nodes where this daemon tried it.
func (v View) GangWhys(claim int64) map[resource.Place]string { return v.state.sorts.nodes.Whys(claim) }

// GangHolds are the nodes of which this daemon holds slots for gangs.
func (v View) GangHolds(now time.Time) []gate.NodeHold { return v.state.sorts.nodes.Held(now) }

// Gang is that of a claim; false if it is over, or has started.
func (v View) Gang(claim int64) (gate.Gang, bool) {
	return v.state.claims.Gang(claim, v.state.sorts.countReady)
}
