package panda

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/harvester"
)

// oldCalls returns the calls of pilot3 up to 3.11. Answers are flat, and have status 200 even if they refuse.
func (s *server) oldRoutes(r chi.Router) {
	for name, serve := range map[string]func(*http.Request, wire.Args) (int, any){
		"getJob": s.pilots.getJob, "updateJob": s.pilots.updateJob, "updateWorkerPilotStatus": s.pilots.updateWorkerPilotStatus,
		"getStatus": s.pilots.getStatus, "isAlive": s.pilots.isAlive, "getResourceTypes": s.pilots.oldResourceTypes,
	} {
		r.HandleFunc("/server/panda/"+name, func(w http.ResponseWriter, r *http.Request) {
			a, err := wire.Decode(w, r)
			if err != nil {
				wire.WriteJSON(w, http.StatusOK, wire.Declined(wire.ScFailed, err.Error()))
				return
			}
			status, answer := serve(r, a)
			wire.WriteJSON(w, status, answer)
		})
	}
	s.oldHarvesterRoutes(r)
	s.oldTaskRoutes(r)
	r.HandleFunc("/server/panda/*", notThere)
}

// oldGetJob lists the arguments of getJob that divvy uses.
var oldGetJob = wire.Params{"siteName": wire.Text, "computingElement": wire.Text, "prodSourceLabel": wire.Text, "diskSpace": wire.Number, "mem": wire.Number,
	"node": wire.Text, "prodUserID": wire.Text, "taskID": wire.Integer, "resourceType": wire.Text, "harvester_id": wire.Text, "worker_id": wire.Text,
	"schedulerID": wire.Text, "remaining_time": wire.Number, "nJobs": wire.Integer}

// getJob returns a job, flat, or a list of jobs if the request has nJobs.
func (s *pilots) getJob(r *http.Request, a wire.Args) (int, any) {
	a = oldGetJob.Lenient(a)
	_, bulk := a["nJobs"]
	q := wanted{queue: a.Text("siteName"), element: a.Text("computingElement"), label: a.Text("prodSourceLabel"),
		memoryMB: a.Number("mem"), diskMB: a.Number("diskSpace"), remainingS: a.Number("remaining_time"),
		task: a.Integer("taskID"), user: a.Text("prodUserID"), resource: a.Text("resourceType"), node: a.Text("node"),
		worker: a.Text("worker_id"), scheduler: a.Text("schedulerID"), n: max(1, int(min(a.Integer("nJobs"), maxJobs))), wait: s.Wait}
	if q.queue == "" {
		return http.StatusOK, wire.Declined(wire.ScFailed, "siteName is missing: the name of a queue")
	}
	jobs, err := s.acquire(r, q)
	switch {
	case errors.As(err, new(wire.Forbidden)):
		return http.StatusOK, wire.Declined(scRole, err.Error())
	case errors.Is(err, dispatcher.ErrNoJobs):
		return http.StatusOK, wire.Declined(wire.ScNoJobs, wire.OldNoJobs)
	case none(err):
		return http.StatusOK, wire.Declined(wire.ScNoJobs, wire.OldNoJobs+": "+err.Error())
	case wrong(err):
		return http.StatusOK, wire.Declined(wire.ScFailed, err.Error())
	case err != nil:
		s.Log.Warn("getJob", "queue", q.queue, "error", err)
		return http.StatusOK, wire.Declined(wire.ScTimeOut, wire.TryAgain)
	case bulk && byHarvester(q.scheduler, q.worker):
		return http.StatusOK, fetchedJobs(jobs)
	case bulk:
		return http.StatusOK, jobList[pandaJob]{wire.ScSuccess, jobs}
	}
	return http.StatusOK, jobs[0]
}

// jobList is the answer to a request for several jobs.
type jobList[J any] struct {
	StatusCode int `json:"StatusCode"`
	Jobs       []J `json:"jobs"`
}

// heard is the answer to an update. Without a command the old API says NULL; for the new one see idle.
type heard struct {
	StatusCode int `json:"StatusCode"`
	Command    any `json:"command"`
}

// updateJob records a heartbeat, or the end of a job.
func (s *pilots) updateJob(r *http.Request, a wire.Args) (int, any) {
	u := fromOld(oldParams.Lenient(a))
	switch {
	case u.job <= 0:
		return http.StatusOK, wire.Declined(wire.ScInvalid, "jobId is not the id of a job")
	case !u.known():
		return http.StatusOK, wire.Declined(wire.ScInvalid, fmt.Sprintf("state %q is none of starting, running, transferring, holding, finished, failed", u.state))
	}
	kill, err := s.heed(r.Context(), u)
	switch {
	case errors.As(err, new(wire.Forbidden)):
		return http.StatusOK, wire.Declined(scRole, err.Error())
	case err != nil && u.final():
		return http.StatusServiceUnavailable, wire.Declined(wire.ScTimeOut, wire.TryAgain)
	case err != nil:
		return http.StatusOK, wire.Declined(wire.ScTimeOut, wire.TryAgain)
	case kill:
		return http.StatusOK, heard{wire.ScSuccess, wire.Killed}
	}
	return http.StatusOK, heard{wire.ScSuccess, wire.NoCommand}
}

// heed is hear with a time limit. A final state is worth waiting for: heed repeats it while there is time, since the
// pilot sends it twice at most.
func (s *pilots) heed(ctx context.Context, u update) (kill bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout/2)
	defer cancel()
	for {
		kill, err = s.hear(ctx, u)
		if err == nil || !u.final() || wrong(err) || errors.As(err, new(wire.Forbidden)) || errors.Is(err, dispatcher.ErrStopping) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
			continue
		}
		break
	}
	if err != nil {
		s.Log.Warn("update", "job", u.job, "attempt", u.attempt, "said", u.state, "error", err)
	}
	return kill, err
}

// updateWorkerPilotStatus records that a pilot has begun or ended.
func (s *pilots) updateWorkerPilotStatus(r *http.Request, a wire.Args) (int, any) {
	a = wire.Params{"status": wire.Text, "harvesterID": wire.Text, "workerID": wire.Text, "node_id": wire.Text}.Lenient(a)
	if !workerStatus(a.Text("status")) {
		return http.StatusOK, wire.Declined(wire.ScInvalid, "status is neither started nor finished")
	}
	s.harvesters.NoteWorker(r, a.Text("workerID"), harvester.Said{Harvester: a.Text("harvesterID"), Status: a.Text("status"), Node: a.Text("node_id")})
	return http.StatusOK, heardOnly{}
}

func workerStatus(s string) bool { return s == "started" || s == "finished" }

// heardOnly is the answer to a caller that needs no result.
type heardOnly struct {
	StatusCode int `json:"StatusCode"`
}

// getStatus returns the states and attempts of jobs in the order of the ids, with commas.
func (s *pilots) getStatus(r *http.Request, a wire.Args) (int, any) {
	a = wire.Params{"ids": wire.Text}.Lenient(a)
	var ids []int64
	for _, word := range strings.FieldsFunc(a.Text("ids"), func(r rune) bool { return r == ',' || r == ' ' }) {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return http.StatusOK, wire.Declined(wire.ScFailed, fmt.Sprintf("ids: %q is not the id of a job", word))
		}
		ids = append(ids, id)
	}
	if len(ids) > maxJobs {
		return http.StatusOK, wire.Declined(wire.ScFailed, fmt.Sprintf(tooMany, "ids", len(ids), maxJobs))
	}
	stands, err := s.stands(r.Context(), ids)
	if err != nil {
		return http.StatusOK, wire.Declined(wire.ScTimeOut, wire.TryAgain)
	}
	var states, attempts []string
	for _, j := range stands {
		states, attempts = append(states, strings.ReplaceAll(j.Status, " ", "")), append(attempts, strconv.Itoa(j.Attempt))
	}
	return http.StatusOK, map[string]any{"StatusCode": wire.ScSuccess, "status": strings.Join(states, ","), "attemptNr": strings.Join(attempts, ",")}
}

// isAlive says so.
func (s *pilots) isAlive(*http.Request, wire.Args) (int, any) {
	return http.StatusOK, map[string]any{"StatusCode": wire.ScSuccess, "alive": "yes"}
}
