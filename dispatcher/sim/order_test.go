package sim

import (
	"math"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// orderTruth judges which share is next: it goes by the weights, and by what is held and wanted.
type orderTruth struct {
	asks []*entry.Ask   // what the grants of the batch were asked for by, in their order
	had  map[string]int // grants of the batch, by pull
}

// asksOf is what the grants of a batch were asked for by; nil where it is not known.
func asksOf(b entry.Batch) orderTruth {
	o := orderTruth{had: map[string]int{}}
	for _, e := range b.Entries {
		if a, ok := e.(entry.Asked); ok {
			for _, kind := range a.Of {
				var ask *entry.Ask
				if i := int(kind - 'A'); 0 <= i && i < len(a.Pulls) {
					ask = &a.Pulls[i]
				}
				o.asks = append(o.asks, ask)
			}
		}
	}
	return o
}

// next is what the next grant of the batch was asked for by, and how many jobs its pull had before.
func (o *orderTruth) next(pull string) (ask *entry.Ask, had int) {
	if had = o.had[pull]; len(o.asks) > 0 {
		ask, o.asks = o.asks[0], o.asks[1:]
	}
	o.had[pull]++
	return ask, had
}

// standing is how shares stand at a queue, which is alone in its pool, by their ids.
type standing struct {
	tree           *shares.Tree
	held, demand   []int
	has            []bool // a job that may run is in or below the node
	slots, offered int
}

// judgeOrder judges whether a grant is of the share whose turn it is. Where jobs ask for units, or hold claims, this depends on more than is known here.
func (t *truth) judgeOrder(g *entry.Granted) {
	ask, had := t.order.next(g.Pilot)
	if len(t.plan.Shares) == 0 || t.plan.Units > 0 || t.plan.Claims || ask == nil || t.site.limited() {
		return
	}
	q := int(g.Queue) - 1
	s := standing{tree: t.tree, slots: t.site.Slots[q], offered: ask.Cores - had}
	s.of(t, q)
	got := min(s.demand[0], s.held[0]+s.offered)
	if s.slots > 0 {
		got = min(got, s.slots)
	}
	leaf, _ := s.tree.ByID(g.Share)
	if first, is := t.comesFirst(&s, poolOf(q)); is {
		if t.seen.Owed++; first.Share != g.Share {
			t.violate("job %d of share %d is granted at queue %d: share %d is owed %d and comes first", g.Job, g.Share, q, first.Share, first.Units)
		}
		return
	}
	target := float64(got)
	for node := 0; len(s.tree.Nodes[node].Children) > 0; {
		children := s.tree.Nodes[node].Children
		targets := s.fill(children, target)
		on, most := -1, math.Inf(-1)
		for i, c := range children {
			if s.has[c] {
				most = max(most, targets[i]-float64(s.held[c]))
			}
			if s.within(leaf, c) {
				on = i
			}
		}
		if short := targets[on] - float64(s.held[children[on]]); short < most-1e-5 {
			t.violate("job %d of share %d is granted at queue %d: %s is %.3f short of its target, and another share has a job and is %.3f short", g.Job, g.Share, q,
				s.tree.Nodes[children[on]].Path, short, most)
			return
		}
		t.seen.Turns++
		node, target = children[on], targets[on]
	}
}

// within says whether a leaf is a node, or below it.
func (s *standing) within(leaf, node int) (is bool) {
	s.tree.Up(leaf, func(i int) { is = is || i == node })
	return is
}

// of counts what shares hold, could use and have.
func (s *standing) of(t *truth, queue int) {
	n := len(s.tree.Nodes)
	s.held, s.demand, s.has = make([]int, n), make([]int, n), make([]bool, n)
	ready := map[shares.ShareID]int{}
	for _, j := range t.jobs {
		if j.ready {
			ready[j.Share]++
		}
	}
	for i, node := range slices.Backward(s.tree.Nodes) { // children before those above them
		if len(node.Children) == 0 {
			want := ready[node.ID]
			s.held[i] = t.shares[queue][node.ID]
			s.has[i] = want > 0 && !t.full(node.ID, queue)
			if s.slots > 0 {
				want = min(want, max(0, s.slots-s.held[i]))
			}
			s.demand[i] = s.held[i] + want
		}
		if most, is := node.Plan.Max.In(poolOf(queue)); is {
			s.demand[i] = min(s.demand[i], int(most/1000))
		}
		if up := node.Parent; up >= 0 {
			s.held[up] += s.held[i]
			s.demand[up] += s.demand[i]
			s.has[up] = s.has[up] || s.has[i]
		}
	}
}

// fill splits what a node gets over its children: first what they own, as far as they could use it, then the rest.
func (s *standing) fill(children []int, r float64) []float64 {
	most, own := make([]float64, len(children)), make([]float64, len(children))
	sum := 0.0
	for i, c := range children {
		own[i] = float64(min(s.demand[c], s.owned(c)))
		most[i] = float64(s.demand[c]) - own[i]
		sum += own[i]
	}
	if r <= sum {
		return s.level(children, r, own)
	}
	targets := s.level(children, r-sum, most)
	for i := range targets {
		targets[i] += own[i]
	}
	return targets
}

// owned is what a node and those below it own.
func (s *standing) owned(node int) int {
	sum := 0
	for _, c := range s.tree.Nodes[node].Children {
		sum += s.owned(c)
	}
	return max(sum, ownedBy(&s.tree.Nodes[node]))
}

// level splits by weight, and nobody gets more than its most. Who gets less than its part leaves the rest to the others.
func (s *standing) level(children []int, r float64, most []float64) []float64 {
	targets := make([]float64, len(children))
	open := make([]int, len(children))
	for i := range open {
		open[i] = i
	}
	for len(open) > 0 {
		weights := 0.0
		for _, i := range open {
			weights += s.tree.Nodes[children[i]].Plan.Weight
		}
		level, before := r/weights, len(open)
		open = slices.DeleteFunc(open, func(i int) bool {
			if most[i] > level*s.tree.Nodes[children[i]].Plan.Weight {
				return false
			}
			targets[i] = most[i]
			r -= most[i]
			return true
		})
		if len(open) == before {
			for _, i := range open {
				targets[i] = level * s.tree.Nodes[children[i]].Plan.Weight
			}
			break
		}
	}
	return targets
}
