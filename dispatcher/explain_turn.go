package dispatcher

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// turn compares the job's share with the others that have a job for a slot of this queue.
func (g *gates) turn(q *queue, out *QueueGate, head *headAt) {
	slot := job.Slot{Cores: q.Cores}
	if slot.Cores == 0 {
		slot.Cores = g.shape.need.Cores
	}
	left := job.RoomOf(slot, q.Queue)
	field := g.field(q, left)
	r := g.s.round(q.pool, left.Offered(q.Queue, 1))
	chosen, ok := g.s.choose(q, field, r, nil)
	winner := chosen.leaf
	if !ok || winner == g.leaf {
		out.Gate, out.Remote = GatePriority, g.shape.remote != nil && g.shape.remote[q.pos] && g.job.ID > g.s.elders.upTo
		if found := g.head(field, q); found.window != nil {
			if g.otherUser(found.window.user, q, out) {
				return
			}
			head.wider = q.Prefer == "wide" && found.window.shape.need.Cores > g.shape.need.Cores
			if found.exact {
				head.job = found.window.jobs[0].id
			}
		}
		return
	}
	targets := g.targets[targetKey{q.pool, r}]
	if targets == nil {
		targets = q.pool.book.Targets(r)
		g.targets[targetKey{q.pool, r}] = targets
	}
	first, own := parting(g.s.version.Tree, winner, g.leaf)
	out.Gate = GateShare
	out.First, out.Own = g.side(q.pool, targets, winner, first), g.side(q.pool, targets, g.leaf, own)
	out.Reason = fmt.Sprintf("%s comes first: %s; %s: %s", out.First.Share, sideWords(out.First), out.Own.Share, sideWords(out.Own))
	switch ahead := out.First.Deficit - out.Own.Deficit; {
	case chosen.floor != nil:
		out.Reason += "; " + g.s.floorWords(chosen.floor)
	case ahead < -shares.Tolerance/1000:
		out.Reason += "; units were reclaimed for the first"
	case ahead < shares.Tolerance/1000:
		out.Reason += "; it was served later"
	}
	if field.unmade(winner) {
		out.Reason += fmt.Sprintf("; jobs of %s are not made yet, pulls wait for them %s at the most", out.First.Leaf, makingMost*g.s.making.pause)
	}
}

func (g *gates) side(p *pool, targets []float64, leaf, node int) *Side {
	nodes := g.s.version.Tree.Nodes
	target, held := targets[node]/1000, p.book.Held(node).Float()
	return &Side{Leaf: nodes[leaf].Path, Share: nodes[node].Path, Deficit: target - held, Target: &target, Held: &held}
}

func sideWords(s *Side) string {
	return fmt.Sprintf("%s (target %s, held %s)", fromTarget(s.Deficit), figure(*s.Target), figure(*s.Held))
}

// field are the leaves with a job for such a slot that every hard limit admits. It is not that of decisions, which goes
// by what this daemon has in escrow: units that it has not asked for yet are no reason for a job to wait.
func (g *gates) field(q *queue, left job.Room) *contenders {
	shapes, near := make(bits, (len(g.s.byAt)+63)/64), []*outline(nil)
	alike := q.outlines
	if need := g.shape.need.Claims; need.Bound() { // a slot of that node may run these too
		alike = slices.Concat(alike, g.s.claims.nodes[need.Place()])
	}
	for _, sh := range alike {
		switch {
		case !left.Fits(sh.need):
		case sh.at < 0:
			near = append(near, sh)
		default:
			shapes[sh.at>>6] |= 1 << (sh.at & 63)
		}
	}
	var at *queue
	key := string(shapes.key(binary.LittleEndian.AppendUint64([]byte(q.pool.name+"\x00"), uint64(q.CorePowerMilli))))
	if len(near) > 0 {
		key += fmt.Sprintf(" %d of the node", len(near))
	}
	if g.s.apart(q) {
		at = q
		key += "\x00" + q.Name
	}
	if q.policy != nil {
		key += fmt.Sprintf("\x00policy %d", q.policy.number)
	}
	if c := g.fields[key]; c != nil {
		return c
	}
	c := &contenders{of: g.s, at: at, pool: q.pool, policy: q.policy, power: shares.Units(q.CorePowerMilli), shapes: shapes, near: near}
	for sh := range c.outlines() {
		for _, w := range sh.windows {
			if !w.opened && (w.backlog <= 0 || !w.group.unmade()) || !q.policy.admits(w.leaf) || q.pool.book.Contends(&c.leaves, w.leaf) {
				continue
			}
			if g.s.targetInTheWay(q, w.key.share, sh) != "" || g.keptBack(w, q) {
				continue
			}
			if _, ok := q.pool.book.Admits(w.leaf, shares.Units(sh.need.Cores)*c.power); ok {
				q.pool.book.Contend(&c.leaves, w.leaf, true)
			}
		}
	}
	q.pool.book.Contend(&c.leaves, g.leaf, true) // its job is ready, whatever its window has read
	g.fields[key] = c
	return c
}

// head is the job that the leaf would give a slot of the field.
func (g *gates) head(field *contenders, q *queue) (found choice) {
	for _, w := range g.s.leaves[g.leaf].windows {
		if field.runs(w.shape.outline) && w.open() {
			found.meet(field.choice(due{leaf: g.leaf}, w, q), g.s.leafOrder(g.leaf, q))
		}
	}
	return found
}

// finishGates says the rest once the position is known.
func (l *look) finishGates(e *Explanation) {
	for i := range e.Queues {
		q := &e.Queues[i]
		if q.Gate == GatePriority {
			l.heads[i].inTurn(q, e)
		}
		if gateOrder[q.Gate] > gateOrder[e.Gate] {
			e.Gate = q.Gate
		}
	}
}

// inTurn says when the turn of a job comes at a queue.
func (h *headAt) inTurn(q *QueueGate, e *Explanation) {
	p := e.Position
	switch {
	case q.Remote && h.job != 0 && h.job != e.Job:
		q.Reason = fmt.Sprintf("other jobs of %s come first here: it prefers a queue near its inputs", e.Share)
	case h.wider:
		q.Reason = fmt.Sprintf("wider jobs of %s go first at this queue", e.Share)
	case h.job == e.Job || p.Before == 0 && !p.More:
		q.Gate, q.Reason = GateNone, "the next slot that pulls here"+h.near+" gets it"
		if q.Pilots == 0 {
			q.Reason += ", but no pilot has pulled here in the last five minutes"
		}
	default:
		q.Reason = fmt.Sprintf("%s of %s come before it", positionWords(p), e.Share)
	}
}

func positionWords(p *Position) string {
	s := fmt.Sprintf("%d ready jobs", p.Before)
	if p.Before == 1 {
		s = "1 ready job"
	}
	if p.More {
		s = "more than " + s
	}
	return s
}
