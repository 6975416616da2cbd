package wire

// LeaseState says how far an attempt is.
type LeaseState string

// The states of a lease, in the order in which they follow each other.
const (
	Granted  LeaseState = "granted"
	Starting LeaseState = "starting"
	Running  LeaseState = "running"
	Draining LeaseState = "draining"
)

// The streams of an OutputPiece.
const (
	Stdout = "stdout"
	Stderr = "stderr"
	Tail   = "tail" // the end of both, as it is kept
)

// Outcome says how an attempt ended. Pilots report all but lost.
type Outcome string

// The outcomes of an attempt.
const (
	Finished  Outcome = "finished"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
	Lost      Outcome = "lost"
	Revoked   Outcome = "revoked"
)

// Verdicts on a result.
const (
	Recorded  = "recorded"   // this call ended the attempt, or repeated the call that did
	LeaseLost = "lease_lost" // the attempt had ended otherwise; nothing was changed
)

// QueueState says whether a queue gets jobs.
type QueueState string

// The states of a queue.
const (
	QueueOnline  QueueState = "online"
	QueueDrain   QueueState = "drain"
	QueueOffline QueueState = "offline"
	QueueTest    QueueState = "test"
)

// Verb is what an ActRequest says to tasks.
type Verb string

// The verbs.
const (
	VerbKill       Verb = "kill"
	VerbPause      Verb = "pause"
	VerbResume     Verb = "resume"
	VerbRetry      Verb = "retry"
	VerbFinish     Verb = "finish"
	VerbAvalanche  Verb = "avalanche"
	VerbPrioritise Verb = "priority"
	VerbReassign   Verb = "reassign"
	VerbScale      Verb = "scale"
)
