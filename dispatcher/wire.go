package dispatcher

import (
	"errors"
	"time"

	"github.com/divvyhq/divvy/dispatcher/holdings"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/lookup"
)

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

// PullRequest is a slot's request for jobs.
type PullRequest struct {
	Queue     string   `json:"queue" minLength:"1" maxLength:"200" doc:"Queue that the pilot runs in."`
	Pilot     string   `json:"pilot" minLength:"1" maxLength:"200" doc:"Name of the pilot, unique in the site."`
	Node      string   `json:"node" maxLength:"200" doc:"Host that the pilot runs on." required:"false"`
	Devices   []string `json:"devices" maxItems:"1000" maxLength:"200" doc:"Device ids that the slot owns." required:"false"`
	Slot      job.Slot `json:"slot" required:"false"`
	Only      job.Only `json:"only,omitzero" doc:"The jobs that it takes; absent = any." required:"false"`
	Max       int      `json:"max" doc:"Jobs at the most; 0 = 1." minimum:"0" maximum:"1000" required:"false"`
	WaitS     float64  `json:"wait_s" doc:"Seconds to wait for a job when there is none." minimum:"0" maximum:"300" required:"false"`
	RequestID string   `json:"request_id" doc:"Unique per queue and pilot; a repeat gets the same leases, those of them that still run." maxLength:"200" required:"false"`
}

// Lease is the right to run one attempt of a job, with all that the pilot needs to run it. Command and Env are only
// to be read: other leases of the task may have the same ones.
type Lease struct {
	Lease      string            `json:"lease" doc:"Opaque token: the fence of renew and finish."`
	Job        int64             `json:"job"`
	Attempt    int               `json:"attempt"`
	Task       int64             `json:"task"`
	Share      string            `json:"share" doc:"Path of the share that pays."`
	Command    []string          `json:"command"`
	Env        map[string]string `json:"env"`
	Image      string            `json:"image,omitempty" doc:"Image of the container that it runs in; absent: in none."`
	Containers string            `json:"containers,omitempty" doc:"Of a job with an image: how the queue runs it, as the site file says."`
	job.Paths
	Cores     int     `json:"cores"`
	MemoryMB  int64   `json:"memory_mb"`
	DiskMB    int64   `json:"disk_mb"`
	WalltimeS int64   `json:"walltime_s"`
	ExpiresIn float64 `json:"expires_in_s" doc:"Seconds until the lease ends unless renewed."`
}

// PullReply carries at least one lease; a pull that got none returns ErrNoJobs.
type PullReply struct {
	Leases     []Lease `json:"leases"`
	RenewAfter float64 `json:"renew_after_s" doc:"Seconds after which the pilot should renew."`
}

// Renewal is one line of a RenewRequest.
type Renewal struct {
	Lease string     `json:"lease" minLength:"1"`
	State LeaseState `json:"state" enum:",granted,starting,running,draining" doc:"Empty: as before." required:"false"`
	Usage Usage      `json:"usage" required:"false"`

	Report map[string]any `json:"report,omitempty" doc:"Whatever else is to be known of the attempt, by name, at most 64 KiB; over what was reported before." required:"false"`

	// TTL is how long the lease lasts from now on; 0 = Timing.TTL. It is for pilots of other protocols, which say
	// something less often, and no pilot's own to choose.
	TTL time.Duration `json:"-"`
}

// RenewRequest says that a pilot still holds these leases.
type RenewRequest struct {
	Pilot  string    `json:"pilot" minLength:"1"`
	Leases []Renewal `json:"leases" maxItems:"1000"`
}

// CancelOrder tells a pilot to end an attempt: SIGTERM, and SIGKILL after the grace.
type CancelOrder struct {
	Lease  string  `json:"lease"`
	Reason string  `json:"reason" doc:"killed, reclaim, …"`
	GraceS float64 `json:"grace_s"`
}

// RenewReply names each lease of the request once, in kept or in lost; cancel holds some of the kept again.
type RenewReply struct {
	Kept       []string      `json:"kept"`
	Lost       []string      `json:"lost"`
	Cancel     []CancelOrder `json:"cancel"`
	RenewAfter float64       `json:"renew_after_s"`
}

// Result is one line of a FinishRequest.
type Result struct {
	Lease    string         `json:"lease" minLength:"1"`
	Outcome  Outcome        `json:"outcome" enum:"finished,failed,cancelled,revoked" doc:"Revoked: the pilot gives the job back, as it has to end; up to the tenth attempt that is not counted."`
	ExitCode *int           `json:"exit_code" doc:"Exit code of the process; 128 + signal when a signal ended it." required:"false"`
	Message  string         `json:"message" maxLength:"4096" required:"false"`
	Usage    Usage          `json:"usage" required:"false"`
	Outputs  map[string]any `json:"outputs" doc:"What the job made, by name." required:"false"`
	LogTail  string         `json:"log_tail" doc:"End of stdout and stderr." maxLength:"65536" required:"false"`
	Report   map[string]any `json:"report,omitempty" doc:"Whatever else is to be known of the attempt, by name, at most 64 KiB; over what was reported before." required:"false"`
}

// FinishRequest reports ended attempts.
type FinishRequest struct {
	Pilot   string   `json:"pilot" minLength:"1"`
	Results []Result `json:"results" maxItems:"1000"`
}

// Verdicts of a finish.
const (
	Recorded  = "recorded"   // this call ended the attempt, or repeated the call that did
	LeaseLost = "lease_lost" // the attempt had ended otherwise; nothing was changed
)

// Verdict is the answer to one Result.
type Verdict struct {
	Lease    string `json:"lease"`
	Verdict  string `json:"verdict" enum:"recorded,lease_lost"`
	JobState string `json:"job_state" doc:"State of the job now: ready, or waiting, when it will be tried again."`
}

// FinishReply has one verdict a result, in the request's order.
type FinishReply struct {
	Verdicts []Verdict `json:"verdicts"`
}

// Sentinels of the package.
var (
	// ErrNoJobs: no job that this slot may run became ready within the pull's wait.
	ErrNoJobs = errors.New("no job for this slot")
	// ErrUnknownQueue: the site has no queue of that name.
	ErrUnknownQueue = errors.New("unknown queue")
	// ErrNoProvision: the site file does not say which pilots may be started for the queue.
	ErrNoProvision = errors.New("no provision")
	// ErrUnknownResource: the site in force has no such resource.
	ErrUnknownResource = holdings.ErrUnknownResource
	// ErrQueueClosed: the queue drains or is offline; it gets no job until it is online again.
	ErrQueueClosed = errors.New("queue takes no jobs")
	// ErrRequestReused: the request id was used by this pilot with another body.
	ErrRequestReused = errors.New("request id used before with another body")
	// ErrRequestOver: the pull of this request id was answered, and all its leases have ended.
	ErrRequestOver = errors.New("all leases of this request have ended")
	// ErrStopping: the daemon takes no more pulls.
	ErrStopping = errors.New("daemon is stopping")
	// ErrUnavailable: it is unknown whether the request was served; a repeat tells.
	ErrUnavailable = errors.New("unavailable: ask again")
)

func status(a lease.Answer) error {
	switch a.Status {
	case lease.Done:
		return nil
	case lease.NoJob:
		return ErrNoJobs
	case lease.Over:
		return ErrRequestOver
	case lease.Reused:
		return ErrRequestReused
	}
	return ErrUnavailable
}
