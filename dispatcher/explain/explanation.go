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
