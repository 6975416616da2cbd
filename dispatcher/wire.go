package dispatcher

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
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
	RequestID string   `json:"request_id" doc:"Unique per queue and pilot; a repeat within ten minutes gets the same leases." maxLength:"200" required:"false"`
}

// Lease is the right to run one attempt of a job, with all that the pilot needs to run it. Command and Env are only
// to be read: other leases of the task may have the same ones.
type Lease struct {
	Lease     string            `json:"lease" doc:"Opaque token: the fence of renew and finish."`
	Job       int64             `json:"job"`
	Attempt   int               `json:"attempt"`
	Task      int64             `json:"task"`
	Share     string            `json:"share" doc:"Path of the share that pays."`
	Command   []string          `json:"command"`
	Env       map[string]string `json:"env"`
	Cores     int               `json:"cores"`
	MemoryMB  int64             `json:"memory_mb"`
	DiskMB    int64             `json:"disk_mb"`
	WalltimeS int64             `json:"walltime_s"`
	ExpiresIn float64           `json:"expires_in_s" doc:"Seconds until the lease ends unless renewed."`
}

// PullReply carries at least one lease; a pull that got none returns ErrNoJobs.
type PullReply struct {
	Leases     []Lease `json:"leases"`
	RenewAfter float64 `json:"renew_after_s" doc:"Seconds after which the pilot should renew."`
}

// LeaseState is how far an attempt has come.
type LeaseState string

// The states of a lease, in the order in which they follow each other.
const (
	Granted  LeaseState = "granted"
	Starting LeaseState = "starting"
	Running  LeaseState = "running"
	Draining LeaseState = "draining"
)

// Usage is what an attempt has used so far.
type Usage struct {
	CPUSeconds float64 `json:"cpu_s" doc:"CPU seconds. More than 10^9 counts as that many." minimum:"0" required:"false"`
	MemoryMB   int64   `json:"memory_mb" doc:"Peak resident memory in MB. More than 10^9 counts as that many." minimum:"0" required:"false"`
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

// Outcome is how an attempt ended.
type Outcome string

// The outcomes of an attempt. Pilots report the first three of them; lost and revoked are the dispatcher's.
const (
	Finished  Outcome = "finished"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
	Lost      Outcome = "lost"
	Revoked   Outcome = "revoked"
)

// Result is one line of a FinishRequest.
type Result struct {
	Lease    string         `json:"lease" minLength:"1"`
	Outcome  Outcome        `json:"outcome" enum:"finished,failed,cancelled"`
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
	Queue       string     `json:"queue,omitempty" doc:"Of the running or the last attempt."`
	Pilot       string     `json:"pilot,omitempty"`
	Reason      string     `json:"reason,omitempty" doc:"Why a ready job does not run, where that is known: no queue can run it. In GET /v1/jobs/{id} also why a waiting or failed one is so, where a rule or the terms of its task said it."`
	TryAt       *time.Time `json:"try_at,omitempty" doc:"When a job that waits after a failed or lost attempt is tried again."`
	Attempts    []Attempt  `json:"attempts,omitempty" doc:"Only in GET /v1/jobs/{id}."`
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
	LogTail   string         `json:"-"`
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
}

// ShareStanding is one node of the tree as it stands now. Unit figures are in units (not thousandths).
type ShareStanding struct {
	ID       shares.ShareID `json:"id"`
	Path     string         `json:"path"`
	Pool     string         `json:"pool"`
	Depth    int            `json:"depth"`
	Leaf     bool           `json:"leaf"`
	Weight   float64        `json:"weight"`
	Tier     int            `json:"tier"`
	Rank     int            `json:"rank" doc:"The largest is reclaimed from first."`
	Target   float64        `json:"target"`
	Slots    int64          `json:"target_slots" doc:"The target in whole units, apportioned level by level."`
	Held     float64        `json:"held"`
	Deficit  float64        `json:"deficit" doc:"target - held."`
	Demand   float64        `json:"demand"`
	Ready    int64          `json:"ready" doc:"Ready jobs."`
	HeldJobs int64          `json:"held_jobs"`
	AtTarget *float64       `json:"at_target_in_s,omitempty" doc:"Seconds until it holds its target if nothing is reclaimed, from the attempts that ended lately; 0 = it does, or units are free; absent = not at that rate."`
	Waited   *float64       `json:"next_waited_s,omitempty" doc:"Seconds since the task of the oldest of the jobs that are next in line was submitted; of a branch the longest below it; absent = none is ready."`

	Deserved float64 `json:"deserved" doc:"What it would get if every share wanted everything: owned and its part of the pool."`
	Owned    float64 `json:"owned" doc:"Units that are its own (owned: in the site file), or of shares below it, if that is more; 0: it has none."`
	Own      float64 `json:"own" doc:"Of held: within what it owns."`
	Lent     float64 `json:"lent" doc:"Owned units that siblings use."`
	Borrowed float64 `json:"borrowed" doc:"Units that siblings own and it uses."`

	Lag        float64 `json:"lag" doc:"What it has missed since it is there: the integral of target - held, in units times seconds; below 0 it had too much."`
	Remembered float64 `json:"remembered,omitempty" doc:"The same, fading with its half_life: by it the target is shifted."`
}

// PoolStanding heads the shares of a pool.
type PoolStanding struct {
	Pool     string          `json:"pool"`
	Capacity float64         `json:"capacity" doc:"Units of the online queues; -1 = unlimited."`
	Round    float64         `json:"round" doc:"R: the units that targets are shares of."`
	Held     float64         `json:"held"`
	Shares   []ShareStanding `json:"shares" doc:"Parents before children, YAML order."`
}

// Standing is the state of all pools at one moment.
type Standing struct {
	Version    int64          `json:"version" doc:"Site version."`
	At         time.Time      `json:"at"`
	PlansAt    time.Time      `json:"plans_at" doc:"The moment whose plans are in force."`
	NextChange *time.Time     `json:"next_change,omitempty" doc:"When a window begins or ends, so that other plans come into force; absent: never."`
	Pools      []PoolStanding `json:"pools"`
}

// QueueStanding is one queue as it stands now.
type QueueStanding struct {
	shares.Queue
	HeldCores int64 `json:"held_cores"`
	HeldJobs  int64 `json:"held_jobs"`
	HeldIO    int64 `json:"held_io_kb_s,omitempty" doc:"With max_io: kB/s of the jobs that run here, by what their tasks say."`
	Ready     int64 `json:"ready" doc:"Ready jobs that this queue could run."`
	Pilots    int   `json:"pilots" doc:"Pilots that pulled here in the last five minutes at this daemon."`
	Waiting   int   `json:"waiting" doc:"Pulls that wait for a job here at this daemon."`

	BlackHole   *BlackHoleStanding    `json:"black_hole,omitempty" doc:"Of a queue that fails nearly all that it gets: it gets a job now and then."`
	TargetSlots []TargetSlotsStanding `json:"target_slots,omitempty" doc:"Caps and floors that a Harvester has set, or whoever speaks for it."`
}

// TargetSlotsStanding is a cap on the cores that may be held at a queue, or a floor, and what is held under it.
type TargetSlotsStanding struct {
	Share     string     `json:"share,omitempty" doc:"Path of the share that it is for; absent: all."`
	Class     string     `json:"class,omitempty" doc:"Jobs that it is for: SCORE, MCORE, SCORE_HIMEM, MCORE_HIMEM; absent: all."`
	Slots     int        `json:"slots" doc:"Cores."`
	HeldCores int64      `json:"held_cores"`
	Floor     bool       `json:"floor,omitempty" doc:"While fewer are held, these jobs come first at the queue; else no more may be held."`
	Until     *time.Time `json:"until,omitempty" doc:"When it ends; absent: when it is said so."`
}

// Stock is how well one (share, shape) is supplied.
type Stock struct {
	Share           shares.ShareID
	Shape           int32  // as the generator knows it: that of anybody's jobs
	User            string // whose jobs these are, in a share that gives them by fair turn among users
	Ready           int64
	StartsPerMinute float64 // of the last minutes, all daemons
	Startable       int64   // jobs that the free slots of eligible queues could start now; -1 = unlimited
}
