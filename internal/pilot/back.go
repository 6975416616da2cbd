package pilot

import (
	"slices"
	"syscall"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// outcomeBack is the outcome of an attempt that its job is not charged for.
const outcomeBack = wire.Revoked

// put takes a result in. A batch system sends SIGTERM, or SIGUSR2, to all processes of a batch job, and jobs may be dead before their pilot
// knows of its own. So a job that was ended by a signal which its pilot did not send goes back if the pilot ends, and else its result waits until
// a time for the pilot to be told. SIGKILL of all would have been the pilot's end.
func (o *outbox) put(r *run, ends bool, until time.Time) {
	switch signal := r.job.Struck(); {
	case signal != 0 && ends:
		o.giveBack(r)
	case signal != 0 && signal != syscall.SIGKILL:
		r.doubt = until
		o.doubted = append(o.doubted, r)
	default:
		o.runs = append(o.runs, r)
	}
}

// giveBack takes in the result of a job that was ended with its pilot.
func (o *outbox) giveBack(r *run) {
	r.result.Outcome, r.result.Message = outcomeBack, payload.Clip("ended with its pilot; "+r.result.Message)
	o.runs = append(o.runs, r)
}

// takeBack ends all doubts: the pilot was told to leave.
func (o *outbox) takeBack() {
	for _, r := range o.doubted {
		o.giveBack(r)
	}
	o.doubted = nil
}

// believe has results go that waited long enough.
func (o *outbox) believe(now time.Time) {
	o.doubted = slices.DeleteFunc(o.doubted, func(r *run) bool {
		if r.doubt.After(now) {
			return false
		}
		o.runs = append(o.runs, r)
		return true
	})
}

// drop forgets a result.
func (o *outbox) drop(r *run) {
	is := func(other *run) bool { return other == r }
	o.runs, o.doubted = slices.DeleteFunc(o.runs, is), slices.DeleteFunc(o.doubted, is)
}
