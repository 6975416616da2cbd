package shares

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The runner-up is what Choose gives without the winner's leaf, and the deficits are those of a whole solve at the
// level where the paths of the two part.
func TestContestIsPickWithoutTheWinner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, anyPlan)
		for range 10 {
			cands := drawCandidates(t, p)
			r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
			c, ok := gather(p, cands).Contest(p, r)
			won, picked := pick(p, r, cands)
			if ok != picked {
				t.Fatalf("Contest says %v, Choose %v", ok, picked)
			}
			if ok {
				checkContest(t, p, r, cands, c, won)
				p.Hold(cands[won].Leaf, 1000)
				p.Granted(cands[won].Leaf)
			}
			if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
				drawStanding(t, p)
			}
		}
	})
}

func checkContest(t *rapid.T, p *Pool, r Units, cands []Candidate, c Contest, won int) {
	if c.Winner != cands[won].Leaf {
		t.Fatalf("Contest says that leaf %d won, Choose %d", c.Winner, cands[won].Leaf)
	}
	var others []Candidate
	for _, other := range cands {
		if other.Leaf != cands[won].Leaf {
			others = append(others, other)
		}
	}
	second, ok := pick(p, r, others)
	if ok != (c.RunnerUp >= 0) || ok && others[second].Leaf != c.RunnerUp {
		t.Fatalf("runner-up %d, Choose without the winner says %v %d of %v", c.RunnerUp, ok, second, others)
	}
	trail, nodes := p.Trail(c.Winner, nil), []int(nil)
	p.tree.Up(c.Winner, func(node int) { nodes = append(nodes, node) })
	targets := p.Targets(r)
	for i, got := range trail {
		if node := nodes[len(trail)-1-i]; math.Abs(got-targets[node]+float64(p.Held(node))) > Tolerance {
			t.Fatalf("level %d: deficit %v, whole solve %v", i, got, targets[node]-float64(p.Held(node)))
		}
	}
	if len(trail) != p.tree.Nodes[c.Winner].Depth {
		t.Fatalf("%d levels of %s", len(trail), p.tree.Nodes[c.Winner].Path)
	}
	deficit := func(node int) float64 { return targets[node] - float64(p.Held(node)) }
	mine := cands[won].Leaf
	if ok {
		var its int
		mine, its = p.tree.Part(cands[won].Leaf, others[second].Leaf)
		if math.Abs(c.RunnerUpDeficit-deficit(its)) > Tolerance || c.Deficit < c.RunnerUpDeficit-Tolerance {
			t.Fatalf("deficits %v and %v; whole solve %v and %v", c.Deficit, c.RunnerUpDeficit, deficit(mine), deficit(its))
		}
	}
	if math.Abs(c.Deficit-deficit(mine)) > Tolerance {
		t.Fatalf("deficit %v, whole solve %v", c.Deficit, deficit(mine))
	}
}

// Who stands before the winner is whom Choose gives as long as they ask too, one after the other.
func TestAheadIsPickWithThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, anyPlan)
		for range 10 {
			all := drawCandidates(t, p)
			n := rapid.IntRange(0, len(all)).Draw(t, "contend")
			// Whole units, so that few of a hundred leaves are level by chance.
			asking, r := all[:n], 1000*Units(rapid.Int64Range(0, 300).Draw(t, "r"))
			of := gather(p, asking)
			c, ok := of.Contest(p, r)
			if !ok {
				continue
			}
			var left Contenders
			for _, other := range all[n:] {
				if !of.Has(p, other.Leaf) {
					left.Set(p, other.Leaf, true)
				}
			}
			most, skipped := rapid.IntRange(1, 4).Draw(t, "most"), left.Len()
			got := left.Ahead(p, c.Winner, most, nil)
			if left.Len() != skipped-len(got) {
				t.Fatalf("%d of %d are left, %d were named", left.Len(), skipped, len(got))
			}
			checkAhead(t, p, r, all, c.Winner, got, most)
			p.Hold(c.Winner, 1000)
			p.Granted(c.Winner)
		}
	})
}

// checkAhead compares with Choose up to the first two that are level within rounding: who is level with whom depends on
// who else contends, as everybody is compared with the one that is short of most.
func checkAhead(t *rapid.T, p *Pool, r Units, all []Candidate, winner int, got []int, most int) {
	targets := p.Targets(r)
	level := func(a, b int) bool {
		a, b = p.tree.Part(a, b)
		return math.Abs(targets[a]-float64(p.Held(a))-targets[b]+float64(p.Held(b))) <= 2*Tolerance
	}
	for i := 0; ; i++ {
		picked, _ := pick(p, r, all)
		leaf := all[picked].Leaf
		if i == len(got) {
			if leaf != winner && len(got) < most && !level(leaf, winner) {
				t.Fatalf("leaf %d stands before %d as well, beside %v", leaf, winner, got)
			}
			return
		}
		if leaf != got[i] {
			if !level(leaf, got[i]) {
				t.Fatalf("%v: number %d is leaf %d", got, i, leaf)
			}
			return
		}
		all = slices.DeleteFunc(slices.Clone(all), func(c Candidate) bool { return c.Leaf == leaf })
	}
}

func TestContestDoesNotAllocate(t *testing.T) {
	p := threeLevels()
	of, none, trail := gather(p, everyone(p)), new(Contenders), make([]float64, 0, 8)
	if n := testing.AllocsPerRun(200, func() {
		c, _ := of.Contest(p, 2_000_000)
		p.Trail(c.Winner, trail)
		none.Ahead(p, c.Winner, 8, nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkContest(b *testing.B) {
	for name, p := range map[string]*Pool{"100 in 3 levels": threeLevels(), "1000 flat": flat(1000)} {
		b.Run(name, func(b *testing.B) {
			of := gather(p, everyone(p))
			b.ReportAllocs()
			for b.Loop() {
				of.Contest(p, 2_000_000)
			}
		})
	}
}
