package slurm

import (
	"fmt"
	"slices"
	"strings"
)

// State is a state of a job, as sacct and squeue spell it.
type State string

// The states that divvy's jobs have.
const (
	Pending     State = "PENDING"
	Running     State = "RUNNING"
	Suspended   State = "SUSPENDED"
	Completing  State = "COMPLETING"
	Completed   State = "COMPLETED"
	Cancelled   State = "CANCELLED"
	Failed      State = "FAILED"
	Timeout     State = "TIMEOUT"
	NodeFail    State = "NODE_FAIL"
	OutOfMemory State = "OUT_OF_MEMORY"
)

var shorts = map[State]string{
	Pending: "PD", Running: "R", Suspended: "S", Completing: "CG", Completed: "CD", Cancelled: "CA", Failed: "F", Timeout: "TO", NodeFail: "NF", OutOfMemory: "OOM",
	"CONFIGURING": "CF", "PREEMPTED": "PR", "BOOT_FAIL": "BF", "DEADLINE": "DL", "STOPPED": "ST", "REQUEUED": "RQ", "RESIZING": "RS", "REVOKED": "RV", "SPECIAL_EXIT": "SE",
	"REQUEUE_HOLD": "RH", "REQUEUE_FED": "RF", "RESV_DEL_HOLD": "RD", "SIGNALING": "SI", "STAGE_OUT": "SO",
}

// Short returns the two letters of squeue's %t.
func (s State) Short() string { return shorts[s] }

// Over says whether a job in this state has ended.
func (s State) Over() bool {
	switch s {
	case Pending, Running, Suspended, Completing:
		return false
	}
	return true
}

// ParseStates reads a list such as PD,RUNNING. All says that every state is meant.
func ParseStates(text string) (states []State, all bool, err error) {
	for word := range strings.SplitSeq(text, ",") {
		upper := strings.ToUpper(strings.TrimSpace(word))
		switch {
		case upper == "ALL":
			return nil, true, nil
		case upper == "":
		case shorts[State(upper)] != "":
			states = append(states, State(upper))
		default:
			found := false
			for state, short := range shorts {
				if short == upper {
					states, found = append(states, state), true
				}
			}
			if !found {
				return nil, false, fmt.Errorf("Invalid job state specified: %s", word)
			}
		}
	}
	return states, false, nil
}

// Attempt is how the last attempt of a failed job ended, in divvy's words.
type Attempt struct {
	Outcome string
	Code    *int
	Message string
}

// FailedAs returns the state of a failed job, and its exit code and signal.
func FailedAs(a Attempt) (State, int, int) {
	code, signal := 1, 0
	if a.Code != nil {
		code = *a.Code
	}
	if code > 128 && strings.Contains(a.Message, "killed by signal") {
		code, signal = 0, code-128
	}
	switch {
	case a.Outcome == "lost":
		return NodeFail, 0, 9
	case strings.HasPrefix(a.Message, "walltime limit"):
		return Timeout, 0, 15
	case strings.HasPrefix(a.Message, "memory limit"):
		return OutOfMemory, 0, 125
	case code == 0 && signal == 0:
		code = 1 // the payload was right, and what surrounds it was not
	}
	return Failed, code, signal
}

// In says whether a state is one of some; none of them means any.
func (s State) In(states []State) bool { return len(states) == 0 || slices.Contains(states, s) }
