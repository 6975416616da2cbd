package dispatcher

import "github.com/divvyhq/divvy/shares"

// The states of a lease, in the order in which they follow each other.
const (
	Granted  LeaseState = "granted"
	Starting LeaseState = "starting"
	Running  LeaseState = "running"
	Draining LeaseState = "draining"
)

// The outcomes of an attempt. Pilots report the first three of them; lost and revoked are the dispatcher's.
const (
	Finished  Outcome = "finished"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
	Lost      Outcome = "lost"
	Revoked   Outcome = "revoked"
)

// Verdicts of a finish.
const (
	Recorded  = "recorded"   // this call ended the attempt, or repeated the call that did
	LeaseLost = "lease_lost" // the attempt had ended otherwise; nothing was changed
)

// NewJob is one job to enqueue. Index is its place in the task, from 0.
type NewJob struct {
	Task        int64
	Share       shares.ShareID
	Shape       int32
	Priority    int
	MaxAttempts int
	Index       int64
	Inputs      []string
	FirstEvent  int64
	Events      int64
	RetryOf     int64   // the job whose piece this one tries again; 0 = none
	Claims      []int64 // that it holds while it runs, from MakeClaims; its shape says what they need
}
