package panda

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// wanted is a request for jobs, of either generation.
type wanted struct {
	queue      string
	label      string  // prodSourceLabel
	memoryMB   float64 // of the slot
	diskMB     float64
	remainingS float64
	task       int64
	user       string
	resource   string // resource type: a hint
	node       string
	element    string // computing element
	worker     string // Harvester's worker, or its batch system's name for the pilot
	scheduler  string
	n          int           // slots
	wait       time.Duration // for the first job
}

// Bounds of one request: jobs, and the bytes of a pilot's or a node's name. PanDA's pilots know no such bound, so
// longer names are cut.
const (
	maxJobs = 1000
	maxName = 200
)

func (q wanted) pullRequest() dispatcher.PullRequest {
	return dispatcher.PullRequest{
		Queue: q.queue, Pilot: wire.Cut(q.pilot(), maxName), Node: wire.Cut(q.node, maxName), Max: 1, WaitS: q.wait.Seconds(),
		Slot: job.Slot{Cores: coresOf(q.resource), MemoryMB: whole(q.memoryMB), DiskMB: whole(q.diskMB), WalltimeS: whole(q.remainingS)},
		Only: job.Only{Labels: labelsOf(q.label), Task: max(0, q.task), User: q.user},
	}
}

// whole rounds down what a pilot measured; 0 and nonsense mean "not said".
func whole(f float64) int64 {
	if !(f >= 1) {
		return 0
	}
	return int64(min(f, math.MaxInt32))
}

// pilot returns a name of the caller, as unique as the request allows.
func (q wanted) pilot() string {
	name := q.node
	if q.worker != "" {
		name = q.worker + "@" + cmp.Or(q.node, q.scheduler)
	}
	if name = strings.Trim(name, "@"); name == "" {
		name = cmp.Or(q.element, q.queue)
	}
	return "panda/" + name
}

// coresOf returns the cores of a slot of this resource type; 0 = as the queue says.
func coresOf(resourceType string) int {
	if strings.HasPrefix(strings.ToUpper(resourceType), "SCORE") {
		return 1
	}
	return 0
}

// labelsOf returns the labels of tasks that match a prodSourceLabel; none = any. Tasks without a label match every
// pilot: a site with such tasks does not tell tasks apart by label.
func labelsOf(prodSourceLabel string) []string {
	switch prodSourceLabel {
	case "", "any", "unified":
		return nil
	case "user":
		return []string{"user", "panda", ""}
	}
	return []string{prodSourceLabel, ""}
}

// acquire gets up to q.n jobs. Each slot pulls for itself, since its own size decides what fits. Only the first slot
// waits for a job. The error is the first slot's.
func (s *pilots) acquire(r *http.Request, q wanted) ([]pandaJob, error) {
	if err := s.mayPull(r.Context(), q.queue); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), q.wait+s.Timeout)
	defer cancel()
	first, err := s.Dispatcher.Pull(ctx, q.pullRequest())
	if err != nil {
		return nil, err
	}
	leases := first.Leases
	q.wait = 0
	others := make([][]dispatcher.Lease, min(q.n, maxJobs)-1)
	var pulls sync.WaitGroup
	for i := range others {
		pulls.Go(func() {
			if reply, err := s.Dispatcher.Pull(ctx, q.pullRequest()); err == nil {
				others[i] = reply.Leases
			}
		})
	}
	pulls.Wait()
	for _, l := range others {
		leases = append(leases, l...)
	}
	jobs := make([]pandaJob, len(leases))
	for i := range leases {
		jobs[i] = s.jobOf(r, q.queue, &leases[i])
	}
	return jobs, nil
}

// none reports whether a pull got no job because of the jobs or the queue, not because of the daemon or the request.
func none(err error) bool {
	return errors.Is(err, dispatcher.ErrNoJobs) || errors.Is(err, dispatcher.ErrQueueClosed)
}

// wrong reports whether the request is to blame.
func wrong(err error) bool {
	return errors.Is(err, dispatcher.ErrUnknownQueue) || errors.Is(err, job.ErrInvalid)
}
