package spec

import (
	"fmt"
)

// Split says how large the pieces are that events or inputs are cut into, where a number of inputs, or of events, for each job
// does not say it.
type Split struct {
	By        string `json:"by,omitempty" enum:",inputs,events,bytes" doc:"What per_job counts; default: inputs, or the events of a task without inputs."`
	PerJob    int64  `json:"per_job,omitempty" is:"1..1152921504606846976" minimum:"0" doc:"Inputs, events or bytes of one job. An input with more events is shared out among several jobs; with fit, the most in a job while CPU time of an event is not known."`
	Fit       bool   `json:"fit,omitempty" doc:"As large as walltime and scratch of the queues that may run them allow."`
	PerQueue  bool   `json:"per_queue,omitempty" doc:"With fit: larger jobs for the queues that allow them, smaller ones for the others; else all jobs fit all these queues."`
	MaxPerJob int64  `json:"max_per_job,omitempty" is:"1..1152921504606846976" minimum:"0" doc:"With fit: no job is larger, counted as per_job is."`

	CPUPerEvent    float64  `json:"cpu_s_per_event,omitempty" is:"..1e9" minimum:"0" doc:"CPU seconds of one event on a core of power 1. An input that does not say its events has one."`
	BaseWalltime   Walltime `json:"base_walltime,omitempty" is:"seconds 1s..8784h" doc:"What a job takes whatever its size."`
	Efficiency     float64  `json:"efficiency,omitempty" is:"..1" minimum:"0" maximum:"1" doc:"CPU time by walltime and core; 0 = 0.9."`
	OutputPerEvent float64  `json:"output_mb_per_event,omitempty" is:"..1e9" minimum:"0" doc:"MB that a job writes for one event; 500 MB are reserved at least."`
	WorkMB         int64    `json:"work_mb,omitempty" is:"..1000000000" minimum:"0" doc:"Scratch that a job needs beside its inputs and outputs."`
}

// What splitting counts.
const (
	ByInputs = "inputs"
	ByEvents = "events"
	ByBytes  = "bytes"
)

const (
	MaxScouts  = 1000 // of a task, as the tag of Spec.Scout says
	Efficiency = 0.9  // where none is stated
)

// splitting checks split, and that the fields beside it fit to it.
func (c *checker) splitting(s *Spec) {
	switch {
	case s.Scout > 0 && s.Grouped():
		c.hint("scout", "is not for tasks of groups", "their jobs are not alike")
	case s.Scout > 0 && (s.fed() || s.Piecewise()):
		c.hint("scout", "is not for tasks whose pieces wait for those of others", "needs per: task, without outputs, go together with it")
	}
	if s.MaxRunning > 0 && s.Grouped() {
		c.hint("max_running", "is not for tasks of groups", "max_sharers of a claim bounds those that hold it")
	}
	p := s.Split
	if p == nil {
		if s.Events != nil && s.Events.PerJob == 0 {
			c.hint("events.per_job", "is missing", "or say split")
		}
		return
	}
	withInputs := len(s.Inputs) > 0 || s.InputsFile != "" || s.InputsStreamed
	switch {
	case !withInputs && s.Events == nil:
		c.hint("split", "is for inputs and events only", "count, matrix and groups say themselves how many jobs there are")
		return
	case s.PerJob != 0 || s.Events != nil && s.Events.PerJob != 0:
		c.hint("split", "given together with a per_job outside of it", "say split.per_job")
	case s.Events != nil && p.By != "" && p.By != ByEvents:
		c.hint("split.by", fmt.Sprintf("%q: the task has events and no inputs", p.By), ByEvents)
	case p.PerJob == 0 && !p.Fit:
		c.hint("split", "says neither per_job nor fit", "per_job: 1000, or fit: true")
	case p.Fit && p.CPUPerEvent == 0 && s.Scout == 0 && p.OutputPerEvent == 0 && !withInputs:
		c.hint("split.fit", "nothing says what an event takes", "cpu_s_per_event, or scout: 10 to measure it")
	case !p.Fit && (p.PerQueue || p.MaxPerJob > 0):
		c.hint("split", "per_queue and max_per_job are for fit: true only", "")
	case p.By == ByInputs && p.PerJob > MaxPerJob:
		c.addf("split.per_job", "%d is not in 1 … %d", p.PerJob, MaxPerJob)
	}
}
