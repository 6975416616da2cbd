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

	"github.com/divvyhq/divvy/api/panda/call"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/harvester"
)

// oldCalls are those of pilot3 up to 3.11. Its answers are flat, and 200 also where they say no.
func (s *server) oldRoutes(r chi.Router) {
	for name, serve := range map[string]func(*http.Request, call.Args) (int, any){
		"getJob": s.getJob, "updateJob": s.updateJob, "updateWorkerPilotStatus": s.updateWorkerPilotStatus,
		"getStatus": s.getStatus, "isAlive": s.isAlive, "getResourceTypes": s.oldResourceTypes,
	} {
		r.HandleFunc("/server/panda/"+name, func(w http.ResponseWriter, r *http.Request) {
			a, err := call.Decode(w, r)
			if err != nil {
				call.WriteJSON(w, http.StatusOK, call.Declined(call.ScFailed, err.Error()))
				return
			}
			status, answer := serve(r, a)
			call.WriteJSON(w, status, answer)
		})
	}
	s.oldHarvesterRoutes(r)
	s.oldTaskRoutes(r)
	r.HandleFunc("/server/panda/*", notThere)
}

// oldGetJob are the arguments of getJob that mean something here.
var oldGetJob = call.Params{"siteName": call.Text, "computingElement": call.Text, "prodSourceLabel": call.Text, "diskSpace": call.Number, "mem": call.Number,
	"node": call.Text, "prodUserID": call.Text, "taskID": call.Integer, "resourceType": call.Text, "harvester_id": call.Text, "worker_id": call.Text,
	"schedulerID": call.Text, "remaining_time": call.Number, "nJobs": call.Integer}

// getJob gives the job, flat, or a list of them where nJobs was said.
func (s *server) getJob(r *http.Request, a call.Args) (int, any) {
	a = oldGetJob.Lenient(a)
	_, bulk := a["nJobs"]
	q := wanted{queue: a.Text("siteName"), element: a.Text("computingElement"), label: a.Text("prodSourceLabel"),
		memoryMB: a.Number("mem"), diskMB: a.Number("diskSpace"), remainingS: a.Number("remaining_time"),
		task: a.Integer("taskID"), user: a.Text("prodUserID"), resource: a.Text("resourceType"), node: a.Text("node"),
		worker: a.Text("worker_id"), scheduler: a.Text("schedulerID"), n: max(1, int(min(a.Integer("nJobs"), maxJobs))), wait: s.Wait}
	if q.queue == "" {
		return http.StatusOK, call.Declined(call.ScFailed, "siteName is missing: the name of a queue")
	}
	jobs, err := s.acquire(r, q)
	var no forbidden
	switch {
	case errors.As(err, &no):
		return http.StatusOK, call.Declined(scRole, no.Error())
	case errors.Is(err, dispatcher.ErrNoJobs):
		return http.StatusOK, call.Declined(call.ScNoJobs, call.OldNoJobs)
	case none(err):
		return http.StatusOK, call.Declined(call.ScNoJobs, call.OldNoJobs+": "+err.Error())
	case wrong(err):
		return http.StatusOK, call.Declined(call.ScFailed, err.Error())
	case err != nil:
		s.Log.Warn("getJob", "queue", q.queue, "error", err)
		return http.StatusOK, call.Declined(call.ScTimeOut, call.TryAgain)
	case bulk && byHarvester(q.scheduler, q.worker):
		return http.StatusOK, fetchedJobs(jobs)
	case bulk:
		return http.StatusOK, jobList{call.ScSuccess, jobs}
	}
	return http.StatusOK, jobs[0]
}

// jobList is the answer to who asked for several jobs.
type jobList struct {
	StatusCode int        `json:"StatusCode"`
	Jobs       []pandaJob `json:"jobs"`
}

// heard is the answer to an update: the command is NULL in the old API where there is none, and as idle says in the new one.
type heard struct {
	StatusCode int `json:"StatusCode"`
	Command    any `json:"command"`
}

// updateJob hears a heartbeat, or the end of a job.
func (s *server) updateJob(r *http.Request, a call.Args) (int, any) {
	u := fromOld(oldParams.Lenient(a))
	switch {
	case u.job <= 0:
		return http.StatusOK, call.Declined(call.ScInvalid, "jobId is not the id of a job")
	case !u.known():
		return http.StatusOK, call.Declined(call.ScInvalid, fmt.Sprintf("state %q is none of starting, running, transferring, holding, finished, failed", u.state))
	}
	kill, err := s.heed(r.Context(), u)
	var no forbidden
	switch {
	case errors.As(err, &no):
		return http.StatusOK, call.Declined(scRole, no.Error())
	case err != nil && u.final():
		return http.StatusServiceUnavailable, call.Declined(call.ScTimeOut, call.TryAgain)
	case err != nil:
		return http.StatusOK, call.Declined(call.ScTimeOut, call.TryAgain)
	case kill:
		return http.StatusOK, heard{call.ScSuccess, call.Killed}
	}
	return http.StatusOK, heard{call.ScSuccess, call.NoCommand}
}

// heed is hear within a time. Who says a last word is worth waiting for: it is said again here as long as there is time,
// since the pilot says it twice at most.
func (s *server) heed(ctx context.Context, u update) (kill bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout/2)
	defer cancel()
	for {
		kill, err = s.hear(ctx, u)
		if err == nil || !u.final() || wrong(err) || errors.As(err, new(forbidden)) || errors.Is(err, dispatcher.ErrStopping) {
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

// updateWorkerPilotStatus hears that a pilot has begun or ended.
func (s *server) updateWorkerPilotStatus(r *http.Request, a call.Args) (int, any) {
	a = call.Params{"status": call.Text, "harvesterID": call.Text, "workerID": call.Text, "node_id": call.Text}.Lenient(a)
	if !workerStatus(a.Text("status")) {
		return http.StatusOK, call.Declined(call.ScInvalid, "status is neither started nor finished")
	}
	s.noteWorker(r, a.Text("workerID"), harvester.Said{Harvester: a.Text("harvesterID"), Status: a.Text("status"), Node: a.Text("node_id")})
	return http.StatusOK, heardOnly{}
}

func workerStatus(s string) bool { return s == "started" || s == "finished" }

// heardOnly is the answer to who needs none.
type heardOnly struct {
	StatusCode int `json:"StatusCode"`
}

// getStatus tells how jobs stand: their states and attempts in the order of the ids, with commas.
func (s *server) getStatus(r *http.Request, a call.Args) (int, any) {
	a = call.Params{"ids": call.Text}.Lenient(a)
	var ids []int64
	for _, word := range strings.FieldsFunc(a.Text("ids"), func(r rune) bool { return r == ',' || r == ' ' }) {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return http.StatusOK, call.Declined(call.ScFailed, fmt.Sprintf("ids: %q is not the id of a job", word))
		}
		ids = append(ids, id)
	}
	if len(ids) > maxJobs {
		return http.StatusOK, call.Declined(call.ScFailed, fmt.Sprintf(tooMany, "ids", len(ids), maxJobs))
	}
	stands, err := s.stands(r.Context(), ids)
	if err != nil {
		return http.StatusOK, call.Declined(call.ScTimeOut, call.TryAgain)
	}
	var states, attempts []string
	for _, j := range stands {
		states, attempts = append(states, strings.ReplaceAll(j.Status, " ", "")), append(attempts, strconv.Itoa(j.Attempt))
	}
	return http.StatusOK, map[string]any{"StatusCode": call.ScSuccess, "status": strings.Join(states, ","), "attemptNr": strings.Join(attempts, ",")}
}

// isAlive says so.
func (s *server) isAlive(*http.Request, call.Args) (int, any) {
	return http.StatusOK, map[string]any{"StatusCode": call.ScSuccess, "alive": "yes"}
}
