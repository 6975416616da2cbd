package shares

import (
	"testing"

	"pgregory.net/rapid"
)

// TestBoundOfUnitJobs is §2: with unit jobs and everybody demanding, held − target < 1 at every node at every
// step; once R = C and every leaf has turned over, target − held < 1 below the root. Further down it is < the
// depth: when a job ends, the slot may go to another branch, and a branch that is a part of a job short cannot make up
// for that in each of its leaves.
func TestBoundOfUnitJobs(t *testing.T) {
	t.Run("weights", rapid.MakeCheck(func(t *rapid.T) { checkBound(t, kind{weightless: true, tiers: true}) }))
	t.Run("plans", rapid.MakeCheck(func(t *rapid.T) { checkBound(t, lendingPlan) }))
}

func checkBound(t *rapid.T, k kind) {
	p := NewPool(drawTree(t, k), "default")
	for _, leaf := range p.tree.Leaves() {
		p.SetWant(leaf, MaxAmount)
	}
	capacity := Units(rapid.IntRange(1, max(80, 2*len(p.tree.Leaves()))).Draw(t, "capacity")) * 1000
	var jobs []int // leaves, by age of the job
	for p.Held(0) < capacity {
		leaf, ok := grant(p, capacity)
		if !ok {
			break // all are at their max
		}
		jobs = append(jobs, leaf)
		checkOver(t, p, p.Targets(p.Held(0)))
	}
	targets := p.Targets(capacity)
	turn := func(end int) {
		move(p, jobs[end], -1000)
		leaf, ok := grant(p, capacity)
		if !ok {
			t.Fatalf("nobody takes the slot of %q", p.tree.Nodes[jobs[end]].Path)
		}
		jobs = append(append(jobs[:end:end], jobs[end+1:]...), leaf)
		checkOver(t, p, targets)
	}
	for range jobs { // the oldest first: after that every leaf has turned over
		turn(0)
	}
	for range 2 * len(jobs) {
		checkUnder(t, p, targets)
		turn(rapid.IntRange(0, len(jobs)-1).Draw(t, "end"))
	}
}

func checkOver(t *rapid.T, p *Pool, targets []float64) {
	for i, target := range targets {
		if float64(p.Held(i))-target >= 1000+Tolerance {
			t.Fatalf("%q holds %v thousandths of %v", p.tree.Nodes[i].Path, int64(p.Held(i)), target)
		}
	}
}

func checkUnder(t *rapid.T, p *Pool, targets []float64) {
	for i, target := range targets[1:] {
		n := p.tree.Nodes[i+1]
		if target-float64(p.Held(i+1)) >= 1000*float64(n.Depth)+Tolerance {
			t.Fatalf("%q holds only %v thousandths of %v", n.Path, int64(p.Held(i+1)), target)
		}
	}
}

// TestWalkCanLeaveALeafShort has the smallest trees in which a leaf is more than a job below its target, of 3 leaves and
// 2 slots: with fewer levels or slots nobody can be. In the first everybody is within one job, and one job ends:
//
//	A 1⅓ {a 4/15, b 1 1/15}, B ⅔    A2{a1 b1} B0    b's job ends: A is short of ⅓, B of ⅔, b would be of 1 1/15
//
// The slot can go to a (then a is over by 1 11/15 and b short), to B (then b is short) or to b, and only b leaves
// everybody within one job. But §2 gives it to the child furthest below, which is B, by any rule for ties and with any
// memory: where branches are compared nobody looks at what is further down. The second is reached from nothing, by ties:
//
//	A 1½ {a ⅜, b 1⅛}, B ½
//	A1{a0 b1} B1   B's job ends: A and B are short of ½ each, A has waited longer, and in it a: short of ⅜, b over
//	A2{a1 b1} B0   b's job ends: A and B are short of ½ each, B has waited longer
//	A1{a1 b0} B1   b is short of 1⅛
//
// A rule that looks at the whole tree can do better, see TestRoundedTreeIsWithinOne. It would take the slot from the
// share that is furthest below and has waited longest.
func TestWalkCanLeaveALeafShort(t *testing.T) {
	const a, b, other = 2, 3, 4
	type turn struct{ end, next int }
	for _, c := range []struct {
		name, branch, leaf string
		held               [3]Units // of a, b, other
		turns              []turn
		short              float64
	}{
		{"one end", "weight: 2", "weight: 4", [3]Units{1, 1, 0}, []turn{{b, other}}, 16_000. / 15},
		{"from nothing", "weight: 3", "weight: 3", [3]Units{}, []turn{{0, b}, {0, other}, // filling
			{b, b}, {other, other}, // every leaf turns over
			{other, a}, {b, other}}, 1125},
	} {
		tree, err := Build([]Spec{{Name: "A", Plan: planOf(t, c.branch), Children: []Spec{{Name: "a", Plan: DefaultPlan()}, {Name: "b", Plan: planOf(t, c.leaf)}}},
			{Name: "B", Plan: DefaultPlan()}})
		if err != nil {
			t.Fatal(err)
		}
		p := NewPool(tree, "default")
		for i, leaf := range []int{a, b, other} {
			p.SetWant(leaf, MaxAmount)
			p.Hold(leaf, c.held[i]*1000)
		}
		for k, turn := range c.turns {
			if turn.end > 0 {
				move(p, turn.end, -1000)
			}
			if leaf, ok := grant(p, 2000); !ok || leaf != turn.next {
				t.Fatalf("%s, turn %d: %q gets the slot, want %q", c.name, k+1, tree.Nodes[leaf].Path, tree.Nodes[turn.next].Path)
			}
		}
		if short := p.Targets(2000)[b] - float64(p.Held(b)); short < c.short-Tolerance || short > c.short+Tolerance {
			t.Errorf("%s: b is short of %v, want %v", c.name, short, c.short)
		}
	}
}

// TestRoundedTreeIsWithinOne: the targets of any tree can be rounded so that they add up at every node and each is less
// than a job off, level by level from the root: Σ ⌊target⌋ ≤ ⌊Σ target⌋ and Σ ⌈target⌉ ≥ ⌈Σ target⌉. Slots that go only to
// leaves below such whole targets bring all to them once every leaf has turned over, whichever jobs end, and keep them
// there. So one job is possible everywhere, at a price: who has the odd slot keeps it, and equals take no turns.
func TestRoundedTreeIsWithinOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPool(drawTree(t, lendingPlan), "default")
		leaves := p.tree.Leaves()
		for _, leaf := range leaves {
			p.SetWant(leaf, MaxAmount)
			p.Hold(leaf, Units(rapid.IntRange(0, 3).Draw(t, "held"))*1000)
		}
		targets := p.Targets(p.Held(0))
		if targets[0] < float64(p.Held(0)) {
			t.Skip("more is held than all may hold")
		}
		whole := rounded(p.tree, targets)
		jobs := make([]int, 0, len(leaves))
		for _, leaf := range leaves {
			for range p.Held(leaf) / 1000 {
				jobs = append(jobs, leaf)
			}
		}
		for _, end := range rapid.Permutation(jobs).Draw(t, "ends") {
			move(p, end, -1000)
			for _, leaf := range leaves {
				if p.Held(leaf) < whole[leaf] {
					move(p, leaf, 1000)
					break
				}
			}
		}
		for i, target := range targets {
			if d := target - float64(p.Held(i)); d >= 1000+Tolerance || d <= -1000-Tolerance {
				t.Fatalf("%q holds %v of %v", p.tree.Nodes[i].Path, p.Held(i), target)
			}
		}
	})
}

// rounded rounds targets down or up so that they add up; that of the root is whole.
func rounded(tree *Tree, targets []float64) []Units {
	out := make([]Units, len(targets))
	out[0] = Units(targets[0])
	for i, n := range tree.Nodes {
		left := out[i]
		for _, c := range n.Children {
			out[c] = Units(targets[c]+Tolerance) / 1000 * 1000
			left -= out[c]
		}
		for _, c := range n.Children {
			if left > 0 && targets[c] > float64(out[c])+Tolerance {
				out[c] += 1000
				left -= 1000
			}
		}
	}
	return out
}
