package face

import "github.com/divvyhq/divvy/dispatcher/lookup"

// Words that pilots say, and people read.
type (
	LeaseState = lookup.LeaseState
	Outcome    = lookup.Outcome
	Usage      = lookup.Usage
)

// The states of a lease, in the order in which they follow each other.
const (
	Granted  = lookup.Granted
	Starting = lookup.Starting
	Running  = lookup.Running
	Draining = lookup.Draining
)

// The outcomes of an attempt.
const (
	Finished  = lookup.Finished
	Failed    = lookup.Failed
	Cancelled = lookup.Cancelled
	Lost      = lookup.Lost
	Revoked   = lookup.Revoked
)
