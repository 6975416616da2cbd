package dispatcher

import (
	"errors"
	"fmt"
)

// Sentinels of the package. api/errors.go maps each to a status.
var (
	// ErrNoJobs: no job that this slot may run became ready within the pull's wait.
	ErrNoJobs = errors.New("no job for this slot")
	// ErrUnknownQueue: the site has no queue of that name.
	ErrUnknownQueue = errors.New("unknown queue")
	// ErrQueueClosed: the queue drains or is offline; it gets no job until it is online again.
	ErrQueueClosed = errors.New("queue takes no jobs")
	// ErrRequestReused: the request id was used by this pilot with another body.
	ErrRequestReused = errors.New("request id used before with another body")
	// ErrRequestOver: the pull of this request id was answered, and all its leases have ended.
	ErrRequestOver = errors.New("all leases of this request have ended")
	// ErrInvalid: the request says something that cannot be; see FieldError.
	ErrInvalid = errors.New("invalid request")
	// ErrNoJob: no job has that id.
	ErrNoJob = errors.New("no such job")
	// ErrNoTask is the answer about a task that does not exist.
	ErrNoTask = errors.New("no such task")
	// ErrNoAttempt: the job has no attempt of that number that ended.
	ErrNoAttempt = errors.New("no such attempt ended")
	// ErrStopping: the daemon takes no more pulls.
	ErrStopping = errors.New("daemon is stopping")
	// ErrHandOn: another daemon decides from now on, the pull should be made there; see HandOn.
	ErrHandOn = errors.New("another daemon decides")
)

// FieldError is an ErrInvalid that names the field, what is wrong with it and what would be right.
type FieldError struct {
	Field string // as in the request's JSON, for instance slot.cores
	Value any
	Want  string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %v is not %s", e.Field, e.Value, e.Want)
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *FieldError) Unwrap() error { return ErrInvalid }
