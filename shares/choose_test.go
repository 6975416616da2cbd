package shares

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// pick is Choose among the leaves of candidates: an index into cands, the first of those with the same leaf.
func pick(p *Pool, r Units, cands []Candidate) (i int, ok bool) {
	leaf, ok := gather(p, cands).Choose(p, r)
	return slices.IndexFunc(cands, func(c Candidate) bool { return c.Leaf == leaf }), ok
}

// gather makes contenders of the leaves of candidates.
func gather(p *Pool, cands []Candidate) *Contenders {
	var of Contenders
	for _, c := range cands {
		of.Set(p, c.Leaf, true)
	}
	return &of
}

// slowPick is §2 in its plainest form: solve the whole tree, then walk.
func slowPick(p *Pool, r Units, cands []Candidate) int {
	targets := p.Targets(r)
	below := make(map[int]int) // node → first candidate in or below it
	for i := len(cands) - 1; i >= 0; i-- {
		p.tree.Up(cands[i].Leaf, func(node int) { below[node] = i })
	}
	deficit := func(node int) float64 { return targets[node] - float64(p.Held(node)) }
	node := 0
	for len(p.tree.Nodes[node].Children) > 0 {
		var marked []int
		most := 0.0
		for _, c := range p.tree.Nodes[node].Children {
			if _, ok := below[c]; ok {
				if len(marked) == 0 || deficit(c) > most {
					most = deficit(c)
				}
				marked = append(marked, c)
			}
		}
		node = -1
		for _, c := range marked {
			if deficit(c) >= most-Tolerance && (node < 0 || p.last[p.seatOf[c]] < p.last[p.seatOf[node]]) {
				node = c
			}
		}
	}
	return below[node]
}

func drawCandidates(t *rapid.T, p *Pool) []Candidate {
	var cands []Candidate
	for _, leaf := range p.tree.Leaves() {
		if rapid.Bool().Draw(t, "candidate") {
			cands = append(cands, Candidate{leaf, 1000})
		}
	}
	return rapid.Permutation(cands).Draw(t, "order")
}

func TestChooseEqualsWholeSolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, anyPlan)
		rounds := 4
		if len(p.tree.Leaves()) > 100 {
			rounds = 2 // in rationals these are dear
		}
		for range rounds {
			cands := drawCandidates(t, p)
			r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
			want := -1
			if len(cands) > 0 {
				want = slowPick(p, r, cands)
			}
			i, ok := pick(p, r, cands)
			if ok != (len(cands) > 0) || ok && i != want {
				t.Fatalf("leaf of candidate %d %v, whole solve %d", i, ok, want)
			}
			if ok {
				checkExactly(t, p, r, cands, i)
				p.Hold(cands[i].Leaf, 1000)
				p.SetWant(cands[i].Leaf, p.Want(cands[i].Leaf)-1000)
				p.Granted(cands[i].Leaf)
			}
			if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
				drawStanding(t, p)
			}
		}
	})
}

// checkExactly holds the choice against deficits in rationals: at each level nobody may be ahead by more than
// the tolerance.
func checkExactly(t *rapid.T, p *Pool, r Units, cands []Candidate, chosen int) {
	targets := solveExact(p, r)
	deficit := func(n int) *big.Rat { return minus(targets[n], rat(int64(p.Held(n)))) }
	marked := make(map[int]bool)
	for _, c := range cands {
		p.tree.Up(c.Leaf, func(n int) { marked[n] = true })
	}
	p.tree.Up(cands[chosen].Leaf, func(n int) {
		if n == 0 {
			return
		}
		for _, sibling := range p.tree.Nodes[p.tree.Nodes[n].Parent].Children {
			ahead, _ := minus(deficit(sibling), deficit(n)).Float64()
			if marked[sibling] && ahead > 2*Tolerance {
				t.Fatalf("picked %q though %q is further below by %v", p.tree.Nodes[n].Path, p.tree.Nodes[sibling].Path, ahead)
			}
		}
	})
}

// grant runs one pull of unit jobs, all leaves with a want taking part; false if there is nothing to give.
func grant(p *Pool, capacity Units) (leaf int, ok bool) {
	if p.Held(0) >= capacity {
		return 0, false
	}
	var cands []Candidate
	for _, leaf := range p.tree.Leaves() {
		if _, ok := p.Admits(leaf, 1000); ok && p.Want(leaf) >= 1000 {
			cands = append(cands, Candidate{leaf, 1000})
		}
	}
	i, ok := pick(p, Round(capacity, p.Held(0), 1000), cands)
	if !ok {
		return 0, false
	}
	leaf = cands[i].Leaf
	move(p, leaf, 1000)
	p.Granted(leaf)
	return leaf, true
}

// move shifts units of a leaf from want to held; a leaf that wants everything goes on doing so.
func move(p *Pool, leaf int, du Units) {
	endless := p.Want(leaf) == MaxAmount
	p.Hold(leaf, du)
	if !endless {
		p.SetWant(leaf, p.Want(leaf)-du)
	}
}

func TestChooseTies(t *testing.T) {
	tree, err := Build([]Spec{{Name: "A", Plan: DefaultPlan()}, {Name: "B", Plan: DefaultPlan()}, {Name: "C", Plan: DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(tree, "default")
	all := []Candidate{{3, 1000}, {2, 1000}, {1, 1000}}
	for leaf := 1; leaf <= 3; leaf++ {
		p.SetWant(leaf, MaxAmount)
	}
	for round, want := range []int{1, 2, 3, 1} { // file order first, then whoever waited longest
		i, _ := pick(p, 3000, all)
		if all[i].Leaf != want {
			t.Fatalf("round %d: leaf %d, want %d", round, all[i].Leaf, want)
		}
		p.Granted(all[i].Leaf) // and the job ends at once
	}
}

func TestChooseDoesNotAllocate(t *testing.T) {
	for name, pool := range map[string]*Pool{"levels": threeLevels(), "flat": flat(1000)} {
		of, r := gather(pool, everyone(pool)), Units(2_000_000)
		if n := testing.AllocsPerRun(200, func() { pull(pool, r, of) }); n != 0 {
			t.Errorf("%s: %v allocations a pull", name, n)
		}
	}
}
