package shares

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The runner-up is what Pick gives without the winner's leaf, and the deficits are those of a whole solve at the
// level where the paths of the two part.
func TestContestIsPickWithoutTheWinner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, anyPlan)
		for range 10 {
			cands := drawCandidates(t, p)
			r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
			c, ok := p.Contest(r, p.gather(cands))
			won, picked := p.Pick(r, cands)
			if ok != picked {
				t.Fatalf("Contest says %v, Pick %v", ok, picked)
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
		t.Fatalf("Contest says that leaf %d won, Pick %d", c.Winner, cands[won].Leaf)
	}
	var others []Candidate
	for _, other := range cands {
		if other.Leaf != cands[won].Leaf {
			others = append(others, other)
		}
	}
	second, ok := p.Pick(r, others)
	if ok != (c.RunnerUp >= 0) || ok && others[second].Leaf != c.RunnerUp {
		t.Fatalf("runner-up %d, Pick without the winner says %v %d of %v", c.RunnerUp, ok, second, others)
	}
	targets := p.Targets(r)
	deficit := func(node int) float64 { return targets[node] - float64(p.Held(node)) }
	mine := cands[won].Leaf
	if ok {
		var its int
		mine, its = p.tree.part(cands[won].Leaf, others[second].Leaf)
		if math.Abs(c.RunnerUpDeficit-deficit(its)) > Tolerance || c.Deficit < c.RunnerUpDeficit-Tolerance {
			t.Fatalf("deficits %v and %v; whole solve %v and %v", c.Deficit, c.RunnerUpDeficit, deficit(mine), deficit(its))
		}
	}
	if math.Abs(c.Deficit-deficit(mine)) > Tolerance {
		t.Fatalf("deficit %v, whole solve %v", c.Deficit, deficit(mine))
	}
}

func TestContestDoesNotAllocate(t *testing.T) {
	p := threeLevels()
	of := p.gather(everyone(p))
	if n := testing.AllocsPerRun(200, func() { p.Contest(2_000_000, of) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkContest(b *testing.B) {
	for name, p := range map[string]*Pool{"100 in 3 levels": threeLevels(), "1000 flat": flat(1000)} {
		b.Run(name, func(b *testing.B) {
			of := p.gather(everyone(p))
			b.ReportAllocs()
			for b.Loop() {
				p.Contest(2_000_000, of)
			}
		})
	}
}
