package resource

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/divvyhq/divvy/shares"
)

// weighted splits units with the solver of package shares, over a tree of groups and IDs. O(IDs) after each change.
type weighted struct {
	tree  *shares.Tree // nil: to be made, of the members that there are
	pool  *shares.Pool
	node  []int           // member → node of the tree; −1 for exempt ones
	who   []int32         // node → member; −1 for groups
	group []int32         // node → group; −1 for members
	given []int64         // by node
	place map[int32]int64 // who is below its allowance, in order; nil: to be made
	stale bool
}

// allowances fills in those of all members that are not exempt, and what they may hold without an odd unit.
func (w *weighted) allowances(p *Pool, out, floor []int64) {
	w.solve(p)
	exact := w.pool.Targets(shares.Units(p.part()) * 1000)
	for i, leaf := range w.node {
		if leaf >= 0 {
			out[i] = w.given[leaf]
			floor[i] = min(w.given[leaf], int64(exact[leaf]+shares.Tolerance)/1000)
		}
	}
}

// below is Pool.below.
func (w *weighted) below(p *Pool, i int32) (is bool, before int64) {
	w.solve(p)
	if p.members[i].held >= w.given[w.node[i]] {
		return false, 0
	}
	if w.place == nil {
		w.place = make(map[int32]int64)
		for n, j := range p.waiting() {
			w.place[j] = int64(n)
		}
	}
	return true, w.place[i]
}

// solve does nothing when nothing changed.
func (w *weighted) solve(p *Pool) {
	if !w.stale && w.tree != nil {
		return
	}
	if w.tree == nil {
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
	w.place, w.stale = nil, false
	w.given = w.pool.SlotsBy(shares.Units(p.part())*1000, func(a, b shares.Odd) int { return w.order(p, a, b) })
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
