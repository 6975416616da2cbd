package view

import (
	"time"

	"github.com/divvyhq/divvy/generator/spec"
)

// TaggedBy says how a task got its share.
type TaggedBy struct {
	Verdict string `json:"verdict" enum:"explicit,matched,default,hold" doc:"explicit: the task names its share."`
	Rule    *int   `json:"rule,omitempty" doc:"Index of the rule that won."`
	Later   []int  `json:"later,omitempty" doc:"Rules behind it that match too."`
}

// Scouted is what the scouts of a task measured. Zero fields were not: nothing is resized by them.
type Scouted struct {
	Finished       int           `json:"finished" doc:"Scouts that finished, and were measured."`
	CPUPerEvent    float64       `json:"cpu_s_per_event,omitempty" doc:"CPU seconds of an event, of a core of power 1; the 95th percentile. With split no less than its walltime comes to at the efficiency stated, so that jobs which wait for their data are not made too long. An input that does not say its events has one, and a job without either."`
	OutputPerEvent float64       `json:"output_mb_per_event,omitempty" doc:"MB, the 95th percentile; of outputs that say their size."`
	MemoryMB       int64         `json:"memory_mb,omitempty" doc:"The 75th percentile."`
	Walltime       spec.Walltime `json:"walltime,omitempty" doc:"The 75th percentile."`
	Longest        spec.Walltime `json:"longest,omitempty" doc:"Walltime of the longest one."`
}

// DeadlineState is a task's deadline, and when it will be over at the rate at which its jobs end.
type DeadlineState struct {
	At       time.Time  `json:"at" doc:"When all of it should be over."`
	ETA      *time.Time `json:"eta,omitempty" doc:"When it will be; absent while nothing of it has ended, and when it is over."`
	LateRisk string     `json:"late_risk" enum:"unknown,low,high,late,met,missed" doc:"low, high: eta before or after the deadline. late: that has passed. In the end met or missed."`
	PerHour  float64    `json:"jobs_per_hour" doc:"Jobs of it that end an hour, lately."`
	Boost    int        `json:"boost,omitempty" doc:"Priority that it gains, once, when the risk is high."`
	Boosted  int        `json:"boosted,omitempty" doc:"Priority that it has gained so."`
}

// NeedState is a need of a task, and how far it is met.
type NeedState struct {
	Task    int64  `json:"task" doc:"Id of the task that is needed."`
	Name    string `json:"name"`
	State   string `json:"state" doc:"Of the task that is needed."`
	When    string `json:"when" enum:"done,finished,any"`
	Per     string `json:"per" enum:"task,input"`
	Outputs string `json:"outputs,omitempty"`
	Met     string `json:"met" enum:"open,met,broken,left" doc:"open: it is waited for, or more comes of it. met: it was over as was asked for. broken: it was not. left: the task that needed it was over first."`
	Taken   int64  `json:"taken,omitempty" doc:"Jobs of it whose end is taken note of."`
}
