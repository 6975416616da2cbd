package shares

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func sumOver(nodes []int, f func(int) float64) (sum float64) {
	for _, n := range nodes {
		sum += f(n)
	}
	return sum
}

// TestTargetsShareOutEverything: without limits of lending, the children of a node get all that it has or all
// that they want; no more than demanded, no less than nothing.
func TestTargetsShareOutEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, lendingPlan)
		r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
		targets := p.Targets(r)
		for i, n := range p.tree.Nodes {
			if targets[i] < 0 || targets[i] > float64(p.Demand(i))+Tolerance {
				t.Fatalf("%q: target %v of demand %v", n.Path, targets[i], p.Demand(i))
			}
			if len(n.Children) == 0 {
				continue
			}
			given := sumOver(n.Children, func(c int) float64 { return targets[c] })
			wanted := sumOver(n.Children, func(c int) float64 { return float64(p.Demand(c)) })
			if math.Abs(given-min(targets[i], wanted)) > Tolerance {
				t.Fatalf("%q has %v, its children want %v and get %v", n.Path, targets[i], wanted, given)
			}
		}
	})
}

// TestSiblingsFirst: with weights only, units that a share leaves go up a level only when its siblings have
// all that they want.
func TestSiblingsFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, weightsOnly)
		r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
		leaf := rapid.SampledFrom(p.tree.Leaves()).Draw(t, "leaf")
		before := p.Targets(r)
		p.Hold(leaf, -p.Held(leaf))
		p.SetWant(leaf, 0)
		after := p.Targets(r)
		parent := p.tree.Nodes[leaf].Parent
		if after[parent] >= before[parent]-Tolerance {
			return // all of it stayed in the family
		}
		for _, c := range p.tree.Nodes[parent].Children {
			if c != leaf && after[c] < float64(p.Demand(c))-Tolerance {
				t.Fatalf("%q left units to another branch while %q has %v of %v", p.tree.Nodes[leaf].Path,
					p.tree.Nodes[c].Path, after[c], p.Demand(c))
			}
		}
	})
}

// TestMonotone: more to share never gives anyone less; more weight never gives its share less.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		specs := drawSpecs(t, lendingPlan, 3)
		tree, err := Build(specs)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPool(tree, "default")
		drawStanding(t, p)
		r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
		before := p.Targets(r)
		for i, more := range p.Targets(r + Units(rapid.Int64Range(1, 50_000).Draw(t, "more"))) {
			if more < before[i]-Tolerance {
				t.Fatalf("%q gets %v of more, %v of less", tree.Nodes[i].Path, more, before[i])
			}
		}
		node := rapid.IntRange(1, len(tree.Nodes)-1).Draw(t, "node")
		heavier := &Tree{Nodes: slices.Clone(tree.Nodes)}
		heavier.Nodes[node].Plan.Weight += float64(rapid.IntRange(1, 100).Draw(t, "weight"))
		q := NewPool(heavier, "default")
		copyStanding(q, p)
		if after := q.Targets(r); after[node] < before[node]-Tolerance {
			t.Fatalf("%q gets %v with more weight, %v before", tree.Nodes[node].Path, after[node], before[node])
		}
	})
}

func copyStanding(to, from *Pool) {
	for _, leaf := range from.tree.Leaves() {
		to.Hold(leaf, from.Held(leaf))
		to.SetWant(leaf, from.Want(leaf))
	}
}

// TestOrderDoesNotMatter: the same shares in another order get the same targets.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		specs := drawSpecs(t, anyPlan, 3)
		a, err := Build(specs)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Build(shuffled(t, specs))
		if err != nil {
			t.Fatal(err)
		}
		p, q := NewPool(a, "default"), NewPool(b, "default")
		drawStanding(t, p)
		for _, leaf := range a.Leaves() {
			there, _ := b.ByPath(a.Nodes[leaf].Path)
			q.Hold(there, p.Held(leaf))
			q.SetWant(there, p.Want(leaf))
		}
		r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
		first, second := p.Targets(r), q.Targets(r)
		for i, n := range a.Nodes {
			there, _ := b.ByPath(n.Path)
			if math.Abs(first[i]-second[there]) > Tolerance/10 {
				t.Fatalf("%q: %v in one order, %v in another", n.Path, first[i], second[there])
			}
		}
	})
}

func shuffled(t *rapid.T, specs []Spec) []Spec {
	if len(specs) == 0 {
		return nil
	}
	out := rapid.Permutation(specs).Draw(t, "order")
	for i := range out {
		out[i].Children = shuffled(t, out[i].Children)
	}
	return out
}

// TestSlotsSumUp: whole targets add up level by level and stay within quota of the exact solution of each
// level at its whole number.
func TestSlotsSumUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, lendingPlan)
		r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
		whole := p.Slots(r)
		if got, want := whole[0], int64(min(r, p.Demand(0)))/1000; got != want {
			t.Fatalf("root has %d, want %d", got, want)
		}
		e := exact{t: p.tree, pool: p.name, held: make([]int64, len(whole)), want: make([]int64, len(whole))}
		for _, leaf := range p.tree.Leaves() {
			e.held[leaf], e.want[leaf] = int64(p.Held(leaf)), int64(p.Want(leaf))
		}
		for i, n := range p.tree.Nodes {
			if len(n.Children) == 0 {
				continue
			}
			sum := sumOver(n.Children, func(c int) float64 { return float64(whole[c]) })
			if sum != float64(whole[i]) {
				t.Fatalf("%q has %d, its children %v", n.Path, whole[i], sum)
			}
			for k, q := range e.fill(n.Children, rat(whole[i]*1000)) {
				f, _ := q.Float64()
				low, high := math.Floor((f+Tolerance)/1000), math.Ceil((f-Tolerance)/1000)
				if got := float64(whole[n.Children[k]]); got < low || got > high {
					t.Fatalf("%q has %v, its quota is %v", p.tree.Nodes[n.Children[k]].Path, got, f/1000)
				}
			}
		}
	})
}

// TestWideJobs is the bound of §2 for jobs of several sizes: a grant leaves its share, and every share above
// it, over target by less than the job.
func TestWideJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPool(drawTree(t, lendingPlan), "default")
		capacity := Units(rapid.IntRange(8, 80).Draw(t, "capacity")) * 1000
		size := make(map[int]Units)
		for _, leaf := range p.tree.Leaves() {
			p.SetWant(leaf, MaxAmount)
			size[leaf] = rapid.SampledFrom([]Units{1000, 2000, 8000}).Draw(t, "size")
		}
		for {
			var cands []Candidate
			for _, leaf := range p.tree.Leaves() {
				if _, ok := p.Admits(leaf, size[leaf]); ok {
					cands = append(cands, Candidate{leaf, size[leaf]})
				} else if p.Held(leaf) < p.Demand(leaf) {
					return // held back by a cap that is no multiple of the job: then others go over, rightly
				}
			}
			r := Round(capacity, p.Held(0), 8000)
			targets := p.Targets(r)
			i, ok := pick(p, r, cands)
			if !ok || p.Held(0)+cands[i].Units > capacity {
				return
			}
			move(p, cands[i].Leaf, cands[i].Units)
			p.Granted(cands[i].Leaf)
			p.tree.Up(cands[i].Leaf, func(n int) {
				if over := float64(p.Held(n)) - targets[n]; n > 0 && over >= float64(cands[i].Units)+Tolerance {
					t.Fatalf("%q is %v over after a job of %v", p.tree.Nodes[n].Path, over, cands[i].Units)
				}
			})
		}
	})
}

// TestStandingIsMaintained compares held and demand with sums taken afresh.
func TestStandingIsMaintained(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, anyPlan)
		drawStanding(t, p)
		e := exact{t: p.tree, pool: p.name, held: make([]int64, len(p.tree.Nodes)), want: make([]int64, len(p.tree.Nodes))}
		for _, leaf := range p.tree.Leaves() {
			e.held[leaf], e.want[leaf] = int64(p.Held(leaf)), int64(p.Want(leaf))
		}
		for i, n := range p.tree.Nodes {
			if rat(int64(p.Demand(i))).Cmp(e.demand(i)) != 0 {
				t.Fatalf("%q: demand %v, want %v", n.Path, p.Demand(i), e.demand(i))
			}
			if len(n.Children) > 0 && float64(p.Held(i)) != sumOver(n.Children, func(c int) float64 { return float64(p.Held(c)) }) {
				t.Fatalf("%q: held %v is not the sum", n.Path, p.Held(i))
			}
		}
	})
}
