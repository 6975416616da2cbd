package lease

import "github.com/divvyhq/divvy/dispatcher/machine"

// Watch hears what a leader decides, for people who look. It is asked by the loop, and quick.
type Watch interface {
	// Wants says whether the next decision is to say who came second, which costs as much again.
	Wants() bool
	// Decided is such a decision. It may give nothing, and its append may yet fail.
	Decided(d *machine.Decision)
}
