package lease

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/machine"
)

// Watch hears what a leader is asked and decides, for people who look. It is asked by the loop, and quick.
type Watch interface {
	// Wants says whether the next decision is to say who came second, which costs as much again.
	Wants() bool
	// Decided is such a decision. It may give nothing, and its append may yet fail.
	Decided(d *machine.Decision)
	// Came is a pull, of any daemon, that waits from now on. Went is one that does so no more: how long it waited, and what it was given; the
	// append of that may yet fail.
	Came(p *machine.Pull)
	Went(p *machine.Pull, waited time.Duration, given []machine.Lease)
}
