package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// holdings is what jobs hold beside the slots of queues, and who may have more: again by a model of its own.
type holdings struct {
	site   *Site
	tree   *shares.Tree
	shares [2]map[shares.ShareID]int // leases that leaves pay for, by queue
	unitsTruth
	debts  []entry.Debt // in the order in which they come
	claims claimsTruth
	order  orderTruth
}

func newHoldings(p *Plan) holdings {
	h := holdings{unitsTruth: unitsTruth{capped: -1, reports: map[shares.QueueID]entry.Reported{}}}
	h.claims = claimsTruth{by: map[int64]*claimTruth{}, of: map[int64][]*claimTruth{}, taken: map[device]int64{}, start: map[*claimTruth]bool{}}
	for q := range h.shares {
		h.shares[q] = map[shares.ShareID]int{}
	}
	h.adopt(&p.Site)
	return h
}

func (h *holdings) adopt(s *Site) { h.site, h.tree = s, s.tree() }

// spots are the queues, by the nodes of pilots.
const spots = 2 * len(nodesOf)

func spotOf(queue, node int) int { return len(nodesOf)*queue + node }

// other follows what is not about single attempts.
func (t *truth) other(e entry.Entry) {
	switch e := e.(type) {
	case entry.Adopted:
		if e.Number > 1 {
			t.adopt([]*Site{t.plan.Later, t.plan.Third}[e.Number-2])
			t.templates(t.sites[e.Number-1])
			t.seen.Adopted++
		}
	case entry.Capped:
		t.capped = -1
		for _, c := range e.Capacities {
			t.capped = c.Units
		}
	case entry.Reported:
		t.reports[e.Queue] = e
	case entry.Placed:
		t.placed(e)
	case entry.Owed:
		t.owed(e)
	case entry.Moved:
		t.moved(e)
	case entry.Claimed:
		t.claimed(e)
	case entry.Joined:
		t.joined(e)
	case entry.Unclaimed:
		t.unclaimed(e.Claim)
	case entry.Took:
		t.claims.took = e
	default:
		t.verbs(e)
	}
}

// moved has jobs be of another share: those of one share, or all of the task.
func (t *truth) moved(e entry.Moved) {
	for id := e.Low; id <= e.High; id++ {
		j := t.jobs[id]
		if j == nil || j.over || j.Task != e.Task || e.From != 0 && j.Share != e.From {
			continue
		}
		t.seen.Moved++
		if j.Share, j.Place = e.Share, e.Place; j.lease != nil && e.Running {
			q := j.lease.Queue - 1
			t.shares[q][j.lease.pays]--
			t.shares[q][e.Share]++
			j.lease.pays = e.Share
		}
	}
}

// path calls visit for a share and all above it, but for the root.
func (h *holdings) path(share shares.ShareID, visit func(n *shares.Node, held func(queue int) int)) {
	node, ok := h.tree.ByID(share)
	if !ok {
		panic("no version is without the share")
	}
	h.tree.Up(node, func(i int) {
		n := &h.tree.Nodes[i]
		if n.ID != 0 {
			visit(n, func(queue int) int { return h.below(n, queue) })
		}
	})
}

// below is what a share and those below it hold at a queue.
func (h *holdings) below(n *shares.Node, queue int) (sum int) {
	if len(n.Children) == 0 {
		return h.shares[queue][n.ID]
	}
	for _, c := range n.Children {
		sum += h.below(&h.tree.Nodes[c], queue)
	}
	return sum
}

// full says whether a share or one above it holds as much at a queue as it may.
func (h *holdings) full(share shares.ShareID, queue int) (full bool) {
	h.path(share, func(n *shares.Node, held func(queue int) int) {
		most, is := n.Plan.Max.In(poolOf(queue))
		full = full || is && shares.Units(1000*(held(queue)+1)) > most
	})
	return full
}

// needs is what a job takes of the resource now: its own units, and those of its claims that nobody holds.
func (t *truth) needs(j *jobTruth, job int64) int64 {
	n := unitsOf(j.Shape)
	for _, c := range t.claims.of[job] {
		if c.state == pending {
			n += c.units()
		}
	}
	return n
}

// mayHold judges a grant, before it counts.
func (t *truth) mayHold(j *jobTruth, g *entry.Granted) {
	q := int(g.Queue) - 1
	if g.Share != j.Share || g.Place != j.Place {
		t.violate("job %d is granted at place %d of share %d, and is at %d of %d", g.Job, g.Place, g.Share, j.Place, j.Share)
	}
	if g.Shape != j.Shape {
		defer t.violate("job %d is granted with shape %d, and has %d", g.Job, g.Shape, j.Shape)
	}
	if t.full(j.Share, q) {
		t.violate("job %d is granted, and share %d holds as much as it may at queue %d", g.Job, j.Share, q)
	}
	if need := t.needs(j, g.Job); need > 0 {
		t.seen.Units++
		if held, most := t.unitsAt(g.Queue), t.usable(g.Queue); held+need > most {
			t.violate("job %d is granted %d units, and %d of %d are held", g.Job, need, held, most)
		}
	}
	t.judgeLending(j.Share, q)
	t.judgePlace(g)
	t.judgeOrder(g)
}

// hold counts what a lease takes.
func (t *truth) hold(l *leaseTruth) {
	t.shares[l.Queue-1][l.pays]++
	t.units[l.Queue-1] += unitsOf(t.jobs[l.Job].Shape)
	t.take(l)
	t.pay(l)
}

// release counts what it gives back.
func (t *truth) release(l *leaseTruth, e *entry.Ended) {
	t.shares[l.Queue-1][l.pays]--
	t.units[l.Queue-1] -= unitsOf(t.jobs[l.Job].Shape)
	t.leave(l.Job, e)
}

// supplied notes where there is a job now.
func (t *truth) supplied() {
	s := supply{at: t.world.now}
	for q, slots := range t.site.Slots {
		if t.ready == 0 || slots > 0 && t.held[q] >= slots {
			continue
		}
		for node := range nodesOf {
			s.has[spotOf(q, node)] = !t.plan.rich() || t.hasJob(q, node)
		}
	}
	t.supply = append(t.supply, s)
}

// hasJob says whether a pilot may get one of the jobs that are ready.
func (t *truth) hasJob(queue, node int) bool {
	if node > 0 && (!t.plan.Claims || t.claims.gangWaits()) {
		return false // nobody is there, or slots of the node may be held for a gang
	}
	if t.site.limited() {
		return false // what is idle may be so on purpose
	}
	for id, j := range t.jobs { // any: the order does not matter
		if j.ready && !t.full(j.Share, queue) && t.hasUnits(j, id, queueID(queue)) && t.admits(id, queue, node) {
			return true
		}
	}
	return false
}

// hasUnits says whether a job may have its units. Where users share them, units may be kept for others for a time.
func (t *truth) hasUnits(j *jobTruth, id int64, queue shares.QueueID) bool {
	need := t.needs(j, id)
	return need == 0 || !t.plan.ByUser && t.unitsAt(queue)+need <= t.usable(queue)
}

// recount holds what the machine of the log has of all this against the model.
func (t *truth) recount() {
	m := inside(t.machine)
	if m == nil {
		return
	}
	if t.recountAside(m); !t.plan.rich() {
		return
	}
	v := m.View()
	t.recountUnits(&v)
	held := map[shares.ShareID]int64{}
	for q := range t.shares {
		for share, n := range t.shares[q] {
			held[share] += int64(n)
		}
	}
	for share, n := range v.Jobs() {
		if n.Leased != held[share] {
			t.violate("the machine has %d leases of share %d, the log %d", n.Leased, share, held[share])
		}
		delete(held, share)
	}
	for _, share := range slices.Sorted(maps.Keys(held)) {
		if held[share] != 0 {
			t.violate("the machine has no lease of share %d, the log %d", share, held[share])
		}
	}
	t.recountClaims(&v)
}

// lingered has claims be nowhere that nobody has held for long.
func (t *truth) lingered(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(t.claims.by)) {
		if c := t.claims.by[id]; c.state == bound && len(c.holders) == 0 && !c.made.Outside() && !now.Before(c.since.Add(c.made.Template.Linger)) {
			t.unbind(c)
		}
	}
}
