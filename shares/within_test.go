package shares

import (
	"slices"
	"strings"
	"testing"
)

// A share has the order that it names, or else that of the share above it; a change is one of each share that has it.
func TestWithinIsThatOfTheShareAbove(t *testing.T) {
	build := func(top string) *Tree {
		within := func(how string) Plan { return plan(func(p *Plan) { p.Within = how }) }
		tree, err := Build([]Spec{
			{Name: "A", Plan: within(top), Children: []Spec{
				{Name: "B", Plan: within(""), Children: []Spec{{Name: "C", Plan: within("")}}}, {Name: "D", Plan: within(Fifo)}}},
			{Name: "E", Plan: within("")}})
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	was, is := build(""), build(FairUser)
	var got []string
	for _, n := range is.Nodes[1:] {
		got = append(got, n.Path+" "+n.Plan.Within)
	}
	if want := []string{"A fair_user", "A/B fair_user", "A/B/C fair_user", "A/D fifo", "E "}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	var changed []string
	for _, c := range Diff(was, is) {
		changed = append(changed, c.String())
	}
	if s := strings.Join(changed, "\n"); strings.Count(s, "within") != 3 || strings.Contains(s, "A/D") {
		t.Errorf("%s", s)
	}
	if _, err := Build([]Spec{{Name: "A", Plan: plan(func(p *Plan) { p.Within = "lifo" })}}); err == nil || !strings.Contains(err.Error(), "within") {
		t.Errorf("lifo: %v", err)
	}
}
