package lease

import (
	"iter"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// Machine is what a Node needs of a machine.Machine.
type Machine interface {
	Apply(e entry.Entry) error
	Reach(seq int64, id entry.ID)
	Stand() (seq int64, id entry.ID)
	Now() time.Time
	Decide(p machine.Pull) machine.Decision
	Lease(job int64) (machine.Lease, bool)
	Leases() iter.Seq[machine.Lease]
	Answered(request entry.ID) []machine.Lease
	Eased() uint64
	Placed() bool
	Walltime(seconds int64) int64
	Digest() [32]byte
	Stood() []entry.Stood
}

var _ Machine = (*machine.Machine)(nil)
