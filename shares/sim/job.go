package sim

import (
	"fmt"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Job is one job of a workload. Times count from the beginning of the trace.
type Job struct {
	ID       int64
	Leaf     int // index into Tree.Nodes
	At       time.Duration
	Runtime  time.Duration
	Units    shares.Units // what it charges: its cores, in thousandths
	Priority int          // larger goes first within a leaf, aging apart
	Seq      int64        // place in the order of arrival; Run sets it
	place    int64        // in the order of its leaf, lowest first; aging makes it
}

// goesBefore is the order of one line for all: the higher priority, then the earlier job.
func (j *Job) goesBefore(other *Job) bool {
	if j.Priority != other.Priority {
		return j.Priority > other.Priority
	}
	return j.Seq < other.Seq
}

// goesBeforeInLeaf is the order within a leaf: the same, but for aging.
func (j *Job) goesBeforeInLeaf(other *Job) bool {
	if j.place != other.place {
		return j.place < other.place
	}
	return j.Seq < other.Seq
}

func (j *Job) check(t *shares.Tree) error {
	var wrong string
	switch {
	case j.Leaf <= 0 || j.Leaf >= len(t.Nodes) || !t.Leaf(j.Leaf):
		wrong = fmt.Sprintf("node %d is no leaf of the tree", j.Leaf)
	case j.Units <= 0:
		wrong = fmt.Sprintf("%s units: a job takes more than none", j.Units)
	case j.Runtime < 0:
		wrong = fmt.Sprintf("run time %s is negative", j.Runtime)
	case j.At < 0:
		wrong = fmt.Sprintf("arrival %s is before the beginning", j.At)
	default:
		return nil
	}
	return fmt.Errorf("job %d: %s", j.ID, wrong)
}
