package swf

import (
	"strconv"
	"time"

	"github.com/divvyhq/divvy/shares/tagging"
)

// Unknown is what a column says that does not know.
const Unknown = -1

// Record is one job of a trace, as far as anybody here asks. A figure is Unknown (-1) when the file says so.
type Record struct {
	Line       int // in the file, from 1
	Job        int64
	Submit     int64   // seconds from the beginning of the trace
	Run        int64   // seconds
	Processors int64   // given
	CPU        float64 // seconds of each processor, on average
	Requested  int64   // processors
	User       int64
	Group      int64
	Executable int64
	Queue      int64
	Partition  int64
}

// Cores is how many processors the job had, or else asked for; 0 when neither is known.
func (r Record) Cores() int64 {
	if r.Processors > 0 {
		return r.Processors
	}
	return max(r.Requested, 0)
}

// Runtime is how long the job ran, or else the CPU time of each of its processors; false when neither is known.
func (r Record) Runtime() (time.Duration, bool) {
	switch {
	case r.Run >= 0:
		return time.Duration(r.Run) * time.Second, true
	case r.CPU >= 0:
		return time.Duration(r.CPU) * time.Second, true
	}
	return 0, false
}

// Unusable says why the job cannot be simulated; "" when it can.
func (r Record) Unusable() string {
	switch _, ran := r.Runtime(); {
	case r.Submit < 0:
		return "submit time unknown"
	case r.Cores() == 0:
		return "processors unknown"
	case !ran:
		return "run time unknown"
	}
	return ""
}

// Attributes are what tagging rules may ask of the job: user, working_group, transformation (the executable), queue
// and labels.partition, each the number in the trace. Unknown ones are missing.
func (r Record) Attributes() tagging.Attributes {
	a := tagging.Attributes{}
	for name, number := range map[string]int64{"user": r.User, "working_group": r.Group, "transformation": r.Executable,
		"queue": r.Queue, tagging.LabelPrefix + "partition": r.Partition} {
		if number >= 0 {
			a[name] = strconv.FormatInt(number, 10)
		}
	}
	return a
}
