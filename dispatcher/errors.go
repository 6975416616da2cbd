package dispatcher

import (
	"errors"

	"github.com/divvyhq/divvy/dispatcher/face"
	"github.com/divvyhq/divvy/dispatcher/lookup"
)

// Sentinels of the package. api/errors.go maps each to a status.
var (
	// ErrNoJobs: no job that this slot may run became ready within the pull's wait.
	ErrNoJobs = face.ErrNoJobs
	// ErrUnknownQueue: the site has no queue of that name.
	ErrUnknownQueue = face.ErrUnknownQueue
	// ErrQueueClosed: the queue drains or is offline; it gets no job until it is online again.
	ErrQueueClosed = face.ErrQueueClosed
	// ErrRequestReused: the request id was used by this pilot with another body.
	ErrRequestReused = face.ErrRequestReused
	// ErrRequestOver: the pull of this request id was answered, and all its leases have ended.
	ErrRequestOver = face.ErrRequestOver
	// ErrNoJob: no job has that id.
	ErrNoJob = lookup.ErrNoJob
	// ErrNoTask is the answer about a task that does not exist.
	ErrNoTask = face.ErrNoTask
	// ErrNoAttempt: the job has no attempt of that number that ended.
	ErrNoAttempt = lookup.ErrNoAttempt
	// ErrStopping: the daemon takes no more pulls.
	ErrStopping = face.ErrStopping
	// ErrHandOn: another daemon decides from now on, the pull should be made there; see HandOn.
	ErrHandOn = errors.New("another daemon decides")
)
