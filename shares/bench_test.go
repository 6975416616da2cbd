package shares

import (
	"fmt"
	"testing"
)

// threeLevels is 100 leaves under 5 × 4 inner shares; flat is n leaves under the root. Demands and weights
// differ, a third of the leaves wants less than its part, all hold something.
func threeLevels() *Pool {
	var specs []Spec
	for i := range 5 {
		top := Spec{Name: fmt.Sprint(i), Plan: DefaultPlan()}
		for j := range 4 {
			mid := Spec{Name: fmt.Sprint(j), Plan: DefaultPlan()}
			mid.Children = leaves(5)
			mid.Plan.Weight = float64(1 + j)
			top.Children = append(top.Children, mid)
		}
		top.Plan.Weight = float64(1 + i)
		specs = append(specs, top)
	}
	return loaded(specs)
}

func flat(n int) *Pool { return loaded(leaves(n)) }

func leaves(n int) []Spec {
	specs := make([]Spec, n)
	for i := range specs {
		specs[i] = Spec{Name: fmt.Sprint(i), Plan: DefaultPlan()}
		specs[i].Plan.Weight = float64(1 + i*7919%50)
	}
	return specs
}

func loaded(specs []Spec) *Pool {
	tree, err := Build(specs)
	if err != nil {
		panic(err)
	}
	p := NewPool(tree, "default")
	for k, leaf := range tree.Leaves() {
		p.SetWant(leaf, Units(k*37%97)*1000)
		if k%3 > 0 {
			p.SetWant(leaf, 1_000_000)
		}
		p.Hold(leaf, Units(k*7919%13)*1000)
	}
	return p
}

func everyone(p *Pool) []Candidate {
	var cands []Candidate
	for _, leaf := range p.tree.Leaves() {
		cands = append(cands, Candidate{leaf, 1000})
	}
	return cands
}

// pull is a choice, its grant and the end of the job.
func pull(p *Pool, r Units, of *Contenders) {
	leaf, _ := of.Choose(p, r)
	p.Hold(leaf, 1000)
	p.SetWant(leaf, p.Want(leaf)-1000)
	p.Granted(leaf)
	p.Hold(leaf, -1000)
	p.SetWant(leaf, p.Want(leaf)+1000)
}

func BenchmarkChoose(b *testing.B) {
	for _, c := range []struct {
		name string
		pool *Pool
	}{{"100 in 3 levels", threeLevels()}, {"1000 flat", flat(1000)}} {
		b.Run(c.name, func(b *testing.B) {
			of := gather(c.pool, everyone(c.pool))
			b.ReportAllocs()
			for b.Loop() {
				pull(c.pool, 2_000_000, of)
			}
		})
	}
}

// BenchmarkChooseWants changes the want of one leaf by much before each choice.
func BenchmarkChooseWants(b *testing.B) {
	p := flat(1000)
	of := gather(p, everyone(p))
	leaves := p.tree.Leaves()
	n := 0
	for b.Loop() {
		n++
		p.SetWant(leaves[n*7919%len(leaves)], Units(n*104729%100_000))
		of.Choose(p, 2_000_000)
	}
}

func BenchmarkChooseOwned(b *testing.B) {
	specs := leaves(1000)
	for i := range specs {
		specs[i].Plan.Owned = Of(Units(i%7) * 1000)
		specs[i].Plan.Min = Of(Units(i%5) * 1000)
		specs[i].Plan.Tier = 1 + i%2
	}
	p := loaded(specs)
	of := gather(p, everyone(p))
	for b.Loop() {
		pull(p, 5_000_000, of)
	}
}
