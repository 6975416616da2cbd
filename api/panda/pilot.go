package panda

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/harvester"
)

// pilotCalls are those that pilots make, and Harvester for them.
func (s *server) pilotCalls() []endpoint {
	return []endpoint{
		byPost("/pilot/acquire_jobs", params{"site_name": text | needed, "timeout": number, "memory": number,
			"disk_space": number, "prod_source_label": text, "node": text, "computing_element": text, "prod_user_id": text,
			"get_proxy_key": anything, "task_id": integer, "n_jobs": integer, "background": boolean, "resource_type": text,
			"harvester_id": text, "worker_id": text, "scheduler_id": text, "job_type": text, "via_topic": anything,
			"remaining_time": number, "target_architecture": anything}, s.acquireJobs),
		byPost("/pilot/update_job", newParams, s.updateOne),
		byPost("/pilot/update_jobs_bulk", params{"job_list": list | needed, "harvester_id": text}, s.updateBulk),
		byGet("/pilot/get_job_status", params{"job_ids": integers | needed, "timeout": number}, s.getJobStatus),
		byPost("/pilot/update_worker_status", params{"worker_id": text | needed, "harvester_id": text | needed,
			"status": text | needed, "timeout": number, "node_id": text}, s.updateWorkerStatus),
		byPost("/pilot/update_worker_node", params{"site": text | needed, "host_name": text | needed, "cpu_model": text | needed,
			"panda_queue": text, "n_logical_cpus": integer, "n_sockets": integer, "cores_per_socket": integer,
			"threads_per_core": integer, "cpu_architecture": text, "cpu_architecture_level": text, "clock_speed": number,
			"total_memory": number, "total_local_disk": number, "timeout": number}, s.updateWorkerNode),
		byPost("/pilot/update_worker_node_gpu", params{"site": text | needed, "host_name": text | needed, "vendor": text | needed,
			"model": text | needed, "count": integer | needed, "vram": number, "architecture": text, "framework": text,
			"framework_version": text, "driver_version": text, "timeout": number}, s.updateWorkerGPU),
		byPost("/pilot/set_debug_mode", params{"job_id": integer | needed, "mode": text}, s.setDebugMode),
		byGet("/metaconfig/get_resource_types", params{}, s.getResourceTypes),
	}
}

// acquireJobs gives a list of jobs. It waits for the first one well below the caller's timeout.
func (s *server) acquireJobs(r *http.Request, a args) envelope {
	q := wanted{queue: a.text("site_name"), element: a.text("computing_element"), label: a.text("prod_source_label"),
		memoryMB: a.number("memory"), diskMB: a.number("disk_space"), remainingS: a.number("remaining_time"),
		task: a.integer("task_id"), user: a.text("prod_user_id"), resource: a.text("resource_type"), node: a.text("node"),
		worker: a.text("worker_id"), scheduler: a.text("scheduler_id"), n: max(1, int(min(a.integer("n_jobs"), maxJobs))), wait: s.Wait}
	if _, said := a["timeout"]; said {
		q.wait = min(q.wait, time.Duration(max(0, min(a.number("timeout"), 1e6))/2*float64(time.Second)))
	}
	jobs, err := s.acquire(r, q)
	var no forbidden
	switch {
	case errors.As(err, &no):
		return bad("%s", no)
	case errors.Is(err, dispatcher.ErrNoJobs):
		return bad(newNoJobs)
	case none(err):
		return bad("%s: %s", newNoJobs, err)
	case wrong(err):
		return bad("%s", err)
	case err != nil:
		s.Log.Warn("acquire_jobs", "queue", q.queue, "error", err)
		return bad(tryAgain)
	}
	if byHarvester(q.scheduler, q.worker) {
		return good(fetchedJobs(jobs))
	}
	return good(jobList{scSuccess, jobs})
}

// updateOne hears a heartbeat, or the end of a job.
func (s *server) updateOne(r *http.Request, a args) envelope {
	u := fromNew(a)
	if !u.known() {
		e := bad("Invalid job status: %s", u.state)
		e.Data = heardOnly{scInvalid}
		return e
	}
	kill, err := s.heed(r.Context(), u)
	var no forbidden
	switch {
	case errors.As(err, &no):
		return bad("%s", no)
	case err != nil:
		return bad(tryAgain)
	case kill:
		e := good(heard{scSuccess, killed})
		e.Command = killed
		return e
	}
	return good(heard{scSuccess, idle(r)})
}

// idle is the command of an answer that has none. Pilots since the middle of 2026 look for blanks in whatever stands there
// unless it is NULL: null would end them.
func idle(r *http.Request) any {
	if byPilot(r) {
		return noCommand
	}
	return nil
}

// tooMany refuses a longer list than one call is served: each update is a transaction of its own.
const tooMany = "%s: %d items, expected at most %d: say the others with another call"

// updateBulk hears several; each has an envelope of its own. One that does not say which job it is of spoils them
// all, before anything is done.
func (s *server) updateBulk(r *http.Request, a args) envelope {
	if n := len(a.list("job_list")); n > maxJobs {
		e := bad(tooMany, "job_list", n, maxJobs)
		e.Data = []envelope{}
		return e
	}
	for i, item := range a.list("job_list") {
		one, ok := item.(map[string]any)
		if !ok || absent(one["job_id"]) || absent(one["job_status"]) {
			e := bad("job_list[%d]: expected a job_id and a job_status", i)
			e.Data = []envelope{}
			return e
		}
	}
	all := make([]envelope, len(a.list("job_list")))
	for i, item := range a.list("job_list") {
		one, err := newParams.read(args(item.(map[string]any)))
		if err != nil {
			all[i] = bad("%s", err)
			continue
		}
		all[i] = s.updateOne(r, one)
	}
	return good(all)
}

// stand is how a job stands.
type stand struct {
	Job     int64  `json:"job_id"`
	Status  string `json:"status"`
	Attempt int    `json:"attempt_number"`
}

// getJobStatus tells how jobs stand.
func (s *server) getJobStatus(r *http.Request, a args) envelope {
	ids := a.integers("job_ids")
	if len(ids) > maxJobs {
		return bad(tooMany, "job_ids", len(ids), maxJobs)
	}
	stands, err := s.stands(r.Context(), ids)
	if err != nil {
		return bad(tryAgain)
	}
	return good(stands)
}

// stands looks jobs up, in the order of their ids.
func (s *server) stands(ctx context.Context, ids []int64) ([]stand, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	of := make([]dispatcher.HeldJob, len(ids))
	for i, id := range ids {
		of[i].Job = id
	}
	jobs, err := s.Dispatcher.Holdings(ctx, of)
	if err == nil { // and their leases, now that the attempts are known
		for i, j := range jobs {
			of[i].Attempt = j.Attempt
		}
		jobs, err = s.Dispatcher.Holdings(ctx, of)
	}
	if err != nil {
		s.Log.Warn("states of jobs", "error", err)
		return nil, err
	}
	all := make([]stand, len(ids))
	for i, j := range jobs {
		all[i] = stand{ids[i], statusOf(j.JobState, j.State), j.Attempt}
		if j.JobState == "" {
			all[i].Status = "not found"
		}
	}
	return all, nil
}

// updateWorkerStatus hears that a pilot has begun or ended.
func (s *server) updateWorkerStatus(r *http.Request, a args) envelope {
	if !workerStatus(a.text("status")) {
		return bad("Invalid worker state. The worker state has to be in ('started', 'finished')")
	}
	return s.noteWorker(r, a.text("worker_id"), harvester.Said{Harvester: a.text("harvester_id"), Status: a.text("status"), Node: a.text("node_id")})
}

// updateWorkerNode and updateWorkerGPU hear what a host is made of. Pilots say what they need with each pull, so nothing
// is done with it; the answer tells whether it is known already.
func (s *server) updateWorkerNode(_ *http.Request, a args) envelope {
	if s.nodes.before(a.text("site"), a.text("host_name")) {
		return envelope{Success: true, Message: "Updated existing worker node."}
	}
	return envelope{Success: true, Message: "Inserted new worker node."}
}

func (s *server) updateWorkerGPU(_ *http.Request, a args) envelope {
	if s.nodes.before(a.text("site"), a.text("host_name"), a.text("vendor"), a.text("model")) {
		return envelope{Success: true, Message: "Updated existing worker node GPU."}
	}
	return envelope{Success: true, Message: "Inserted new worker node GPU."}
}

// seen remembers what was told before, at this daemon and not for ever.
type seen struct {
	mu sync.Mutex
	of map[string]bool
}

// maxSeen bounds what is remembered, a hundred bytes each.
const maxSeen = 100000

func (s *seen) before(words ...string) bool {
	key := fmt.Sprintf("%q", words)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[key] {
		return true
	}
	if s.of == nil || len(s.of) >= maxSeen {
		s.of = map[string]bool{}
	}
	s.of[key] = true
	return false
}
