package lease

import (
	"iter"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// Machine is what a Node needs of the machine.
type Machine interface {
	Apply(e entry.Entry) error
	Advance(b entry.Batch) error
	Stand() (seq int64, id entry.ID)
	Now() time.Time
	Decide(p Pull) Decision
	Lease(job int64) (Lease, bool)
	Leases() iter.Seq[Lease]
	Answered(request entry.ID) []Lease
	Eased() uint64
	Digest() [32]byte
}

// Pull is a slot's request for jobs.
type Pull struct {
	Queue   shares.QueueID
	Slot    job.Slot
	Most    int
	Only    job.Only
	Pilot   string
	Node    string
	Devices []string
	Request entry.ID
	Nonce   int64
}

// Verdict is how a decision came out.
type Verdict int

// How a decision comes out.
const (
	None Verdict = iota
	Given
	Unmade
)

// Decision is what the machine decided and applied.
type Decision struct {
	Verdict Verdict
	Entries []entry.Entry
}

// Lease is a live lease.
type Lease struct {
	entry.Granted
	Started bool
	Revoked string
	GraceS  int32
}
