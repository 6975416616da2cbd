package dispatcher

import (
	"errors"

	"github.com/divvyhq/divvy/dispatcher/holdings"
	"github.com/divvyhq/divvy/dispatcher/lease"
)

// Sentinels of the package.
var (
	// ErrNoJobs: no job that this slot may run became ready within the pull's wait.
	ErrNoJobs = errors.New("no job for this slot")
	// ErrUnknownQueue: the site has no queue of that name.
	ErrUnknownQueue = errors.New("unknown queue")
	// ErrUnknownResource: the site in force has no such resource.
	ErrUnknownResource = holdings.ErrUnknownResource
	// ErrQueueClosed: the queue drains or is offline; it gets no job until it is online again.
	ErrQueueClosed = errors.New("queue takes no jobs")
	// ErrRequestReused: the request id was used by this pilot with another body.
	ErrRequestReused = errors.New("request id used before with another body")
	// ErrRequestOver: the pull of this request id was answered, and all its leases have ended.
	ErrRequestOver = errors.New("all leases of this request have ended")
	// ErrStopping: the daemon takes no more pulls.
	ErrStopping = errors.New("daemon is stopping")
	// ErrUnavailable: it is unknown whether the request was served; a repeat tells.
	ErrUnavailable = errors.New("unavailable: ask again")
)

// status is the error of an answer.
func status(a lease.Answer) error {
	switch a.Status {
	case lease.Done:
		return nil
	case lease.NoJob:
		return ErrNoJobs
	case lease.Over:
		return ErrRequestOver
	case lease.Reused:
		return ErrRequestReused
	}
	return ErrUnavailable
}
