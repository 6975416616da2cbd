package shares

import (
	"testing"

	"pgregory.net/rapid"
)

// Kept from pick to pick, with leaves that come and go, contenders give what the candidates of the moment give.
func TestChooseAmongThoseThatAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPool(t, anyPlan)
		var kept Contenders
		leaves := p.tree.Leaves()
		in := map[int]bool{}
		for range 12 {
			for range rapid.IntRange(0, 4).Draw(t, "changes") {
				leaf, is := rapid.SampledFrom(leaves).Draw(t, "leaf"), rapid.Bool().Draw(t, "is")
				kept.Set(p, leaf, is)
				in[leaf] = is
			}
			var cands []Candidate
			for _, leaf := range leaves {
				if kept.Has(p, leaf) != in[leaf] {
					t.Fatalf("leaf %d contends: %v", leaf, !in[leaf])
				}
				if in[leaf] {
					cands = append(cands, Candidate{leaf, 1000})
				}
			}
			r := Units(rapid.Int64Range(0, 300_000).Draw(t, "r"))
			i, any := pick(p, r, cands)
			leaf, ok := kept.Choose(p, r)
			if kept.Len() != len(cands) || ok != any || ok && leaf != cands[i].Leaf {
				t.Fatalf("%d contenders, chosen %d %v; Choose of %v: %d %v", kept.Len(), leaf, ok, cands, i, any)
			}
			if ok {
				p.Hold(leaf, 1000)
				p.Granted(leaf)
			}
		}
	})
}
