package explain

import (
	"fmt"
	"strings"
	"time"
)

// Decision is how an attempt came to its slot: the grant, and the decision made again where the log has what it takes.
type Decision struct {
	Attempt   int       `json:"attempt" doc:"0: the job never had a slot."`
	Queue     string    `json:"queue"`
	Pilot     string    `json:"pilot"`
	Node      string    `json:"node"`
	ReadyAt   time.Time `json:"ready_at" doc:"When it was created, or the attempt before it ended."`
	ClaimedAt time.Time `json:"claimed_at"`
	WaitedS   float64   `json:"waited_s" doc:"From ready to granted."`
	Version   int64     `json:"version" doc:"Site version that was in force."`
	Recorded  bool      `json:"recorded"`
	Note      string    `json:"note,omitempty" doc:"Why the decision is not made again."`

	Record *Record         `json:"record,omitempty"`
	Levels []DecisionLevel `json:"levels,omitempty" doc:"From the top down to the share that won."`
}

// Record is a decision that was made again from the log.
type Record struct {
	At         time.Time `json:"at" doc:"When it was decided."`
	Units      float64   `json:"units" doc:"Units that the job is charged."`
	Round      float64   `json:"round" doc:"R that the targets were solved for."`
	Candidates int       `json:"candidates" doc:"Shares with a job for the slot."`
	Unfit      int       `json:"unfit" doc:"Shares that were skipped: none of their ready jobs fits the slot."`
	Barred     int       `json:"barred" doc:"Shares that were skipped: a limit kept their jobs for the slot back."`
	Skipped    []Skipped `json:"skipped,omitempty" doc:"The first eight of the skipped shares that would have got the slot before the winner, in this order."`
	SlotCores  int       `json:"slot_cores" doc:"Cores that the slot had left to offer."`
	Daemon     int64     `json:"daemon" doc:"Daemon that decided it."`
	Seq        int64     `json:"seq" doc:"Batch of the log that has the grant."`
	Winner     string    `json:"winner" doc:"Share that got the slot."`
	RunnerUp   string    `json:"runner_up,omitempty" doc:"Share that would have got it else; absent = no other had a job for the slot."`
	Floor      bool      `json:"floor,omitempty" doc:"The winner came before its turn: the queue has a floor for it."`
	Parted     int       `json:"parted" doc:"Depth of the level at which the paths of both part, from 1; 0 without a runner-up."`
}

// Skipped is a share that stood before the winner and did not get the slot.
type Skipped struct {
	Share  string `json:"share"`
	Reason string `json:"reason" enum:"unfit,max,pool,lend,borrow" doc:"unfit: none of its ready jobs fits the slot; else the limit that kept them back."`
}

// DecisionLevel is one step of the walk from the root to the winner. Above the level at which the paths part both sides
// are the same; below it the winner was compared with others than the runner-up.
type DecisionLevel struct {
	Share           string   `json:"share"`
	Deficit         *float64 `json:"deficit,omitempty" doc:"target - held before the grant."`
	RunnerUp        string   `json:"runner_up,omitempty" doc:"What leads to the runner-up here; the same share above the level at which the paths part."`
	RunnerUpDeficit *float64 `json:"runner_up_deficit,omitempty"`
}

// Summary is the answer for a job that has or had a slot, or is in a final state without.
func (out *Decision) Summary(state string) string {
	if out.Attempt == 0 {
		return "It never had a slot: it is " + state + "."
	}
	s := fmt.Sprintf("Attempt %d got a slot of %s after %s", out.Attempt, out.Queue, waited(out.WaitedS))
	switch {
	case !out.Recorded:
		return s + "; the decision is " + out.Note + "."
	case out.Record.RunnerUp == "":
		return s + ": no other share had a job for it."
	}
	l := out.Levels[out.Record.Parted-1]
	if out.Record.Floor {
		return fmt.Sprintf("%s: %s came before its turn, since the queue has a floor for it; %s would have been next (%s and %s units).",
			s, l.Share, l.RunnerUp, figure(*l.Deficit), figure(*l.RunnerUpDeficit))
	}
	return fmt.Sprintf("%s: %s %s (%s and %s units).", s, l.Share, before(l.RunnerUp, *l.Deficit, *l.RunnerUpDeficit), figure(*l.Deficit), figure(*l.RunnerUpDeficit))
}

// before says why a side with such a deficit was chosen before the runner-up. Only a leaf that is owed units goes before one
// with a larger deficit.
func before(runnerUp string, deficit, second float64) string {
	switch {
	case deficit == second:
		return "was as far from its target as " + runnerUp + ", and served longer ago"
	case deficit < second:
		return "came before its turn, for units that were reclaimed for it; " + runnerUp + " was further below its target"
	case deficit > 0:
		return "was further below its target than " + runnerUp
	}
	return "was less far above its target than " + runnerUp
}

func waited(seconds float64) string {
	if seconds < 60 {
		return figure(seconds) + " s"
	}
	t := ETA{Seconds: seconds}
	return strings.TrimPrefix(t.words(), "about ")
}
