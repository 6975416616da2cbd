package explain

import (
	"time"
)

// Explanation is why a job waits, or why it was given its slot; see docs/explain.md.
type Explanation struct {
	Job      int64           `json:"job"`
	Task     int64           `json:"task"`
	Share    string          `json:"share" doc:"Path of the share that pays."`
	State    string          `json:"state" enum:"waiting,ready,leased,finished,failed,cancelled"`
	At       time.Time       `json:"at" doc:"When this was so, by the clock of the daemon that decides."`
	Version  int64           `json:"version" doc:"Site version in force."`
	Summary  string          `json:"summary" doc:"The answer in a few words."`
	Gate     Gate            `json:"gate,omitempty" enum:"structural,paused,backoff,black_hole,cap,lending,claim_template_missing,claim_missing,claim_draining,claim_needs_node,claim_bound_elsewhere,claim_needs_devices,claim_full,gang_waiting,resource_unknown,resource_capacity,resource_external,resource_reserved,resource_allowance,resource_io,share,user,priority,none" doc:"What stands in the way at the queue where the job gets furthest."`
	Pools    []PathStanding  `json:"pools,omitempty" doc:"The path of its share, in every pool with a queue that could run it."`
	Queues   []QueueGate     `json:"queues,omitempty" doc:"Every queue of the site, in file order."`
	Position *Position       `json:"position,omitempty"`
	ETA      *ETA            `json:"eta,omitempty"`
	Claims   []ClaimStanding `json:"claims,omitempty" doc:"What it holds, or will hold, together with other jobs."`
	Waits    *TaskWait       `json:"waits,omitempty" doc:"Of a job that is not ready yet."`
	Decision *Decision       `json:"decision,omitempty" doc:"Of the running or the last attempt."`
}

// Position is how many jobs of its share are to be served before a job.
type Position struct {
	Before int64 `json:"before" doc:"Ready jobs of its share that come before it, by priority and then by age; where the share gives turns to users, those of its user."`
	More   bool  `json:"more" doc:"There are more than that: they were not counted."`
	Ready  int64 `json:"ready" doc:"Ready jobs of its share altogether."`
}

// TaskWait is what a job that is not ready waits for.
type TaskWait struct {
	TaskState string   `json:"task_state"`
	Reason    string   `json:"reason" doc:"What its task waits for."`
	Inputs    []string `json:"inputs" doc:"Inputs of the job."`
}

// PathStanding is how the path of a share stands in one pool.
type PathStanding struct {
	Pool     string          `json:"pool"`
	Capacity float64         `json:"capacity" doc:"Units of the online queues; -1 = unlimited."`
	Round    float64         `json:"round" doc:"R: the units that targets are shares of."`
	Held     float64         `json:"held"`
	Levels   []LevelStanding `json:"levels" doc:"From the top down to the share."`
	AtTarget *float64        `json:"at_target_in_s,omitempty" doc:"Seconds until the share holds its target if nothing is reclaimed, from the attempts that ended lately; absent = not at that rate."`
}

// LevelStanding is a node of the path among its siblings.
type LevelStanding struct {
	Share   string  `json:"share"`
	Weight  float64 `json:"weight"`
	Product float64 `json:"weight_product" doc:"Its weight over the sum of its siblings', times that of the level above."`
	Tier    int     `json:"tier"`
	Target  float64 `json:"target"`
	Held    float64 `json:"held"`
	Deficit float64 `json:"deficit" doc:"target - held."`
	Demand  float64 `json:"demand"`
	Ready   int64   `json:"ready"`
	Rank    int     `json:"rank" doc:"Its place by deficit among the siblings with ready jobs; 1 is served next."`
	Of      int     `json:"of" doc:"Siblings with ready jobs, and itself."`
}

// ETA is when a ready job is likely to get its slot.
type ETA struct {
	Known   bool    `json:"known"`
	Seconds float64 `json:"seconds" doc:"From at; only if known."`
	AtLeast bool    `json:"at_least,omitempty" doc:"It takes longer than that: not all jobs before it were counted."`
	How     string  `json:"how" doc:"The sum, in words; or why it is not known."`
	Flows   []Flow  `json:"flows,omitempty" doc:"What it is made of, by pool."`
}

// Flow is what a share gets of a pool.
type Flow struct {
	Pool           string  `json:"pool"`
	EndsPerSecond  float64 `json:"ends_per_second" doc:"Attempts that ended in the pool lately."`
	UnitsPerSecond float64 `json:"units_per_second" doc:"Units that they freed."`
	Part           float64 `json:"part" doc:"The share's target over the sum of those of all leaves; where the share gives turns to users, times its user's part of it."`
	JobUnits       float64 `json:"job_units" doc:"Units that this job charges there."`
	MeanUnits      float64 `json:"mean_units" doc:"Units that this job and those before it charge there, on average."`
}

// UserStanding is what a user has of a share that gives jobs by fair turn among users.
type UserStanding struct {
	User string  `json:"user"`
	Held float64 `json:"held" doc:"Units that his jobs of the share hold in the pool."`
	Part float64 `json:"part" doc:"Of the share's target, in equal parts, and what some do not use among the others."`
}

// ClaimStanding is a claim as it stands: what several jobs hold together.
type ClaimStanding struct {
	ID        int64         `json:"id"`
	Task      int64         `json:"task,omitempty" doc:"Absent: it was made outside of tasks."`
	Key       string        `json:"key" doc:"Which of the task's claims: the way to where it is shared, then the template. Of one made outside, its name."`
	State     string        `json:"state" enum:"pending,bound,draining,released"`
	Template  ClaimTakes    `json:"template" doc:"What it takes when it is bound."`
	LingerS   float64       `json:"linger_s" doc:"Seconds that it stays bound while nobody holds it."`
	Queue     string        `json:"queue,omitempty" doc:"With node: where it is bound."`
	Node      string        `json:"node,omitempty"`
	Devices   []string      `json:"devices,omitempty" doc:"Of that node, taken for it."`
	BoundAt   *time.Time    `json:"bound_at,omitempty" doc:"Since when."`
	Sharers   int           `json:"sharers" doc:"Jobs that hold it: those with a lease."`
	IdleSince *time.Time    `json:"idle_since,omitempty" doc:"Since when nobody holds it although it is bound."`
	CreatedAt time.Time     `json:"created_at"`
	EndedAt   *time.Time    `json:"ended_at,omitempty" doc:"When it was released."`
	Holders   []ClaimHolder `json:"holders,omitempty" doc:"The first hundred by id. Only in GET /v1/resource-claims/{id}."`
	Waiters   []ClaimWaiter `json:"waiters,omitempty" doc:"Jobs of it without a lease, the first hundred by id. Only in GET /v1/resource-claims/{id}."`
	Waiting   int           `json:"waiting,omitempty" doc:"How many they are; counted up to 10,000. Only in GET /v1/resource-claims/{id}."`
}

// ClaimTakes is the template of a claim, as it was when the claim was made or last changed.
type ClaimTakes struct {
	Name       string           `json:"name"`
	Resources  map[string]int64 `json:"resources,omitempty" doc:"Units that it holds while it is bound, once for all that share it."`
	Node       bool             `json:"node,omitempty" doc:"Its jobs run on one node."`
	Devices    map[string]int   `json:"devices,omitempty" doc:"Devices of that node, by kind."`
	MaxSharers int              `json:"max_sharers,omitempty" doc:"Jobs that may hold it at a time; absent: no bound."`
	Gang       bool             `json:"gang,omitempty" doc:"All that share it start together on one node."`
	Missing    bool             `json:"missing,omitempty" doc:"Neither the task nor the site has the template: jobs wait until the site has it."`
}

// ClaimHolder is a job that holds a claim.
type ClaimHolder struct {
	Job     int64     `json:"job"`
	Task    int64     `json:"task"`
	Name    string    `json:"name" doc:"Which of the task's jobs, as in 0/sgx/1/pca/2."`
	Attempt int       `json:"attempt"`
	State   string    `json:"state" doc:"State of its lease."`
	Pilot   string    `json:"pilot"`
	Since   time.Time `json:"since" doc:"When it was granted."`
}

// ClaimWaiter is a job of a claim that has no lease.
type ClaimWaiter struct {
	Job   int64     `json:"job"`
	Task  int64     `json:"task"`
	Name  string    `json:"name" doc:"Which of the task's jobs, as in 0/sgx/1/pca/2."`
	State string    `json:"state" enum:"waiting,ready"`
	Since time.Time `json:"since" doc:"When it was made."`
}
