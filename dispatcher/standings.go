package dispatcher

import (
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// QueueLately is how a queue did in the last hour, and who holds its cores.
type QueueLately struct {
	Queue   string      `json:"queue"`
	Held    []QueueHeld `json:"held_by_share" doc:"By share, who holds most first."`
	Pulls   int64       `json:"pulls" doc:"Pulls that were given jobs in the last hour."`
	MeanS   float64     `json:"claim_wait_mean_s" doc:"Seconds that these waited for their jobs, on the average; 0 when there were none."`
	MostS   float64     `json:"claim_wait_max_s" doc:"The longest of these waits."`
	Ended   int64       `json:"ended" doc:"Attempts that finished, failed or were lost in the last hour."`
	Failed  int64       `json:"failed" doc:"Of these, those that failed or were lost."`
	Failure float64     `json:"failure_rate" doc:"failed / ended; 0 when none ended."`
	Since   time.Time   `json:"since" doc:"What the hour's figures begin with: an hour ago, or when the daemon that decides began to."`
}

// QueueHeld is what a share holds at a queue.
type QueueHeld struct {
	Share string `json:"share"`
	Cores int64  `json:"cores"`
	Jobs  int64  `json:"jobs"`
}

// KindQueues is where jobs of a task with the same requirements may run.
type KindQueues struct {
	Share  string           `json:"share" doc:"The share that pays."`
	Needs  job.Requirements `json:"needs"`
	Jobs   int64            `json:"jobs" doc:"Live jobs of this kind, among the first 10000 of the task."`
	ToCome int64            `json:"to_come" doc:"Pieces of the task that will become such jobs, or, where it may choose between sizes, those of another size."`
	Queues []QueueFit       `json:"queues" doc:"Every queue of the site, in file order."`
}

// QueueFit says whether a queue may run jobs of a kind.
type QueueFit struct {
	Queue  string            `json:"queue"`
	Pool   string            `json:"pool"`
	State  shares.QueueState `json:"state" enum:"online,drain,offline,test"`
	Runs   bool              `json:"runs" doc:"It may run them; a slot with labels of its own may where the queue alone may not."`
	Reason string            `json:"reason,omitempty" doc:"Why it does not: the first filter that excludes it."`
	Remote bool              `json:"remote,omitempty" doc:"It runs them, but after others for a time: they prefer a queue near their inputs."`
	Pilots int               `json:"pilots" doc:"Pilots that pulled here in the last five minutes."`
}
