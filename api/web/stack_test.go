package web

import "testing"

// Neighbours in a bar can be told apart as long as there are colours, and a name that is alone has its own.
func TestColoursOfABar(t *testing.T) {
	var of taken
	seen := map[int]bool{}
	for range colours {
		seen[of.next(3)] = true
	}
	if len(seen) != colours || !seen[3] {
		t.Errorf("of %d colours %v were used", colours, seen)
	}
	if got := of.next(5); got != 5 {
		t.Errorf("with none left it is %d", got)
	}
	var alone taken
	if name := "Production/MC"; alone.next(colourOf(name)) != colourOf(name) {
		t.Errorf("%s has another colour where nobody has its own", name)
	}
}
