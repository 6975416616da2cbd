package shares_test

import (
	"fmt"

	"github.com/divvyhq/divvy/shares"
)

// Eight slots, two shares with weights 1 and 3: pull by pull.
func ExampleContenders_Choose() {
	heavy := shares.DefaultPlan()
	heavy.Weight = 3
	tree, err := shares.Build([]shares.Spec{{Name: "A", Plan: shares.DefaultPlan()}, {Name: "B", Plan: heavy}})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := shares.NewPool(tree, "default")
	var of shares.Contenders
	for _, leaf := range tree.Leaves() {
		p.SetWant(leaf, 100_000)
		of.Set(p, leaf, true)
	}
	for capacity := shares.Units(8000); p.Held(0) < capacity; {
		leaf, _ := of.Choose(p, shares.Round(capacity, p.Held(0), 1000))
		p.Hold(leaf, 1000)
		p.SetWant(leaf, p.Want(leaf)-1000)
		p.Granted(leaf)
		fmt.Print(tree.Nodes[leaf].Path, " ")
	}
	// Output: B A B B B A B B
}
