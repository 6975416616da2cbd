package explain

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/dispatcher/wanted"
	"github.com/divvyhq/divvy/shares"
)

// ShareStanding is one node of the tree as it stands now. Unit figures are in units (not thousandths).
type ShareStanding struct {
	Place
	Target   float64  `json:"target"`
	Slots    int64    `json:"target_slots" doc:"The target in whole units, apportioned level by level."`
	Held     float64  `json:"held"`
	Deficit  float64  `json:"deficit" doc:"target - held."`
	Demand   float64  `json:"demand"`
	Ready    int64    `json:"ready" doc:"Ready jobs."`
	HeldJobs int64    `json:"held_jobs"`
	AtTarget *float64 `json:"at_target_in_s,omitempty" doc:"Seconds until it holds its target if nothing is reclaimed, from the attempts that ended lately; 0 = it does, or units are free; absent = not at that rate."`
	Waited   *float64 `json:"next_waited_s,omitempty" doc:"Seconds since the task of the oldest of the jobs that are next in line was submitted; of a branch the longest below it; absent = none is ready."`

	Lending

	Lag        float64 `json:"lag" doc:"What it has missed since it is there: the integral of target - held, in units times seconds; below 0 it had too much."`
	Remembered float64 `json:"remembered,omitempty" doc:"The same, fading with its half_life: by it the target is shifted."`
}

// Place is a node of the tree in a pool, with its plan.
type Place struct {
	ID     shares.ShareID `json:"id"`
	Path   string         `json:"path"`
	Pool   string         `json:"pool"`
	Depth  int            `json:"depth"`
	Leaf   bool           `json:"leaf"`
	Weight float64        `json:"weight"`
	Tier   int            `json:"tier"`
	Rank   int            `json:"rank" doc:"The largest is reclaimed from first."`
}

// Lending is what a share owns, deserves, lends and borrows, in units.
type Lending struct {
	Deserved float64 `json:"deserved" doc:"What it would get if every share wanted everything: owned and its part of the pool."`
	Owned    float64 `json:"owned" doc:"Units that are its own (owned: in the site file), or of shares below it, if that is more; 0: it has none."`
	Own      float64 `json:"own" doc:"Of held: within what it owns."`
	Lent     float64 `json:"lent" doc:"Owned units that siblings use."`
	Borrowed float64 `json:"borrowed" doc:"Units that siblings own and it uses."`
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

	Wanted      *wanted.Pilots           `json:"wanted,omitempty" doc:"Pilots that it should have; absent: the site file has no provision for it."`
	BlackHole   *retry.BlackHoleStanding `json:"black_hole,omitempty" doc:"Of a queue that fails nearly all that it gets: it gets a job now and then."`
	TargetSlots []TargetSlotsStanding    `json:"target_slots,omitempty" doc:"Caps and floors that a Harvester has set, or whoever speaks for it."`
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

// Count is how many jobs that are alike are in one state.
type Count struct {
	Share  string   // path of the share that pays
	Class  string   // see job.Class
	Label  string   // of the task
	State  string   // of the jobs: waiting, ready, leased, or a final one
	Queues []string // where they run or ran; of ready jobs where they may; none: nowhere
	Pools  []string // of these queues, each once
	N      int64
}

// ShareStock is how well a share is supplied with ready jobs: for each set of queues that run some of its jobs, and at which
// queues it has none, and why. A queue that has ready jobs of one share only cannot honour the others.
type ShareStock struct {
	Share string     `json:"share"`
	Sets  []QueueSet `json:"sets" doc:"By what may run them: jobs that the same queues run."`
	Gaps  []StockGap `json:"gaps" doc:"Queues without a ready job of this share, by the reason."`
}

// QueueSet is the jobs of a share that the same queues may run.
type QueueSet struct {
	Queues          []string `json:"queues" doc:"None: no queue can run them."`
	Ready           int64    `json:"ready"`
	ToCome          int64    `json:"to_come" doc:"Jobs of active tasks that are not generated yet."`
	Startable       int64    `json:"startable" doc:"What the free slots of the queues could start of the smallest of them; -1: no bound."`
	StartsPerMinute float64  `json:"starts_per_minute" doc:"Of the last minutes."`
	Pilots          int      `json:"pilots" doc:"Pilots that pulled at these queues in the last five minutes. Without one nothing starts."`
	ToStart         int      `json:"pilots_to_start" doc:"Pilots that these queues want beyond those alive."`
}

// StockGap is why queues have no ready job of a share.
type StockGap struct {
	Reason string   `json:"reason"`
	Queues []string `json:"queues"`
}
