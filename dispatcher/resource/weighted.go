package resource

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// weighted splits units with the solver of package shares, over a tree of groups and IDs: O(IDs log IDs).
//
// For few IDs that is done after each change. For many a solution is in force until so many changes or grants, or so much time,
// have passed that solving costs little beside them, see due and late; who is below what it gives them is known exactly all
// the time, in O(log IDs) a change. So of many IDs an allowance may lag behind demands, by a bounded part of all, and a
// free unit may be refused that a new solution gives, for a bounded time. Nothing is held back while there is
// enough for everybody.
type weighted struct {
	unseen
	tree  *shares.Tree // nil: to be made, of the members that there are
	pool  *shares.Pool
	node  []int   // member → node of the tree; −1 for exempt ones
	who   []int32 // node → member; −1 for groups
	group []int32 // node → group; −1 for members
	given []int64 // by node

	seq uint64    // the last grant before the solution
	at  time.Time // of the solution

	allow, floor []int64 // of the solution, by member: what each may have, and that without an odd unit
	low          order   // who is below its allowance, in order
	counted      []int64 // by member: its part of demand
	demand       int64   // of all members that are not exempt
}

const (
	mostExact   = 256                   // of so many IDs every change is followed at once
	changesEach = 16                    // of more: when an IDs' number by this has changed, or
	grantsEach  = 4                     // when a part by this of the units was granted;
	pauseEach   = 10 * time.Microsecond // by ID: no unit is refused by a solution that is older, and not up to date
)

func newWeighted(p *Pool) *weighted {
	return &weighted{unseen: unseen{stale: true}, low: newOrder(p.byName)}
}

// refresh counts what changed.
func (w *weighted) refresh(p *Pool) {
	for len(w.counted) < len(p.members) {
		w.counted = append(w.counted, 0)
	}
	for _, i := range w.dirty {
		w.queued[i] = false
		d := int64(0)
		if !p.members[i].exempt {
			d = p.members[i].demand()
		}
		w.demand += d - w.counted[i]
		w.counted[i] = d
		w.rank(p, i)
	}
	w.dirty = w.dirty[:0]
}

// rank puts a member at its place among those who are below their allowance, or takes it out.
func (w *weighted) rank(p *Pool, i int32) {
	if int(i) >= len(w.allow) {
		return // it came after the solution
	}
	m := &p.members[i]
	w.low.keep(i, !m.exempt && m.held < min(w.allow[i], w.counted[i]), m.precedence(w.floor[i]), int64(m.last))
}

// due says whether the solution is not to be gone by any more.
func (w *weighted) due(p *Pool) bool {
	n := len(p.members)
	return w.stale || w.changes > 0 && (n <= p.exactly || w.changes >= n/changesEach ||
		int64(p.seq-w.seq) >= max(1, p.part()/grantsEach))
}

// late is when the solution must not refuse a unit any more; zero when nothing has changed since.
func (w *weighted) late(p *Pool) (at time.Time) {
	if w.changes > 0 {
		at = w.at.Add(time.Duration(len(p.members)) * pauseEach)
	}
	return at
}

// again makes the solution anew for an answer that it would refuse, if it is late.
func (w *weighted) again(p *Pool, now time.Time) bool {
	if at := w.late(p); at.IsZero() || now.Before(at) && !now.Before(w.at) || p.part() >= w.demand {
		return false
	}
	w.stale = true
	w.solve(p, now)
	return true
}

// allowances are as they are now, by no solution that is behind.
func (w *weighted) allowances(p *Pool, out, floor []int64) {
	w.stale = w.stale || w.changes > 0
	w.refresh(p)
	w.solve(p, w.at)
	copy(out, w.allow)
	copy(floor, w.floor)
}

func (w *weighted) below(p *Pool, i int32, now time.Time) (is bool, before int64) {
	w.refresh(p)
	if p.part() >= w.demand {
		return p.members[i].held < w.counted[i], 0
	}
	w.solve(p, now)
	if !w.low.has(i) {
		return false, 0
	}
	n := &w.low.nodes[i]
	return true, w.low.ahead(i, n.key, n.then)
}

func (w *weighted) next(p *Pool, now time.Time) (ids []string, all bool) {
	if w.refresh(p); p.part() >= w.demand {
		return nil, true
	}
	w.solve(p, now)
	w.low.first(p.Usable()-p.held, func(i int32) { ids = append(ids, p.members[i].name) })
	return ids, false
}

// solve makes the solution anew if that is due.
func (w *weighted) solve(p *Pool, now time.Time) {
	if !w.due(p) {
		return
	}
	if w.tree == nil || len(w.node) < len(p.members) {
		w.build(p)
	}
	for i := range p.members {
		if leaf := w.node[i]; leaf >= 0 {
			m := &p.members[i]
			if d := shares.Units(max(0, m.held))*1000 - w.pool.Held(leaf); d != 0 {
				w.pool.Hold(leaf, d)
			}
			if want := shares.Units(m.wanted()) * 1000; want != w.pool.Want(leaf) {
				w.pool.SetWant(leaf, want)
			}
		}
	}
	w.stale, w.changes, w.seq, w.at = false, 0, p.seq, now
	part := shares.Units(p.part()) * 1000
	w.given = w.pool.SlotsBy(part, func(a, b shares.Odd) int { return w.order(p, a, b) })
	exact := w.pool.Targets(part)
	w.allow, w.floor = make([]int64, len(p.members)), make([]int64, len(p.members))
	w.low = newOrder(p.byName)
	for i, leaf := range w.node {
		if leaf >= 0 {
			w.allow[i] = w.given[leaf]
			w.floor[i] = min(w.given[leaf], int64(exact[leaf]+shares.Tolerance)/1000)
			w.rank(p, int32(i))
		}
	}
}

// order says who of two siblings gets an odd unit first: who holds one, then who waited longest, in proportion to the
// criterion of the quota method; then in the order of the tree, which is that of names.
func (w *weighted) order(p *Pool, a, b shares.Odd) int {
	if has := w.holds(a); has != w.holds(b) {
		return sign(has)
	}
	lastA, lastB := w.last(p, a.Node), w.last(p, b.Node)
	if a.Need == b.Need {
		return cmp.Compare(lastA, lastB)
	}
	return cmp.Or(cmp.Compare(b.Need*float64(p.seq-lastB+1), a.Need*float64(p.seq-lastA+1)), cmp.Compare(b.Need, a.Need))
}

func (w *weighted) holds(o shares.Odd) bool { return w.pool.Held(o.Node) > shares.Units(o.Units)*1000 }

func (w *weighted) last(p *Pool, node int) uint64 {
	if i := w.who[node]; i >= 0 {
		return p.members[i].last
	}
	return p.groups[w.group[node]].last
}

// build makes the tree of the groups and of all members but the exempt ones. Nodes are named by number: IDs may be
// anything.
func (w *weighted) build(p *Pool) {
	members := make([][]int32, len(p.groups))
	for i := range p.members {
		if m := &p.members[i]; !m.exempt {
			members[m.group] = append(members[m.group], int32(i))
		}
	}
	tree, err := shares.Build(specsOf(p, 0, members))
	if err != nil {
		panic("resource " + p.name + ": " + err.Error()) // Validate lets no weight pass that Build refuses
	}
	w.tree, w.pool = tree, shares.NewPool(tree, "")
	w.node, w.who, w.group = make([]int, len(p.members)), make([]int32, len(tree.Nodes)), make([]int32, len(tree.Nodes))
	for i := range w.node {
		w.node[i] = -1
	}
	for n := range tree.Nodes {
		w.who[n], w.group[n] = -1, -1
		if n == 0 {
			w.group[n] = 0
			continue
		}
		switch number, _ := strconv.Atoi(tree.Nodes[n].Name[1:]); tree.Nodes[n].Name[0] {
		case 'm':
			w.who[n], w.node[number] = int32(number), n
		case 'g':
			w.group[n] = int32(number)
		}
	}
}

// specsOf lists what is below a group: groups in the order of the site file, then members by name.
func specsOf(p *Pool, g int32, members [][]int32) (out []shares.Spec) {
	add := func(name string, weight float64, children []shares.Spec) {
		plan := shares.DefaultPlan()
		plan.Weight = weight
		out = append(out, shares.Spec{Name: name, Plan: plan, Children: children})
	}
	for c := range p.groups {
		if c > 0 && p.groups[c].parent == g {
			if children := specsOf(p, int32(c), members); len(children) > 0 {
				add("g"+strconv.Itoa(c), p.groups[c].weight, children)
			}
		}
	}
	slices.SortFunc(members[g], func(a, b int32) int { return cmp.Compare(p.members[a].name, p.members[b].name) })
	for _, i := range members[g] {
		add("m"+strconv.Itoa(int(i)), p.members[i].weight, nil)
	}
	return out
}
