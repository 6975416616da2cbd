package slurm

import (
	"fmt"
	"strconv"
	"time"
)

// Row is a job, a piece of an array, or what is pending of an array, as lists show it.
type Row struct {
	Job   int64  // id of the task
	Array *Array // of an array: the piece, or all pending ones
	Raw   int64  // id of the divvy job; 0 = none yet
	Piece int64  // with Array: the index; -1 = those of Array
	Who   Who
	State State
	Ended Ended
	At    Times
	Size  Size
	Node  string
	Why   string // why it is pending
}

// Who says what a job is called and whose it is.
type Who struct {
	Name, User, Account, Partition, Comment, Dir, Output, Error string
	Priority                                                    int
}

// Ended is how a job ended.
type Ended struct{ Code, Signal int }

// Times are those of a job; zero = not yet.
type Times struct {
	Now, Submit, Start, End time.Time
	Limit                   time.Duration // 0 = none
}

// Size is what a job needs and used.
type Size struct {
	CPUs           int
	MemoryMB       int64
	UsedMB         int64
	UsedCPUSeconds float64
}

// ID writes the id as %i and JobID have it.
func (r *Row) ID() string {
	switch {
	case r.Array == nil:
		return strconv.FormatInt(r.Job, 10)
	case r.Piece < 0:
		return fmt.Sprintf("%d_[%s]", r.Job, r.Array)
	}
	return fmt.Sprintf("%d_%d", r.Job, r.Piece)
}

// RawID writes the id as JobIDRaw and SLURM_JOB_ID have it.
func (r *Row) RawID() string {
	if r.Array != nil && r.Piece >= 0 && r.Raw > 0 {
		return strconv.FormatInt(RawBase+r.Raw, 10)
	}
	return strconv.FormatInt(r.Job, 10)
}

// Elapsed is how long the job has run.
func (r *Row) Elapsed() time.Duration {
	switch {
	case r.At.Start.IsZero():
		return 0
	case r.At.End.IsZero():
		return r.At.Now.Sub(r.At.Start)
	}
	return r.At.End.Sub(r.At.Start)
}

// left is how long the job may run on.
func (r *Row) left() string {
	if r.At.Limit == 0 {
		return "UNLIMITED"
	}
	return FormatTime(r.At.Limit - r.Elapsed())
}

func (r *Row) limit(write func(time.Duration) string) string {
	if r.At.Limit == 0 {
		return "UNLIMITED"
	}
	return write(r.At.Limit)
}

func moment(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.Local().Format("2006-01-02T15:04:05")
}

// reason is why a job is pending, or else None.
func (r *Row) reason() string {
	switch {
	case r.State == Pending && r.Why != "":
		return r.Why
	case r.State == Pending:
		return "Priority"
	case r.State == Timeout:
		return "TimeLimit"
	case r.State == OutOfMemory:
		return "OutOfMemory"
	case r.State == NodeFail:
		return "NodeDown"
	case r.State == Failed:
		return "NonZeroExitCode"
	}
	return "None"
}
