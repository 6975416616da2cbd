package dispatcher

import (
	"fmt"
	"math"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// The gates in their order: the first that a job fails is the one that counts.
const (
	GateStructural      Gate = "structural"             // the queue does not run such jobs, or none now
	GatePaused          Gate = "paused"                 // its task does not want it to run
	GateBackoff         Gate = "backoff"                // it is tried again later, after an attempt that did not finish
	GateBlackHole       Gate = "black_hole"             // the queue fails nearly all that it gets, and has a job now and then
	GateCap             Gate = "cap"                    // the slots of the queue, the capacity of the pool, a max up the path or target slots are used up
	GateLending         Gate = "lending"                // units are idle that their owner does not lend, or that it may not borrow
	GateTemplateMissing Gate = "claim_template_missing" // neither the task nor the site has the template of a claim
	GateClaimMissing    Gate = "claim_missing"          // a claim that people are to make is not there
	GateClaimDraining   Gate = "claim_draining"         // it is being given up
	GateClaimNode       Gate = "claim_needs_node"       // no pilot says on which node it is
	GateClaimElsewhere  Gate = "claim_bound_elsewhere"  // others hold it on another node
	GateClaimDevices    Gate = "claim_needs_devices"    // no pilot has enough free devices
	GateClaimFull       Gate = "claim_full"             // as many hold it as may
	GateGangWaiting     Gate = "gang_waiting"           // not all that start together fit on a node

	GateResourceUnknown   Gate = "resource_unknown"   // the site does not have a resource that it asks for
	GateResourceCapacity  Gate = "resource_capacity"  // all units are held
	GateResourceExternal  Gate = "resource_external"  // others use them outside of this site
	GateResourceReserved  Gate = "resource_reserved"  // they are kept for a job that was passed over for long
	GateResourceAllowance Gate = "resource_allowance" // its sharing ID holds its part, the rest is kept for others
	GateResourceIO        Gate = "resource_io"        // what runs at the queue reads and writes as much as it may

	GateShare    Gate = "share"    // another share is further below its target
	GateUser     Gate = "user"     // another user of its share holds less
	GatePriority Gate = "priority" // other jobs of its share come first
	GateNone     Gate = "none"     // nothing: it gets the next slot
)

var gateOrder = map[Gate]int{GateStructural: 1, GatePaused: 2, GateBackoff: 2, GateBlackHole: 3, GateCap: 4, GateLending: 5,
	GateTemplateMissing: 6, GateClaimMissing: 7, GateClaimDraining: 8, GateClaimNode: 9, GateClaimElsewhere: 10, GateClaimDevices: 11,
	GateClaimFull: 12, GateGangWaiting: 13,
	GateResourceUnknown: 14, GateResourceCapacity: 15, GateResourceExternal: 16, GateResourceReserved: 17, GateResourceAllowance: 18,
	GateResourceIO: 19, GateShare: 20, GateUser: 21, GatePriority: 22, GateNone: 23}

// look is what was seen of a job under the lock.
type look struct {
	leaf       int // -1: its share has gone, or the daemon does not know its kind yet
	need       job.Requirements
	shapes     []int32 // of the share's windows with ready jobs, and where each begins
	fromPlaces []int64
	fromIDs    []int64
	ready      int64
	flows      []flow // by pool
	ahead      []aheadRow
	heads      []headAt // by queue, as the gates of the explanation are
}

// headAt is what is known of the job that comes first at a queue.
type headAt struct {
	job   int64
	near  string
	wider bool
}

// lookAt fills in what follows from the state of this daemon.
func (d *Dispatcher) lookAt(j *subject, ends []endRate, e *Explanation) *look {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	s.settle()
	e.Version = s.version.Number
	l := &look{leaf: -1}
	sh := s.shapes[j.ShapeID]
	leaf, ok := s.version.Tree.ByID(j.ShareID)
	if sh == nil || !ok || !s.version.Tree.Leaf(leaf) {
		return l
	}
	l.leaf, l.need = leaf, sh.need
	for _, w := range s.leaves[leaf].windows {
		if w.user != nil && w.user.name != sh.full.User { // jobs of others do not come before it, whatever their places are
			l.ready += max(0, w.ready)
			continue
		}
		if w.ready > 0 || w.shape == sh {
			from := w.begins()
			l.shapes, l.fromPlaces, l.fromIDs = append(l.shapes, w.shape.id), append(l.fromPlaces, from.place), append(l.fromIDs, from.id)
			l.ready += max(0, w.ready)
		}
	}
	for _, name := range s.poolNames() {
		if p := s.pools[name]; s.powerAt(leaf, sh.outline, p) > 0 {
			path := s.pathIn(p, leaf)
			r := shares.Units(math.Round(path.Round * 1000))
			f := s.flowOf(p, leaf, r, ends)
			f.part *= s.userPart(leaf, sh, p, r)
			f.units = shares.Units(sh.need.Cores) * s.powerAt(leaf, sh.outline, p)
			f.sizes = s.sizesIn(p, leaf, l.shapes)
			path.AtTarget = f.atTarget
			e.Pools, l.flows = append(e.Pools, path), append(l.flows, f)
		}
	}
	g := gates{s: s, job: j, shape: sh, leaf: leaf, fields: map[string]*contenders{}, targets: map[targetKey][]float64{}}
	for _, q := range s.version.Queues {
		gate, head := g.at(s.queues[q.ID])
		e.Queues, l.heads = append(e.Queues, gate), append(l.heads, head)
	}
	return l
}

// begins is a stand before which no job of the window is ready. Where other daemons lease too it is of their last look at the
// slices of all, some seconds ago.
func (w *window) begins() stand {
	switch {
	case len(w.jobs) == 0 || !w.exact():
		return stand{place: minPlace}
	case !w.slice.all() && w.ground.at.before(w.jobs[0].stand):
		return w.ground.at
	}
	return w.jobs[0].stand
}

// poolNames lists the pools in the order of their first queue.
func (s *state) poolNames() (names []string) {
	seen := map[string]bool{}
	for _, q := range s.version.Queues {
		if !seen[q.Pool] {
			seen[q.Pool] = true
			names = append(names, q.Pool)
		}
	}
	return names
}

// gates asks every queue about one job. Queues that are alike have the same field.
type gates struct {
	s       *state
	job     *subject
	shape   *shape
	leaf    int
	fields  map[string]*contenders
	targets map[targetKey][]float64
	nAsked  int // windows of others of which resources were asked
}

type targetKey struct {
	pool  *pool
	round shares.Units
}

// at is the first gate that the job does not pass at a queue.
func (g *gates) at(q *queue) (out QueueGate, head headAt) {
	out, head = QueueGate{Queue: q.Name, Pool: q.Queue.Pool, Pilots: len(q.pilots)}, headAt{near: g.near()}
	need := g.shape.need
	need.Claims = nil // a gate of its own, further down
	if reason := job.Fits(need, q.Queue, q.Labels); reason != "" {
		out.Gate, out.Reason = GateStructural, reason
		return out, head
	}
	if reason := job.ClosedTo(q.Queue, g.s.version.Tree.Nodes[g.leaf].Path); reason != "" {
		out.Gate, out.Reason = GateStructural, reason
		return out, head
	}
	if reason := q.passedOver(g.job, g.shape); reason != "" {
		out.Gate, out.Reason = GateStructural, reason
		return out, head
	}
	if g.job.State == "waiting" {
		out.Gate, out.Reason = GatePaused, waitsFor(g.job)
		if g.job.TryAt != nil {
			out.Gate = GateBackoff
		}
		return out, head
	}
	if h := g.s.holes[q.ID]; h != nil {
		out.Gate, out.Reason = GateBlackHole, h.Words(g.s.version.Attempts)
		return out, head
	}
	if out.Gate, out.Reason = g.s.admits(q, g.leaf, g.shape); out.Gate != "" {
		return out, head
	}
	if out.Gate, out.Reason = g.claimed(q); out.Gate != "" {
		return out, head
	}
	if out.Gate, out.Reason = g.scarce(q); out.Gate != "" {
		return out, head
	}
	g.turn(q, &out, &head)
	return out, head
}

// admits says which hard limit keeps a job of a leaf from a queue, by what all daemons hold; "" when none does.
func (s *state) admits(q *queue, leaf int, sh *shape) (Gate, string) {
	cores := sh.need.Cores
	if q.Slots != nil && q.heldCores+int64(cores) > int64(*q.Slots) {
		return GateCap, fmt.Sprintf("%d of the queue's %d slots are held, it needs %d", q.heldCores, *q.Slots, cores)
	}
	units := shares.Units(int64(cores) * q.CorePowerMilli)
	if c := q.pool.capacity; c != shares.Unlimited && q.pool.book.Held(0)-q.pool.heldOffline+units > c {
		return GateCap, fmt.Sprintf("%s of the pool's %s units are held, it needs %s",
			figure((q.pool.book.Held(0) - q.pool.heldOffline).Float()), figure(c.Float()), figure(units.Float()))
	}
	if full := s.targetInTheWay(q, s.version.Tree.Nodes[leaf].ID, sh.outline); full != "" {
		return GateCap, full
	}
	no, ok := q.pool.book.Admits(leaf, units)
	if ok {
		return "", ""
	}
	node := s.version.Tree.Nodes[no.Node]
	held := figure(q.pool.book.Held(no.Node).Float())
	switch no.Rule {
	case shares.RuleLend:
		return GateLending, fmt.Sprintf("%s keeps back what it owns and does not lend", node.Path)
	case shares.RuleBorrow:
		return GateLending, fmt.Sprintf("%s holds %s and may not borrow %s more", node.Path, held, figure(units.Float()))
	}
	most, capped := node.Plan.Max.In(q.pool.name)
	if !capped {
		return GateLending, fmt.Sprintf("%s units of the pool are held, and none is left that it may use", held)
	}
	return GateCap, fmt.Sprintf("max of %s is %s, it holds %s", node.Path, figure(most.Float()), held)
}
