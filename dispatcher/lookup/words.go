package lookup

import (
	"encoding/json"
	"errors"
	"time"
)

// Sentinels of the package.
var (
	// ErrNoJob: no job has that id.
	ErrNoJob = errors.New("no such job")
	// ErrNoAttempt: the job has no attempt of that number that ended.
	ErrNoAttempt = errors.New("no such attempt ended")
)

// LeaseState is how far an attempt has come.
type LeaseState string

// The states of a lease, in the order in which they follow each other.
const (
	Granted  LeaseState = "granted"
	Starting LeaseState = "starting"
	Running  LeaseState = "running"
	Draining LeaseState = "draining"
)

// Outcome is how an attempt ended.
type Outcome string

// The outcomes of an attempt. Pilots report all but lost; revoked is what was given back, by order of the dispatcher or by its pilot.
const (
	Finished  Outcome = "finished"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
	Lost      Outcome = "lost"
	Revoked   Outcome = "revoked"
)

// Usage is what an attempt has used so far.
type Usage struct {
	CPUSeconds float64 `json:"cpu_s" doc:"CPU seconds. More than 10^9 counts as that many." minimum:"0" required:"false"`
	MemoryMB   int64   `json:"memory_mb" doc:"Peak resident memory in MB. More than 10^9 counts as that many." minimum:"0" required:"false"`
}

// Attempt is one lease of a job, running or ended.
type Attempt struct {
	Attempt   int            `json:"attempt"`
	Queue     string         `json:"queue"`
	Pilot     string         `json:"pilot"`
	Node      string         `json:"node"`
	State     string         `json:"state" doc:"State of the lease, or the outcome."`
	ClaimedAt time.Time      `json:"claimed_at"`
	StartedAt *time.Time     `json:"started_at,omitempty" doc:"When its pilot first said, in a renewal, that it runs; absent = it has not, or ended before."`
	EndedAt   *time.Time     `json:"ended_at,omitempty"`
	ExitCode  *int           `json:"exit_code,omitempty"`
	Message   string         `json:"message,omitempty"`
	Meaning   string         `json:"meaning,omitempty" doc:"What its codes mean, where that is known: see exit_codes of the site file."`
	Judged    string         `json:"judged,omitempty" doc:"What was made of an attempt that did not finish, where a retry rule or the terms of its task said so."`
	Ending    string         `json:"ending,omitempty" doc:"Of a running one that its pilot is told to end, with its next renewal: killed, or reclaimed for another share."`
	Usage     Usage          `json:"usage"`
	Outputs   map[string]any `json:"outputs,omitempty"`
	Report    map[string]any `json:"report,omitempty" doc:"What else its pilot reported."`
}

// JobRow is a job as people see it, live or ended.
type JobRow struct {
	ID          int64      `json:"id"`
	Task        int64      `json:"task"`
	Share       string     `json:"share"`
	State       string     `json:"state" enum:"waiting,ready,leased,finished,failed,cancelled"`
	Priority    int        `json:"priority"`
	Attempt     int        `json:"attempt"`
	MaxAttempts int        `json:"max_attempts"`
	Index       int64      `json:"index"`
	Inputs      []string   `json:"inputs,omitempty"`
	FirstEvent  *int64     `json:"first_event,omitempty" doc:"The first of its events: of its only input, or of a task without inputs. Only in GET /v1/jobs/{id}, as events is."`
	Events      int64      `json:"events,omitempty" doc:"How many events it has, where that is known."`
	RetryOf     int64      `json:"retry_of,omitempty"`
	HalfOf      int64      `json:"half_of,omitempty" doc:"The job whose piece was split: it kept the first half, and the second one went to a job with this one's index. Only in GET /v1/jobs/{id}."`
	CreatedAt   time.Time  `json:"created_at"`
	EndedAt     *time.Time `json:"ended_at,omitempty"`
	Queue       string     `json:"queue,omitempty" db:"-" doc:"Of the running or the last attempt."`
	Pilot       string     `json:"pilot,omitempty" db:"-"`
	Reason      string     `json:"reason,omitempty" db:"-" doc:"Why a ready job does not run, where that is known: no queue can run it. In GET /v1/jobs/{id} also why a waiting or failed one is so, where a rule or the terms of its task said it."`
	TryAt       *time.Time `json:"try_at,omitempty" doc:"When a job that waits after a failed or lost attempt is tried again."`
	Attempts    []Attempt  `json:"attempts,omitempty" db:"-" doc:"Only in GET /v1/jobs/{id}."`
}

// JobFilter selects jobs for a list. Zero fields select nothing away.
type JobFilter struct {
	Task  int64  // of TaskJobs
	User  string // of LeasedJobs, as the next two are: whose task it is
	Share string // this share and all below it
	Queue string
	State string
	After int64 // ids above this one: the cursor
	Limit int   // 1 … 1000; 0 = 100

	EndedAfter time.Time // of TaskJobs: jobs that ended after this time, in State, or in any final state if State is empty
	Last       bool      // of TaskJobs: each job with its running or last attempt, as JobsByID has it
}

// JobChoice selects jobs of a task: those that are not over if Live, and those that ended in one of the states.
type JobChoice struct {
	Task  int64
	Live  bool
	Ended []string
	Limit int
}

// JobMetadata is what the payload of a job reported of itself.
type JobMetadata struct {
	ID       int64
	Metadata json.RawMessage
}

// HeldJob is an attempt as pilots name it that know no lease: job and number.
type HeldJob struct {
	Job     int64
	Attempt int
}

// Holding is what became of a HeldJob.
type Holding struct {
	Lease    string     // token of that attempt; empty: it is over, or never was
	State    LeaseState // of the lease
	Queue    string     // where it was granted
	JobState string     // of the job now; empty: there is no such job
	Attempt  int        // that the job is at now, or ended with
}
