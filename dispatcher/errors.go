package dispatcher

import "errors"

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
