package panda

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/divvyhq/divvy/api/panda/call"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/harvester"
)

// pilotCalls are those that pilots make, and Harvester for them.
func (s *server) pilotCalls() []call.Endpoint {
	return []call.Endpoint{
		call.ByPost("/pilot/acquire_jobs", call.Params{"site_name": call.Text | call.Needed, "timeout": call.Number, "memory": call.Number,
			"disk_space": call.Number, "prod_source_label": call.Text, "node": call.Text, "computing_element": call.Text, "prod_user_id": call.Text,
			"get_proxy_key": call.Anything, "task_id": call.Integer, "n_jobs": call.Integer, "background": call.Boolean, "resource_type": call.Text,
			"harvester_id": call.Text, "worker_id": call.Text, "scheduler_id": call.Text, "job_type": call.Text, "via_topic": call.Anything,
			"remaining_time": call.Number, "target_architecture": call.Anything}, s.acquireJobs),
		call.ByPost("/pilot/update_job", newParams, s.updateOne),
		call.ByPost("/pilot/update_jobs_bulk", call.Params{"job_list": call.List | call.Needed, "harvester_id": call.Text}, s.updateBulk),
		call.ByGet("/pilot/get_job_status", call.Params{"job_ids": call.Integers | call.Needed, "timeout": call.Number}, s.getJobStatus),
		call.ByPost("/pilot/update_worker_status", call.Params{"worker_id": call.Text | call.Needed, "harvester_id": call.Text | call.Needed,
			"status": call.Text | call.Needed, "timeout": call.Number, "node_id": call.Text}, s.updateWorkerStatus),
		call.ByPost("/pilot/update_worker_node", call.Params{"site": call.Text | call.Needed, "host_name": call.Text | call.Needed, "cpu_model": call.Text | call.Needed,
			"panda_queue": call.Text, "n_logical_cpus": call.Integer, "n_sockets": call.Integer, "cores_per_socket": call.Integer,
			"threads_per_core": call.Integer, "cpu_architecture": call.Text, "cpu_architecture_level": call.Text, "clock_speed": call.Number,
			"total_memory": call.Number, "total_local_disk": call.Number, "timeout": call.Number}, s.updateWorkerNode),
		call.ByPost("/pilot/update_worker_node_gpu", call.Params{"site": call.Text | call.Needed, "host_name": call.Text | call.Needed, "vendor": call.Text | call.Needed,
			"model": call.Text | call.Needed, "count": call.Integer | call.Needed, "vram": call.Number, "architecture": call.Text, "framework": call.Text,
			"framework_version": call.Text, "driver_version": call.Text, "timeout": call.Number}, s.updateWorkerGPU),
		call.ByPost("/pilot/set_debug_mode", call.Params{"job_id": call.Integer | call.Needed, "mode": call.Text}, s.setDebugMode),
		call.ByGet("/metaconfig/get_resource_types", call.Params{}, s.getResourceTypes),
	}
}

// acquireJobs gives a list of jobs. It waits for the first one well below the caller's timeout.
func (s *server) acquireJobs(r *http.Request, a call.Args) call.Envelope {
	q := wanted{queue: a.Text("site_name"), element: a.Text("computing_element"), label: a.Text("prod_source_label"),
		memoryMB: a.Number("memory"), diskMB: a.Number("disk_space"), remainingS: a.Number("remaining_time"),
		task: a.Integer("task_id"), user: a.Text("prod_user_id"), resource: a.Text("resource_type"), node: a.Text("node"),
		worker: a.Text("worker_id"), scheduler: a.Text("scheduler_id"), n: max(1, int(min(a.Integer("n_jobs"), maxJobs))), wait: s.Wait}
	if _, said := a["timeout"]; said {
		q.wait = min(q.wait, time.Duration(max(0, min(a.Number("timeout"), 1e6))/2*float64(time.Second)))
	}
	jobs, err := s.acquire(r, q)
	var no forbidden
	switch {
	case errors.As(err, &no):
		return call.Bad("%s", no)
	case errors.Is(err, dispatcher.ErrNoJobs):
		return call.Bad(call.NewNoJobs)
	case none(err):
		return call.Bad("%s: %s", call.NewNoJobs, err)
	case wrong(err):
		return call.Bad("%s", err)
	case err != nil:
		s.Log.Warn("acquire_jobs", "queue", q.queue, "error", err)
		return call.Bad(call.TryAgain)
	}
	if byHarvester(q.scheduler, q.worker) {
		return call.Good(fetchedJobs(jobs))
	}
	return call.Good(jobList{call.ScSuccess, jobs})
}

// updateOne hears a heartbeat, or the end of a job.
func (s *server) updateOne(r *http.Request, a call.Args) call.Envelope {
	u := fromNew(a)
	if !u.known() {
		e := call.Bad("Invalid job status: %s", u.state)
		e.Data = heardOnly{call.ScInvalid}
		return e
	}
	kill, err := s.heed(r.Context(), u)
	var no forbidden
	switch {
	case errors.As(err, &no):
		return call.Bad("%s", no)
	case err != nil:
		return call.Bad(call.TryAgain)
	case kill:
		e := call.Good(heard{call.ScSuccess, call.Killed})
		e.Command = call.Killed
		return e
	}
	return call.Good(heard{call.ScSuccess, idle(r)})
}

// idle is the command of an answer that has none. Pilots since the middle of 2026 look for blanks in whatever stands there
// unless it is NULL: null would end them.
func idle(r *http.Request) any {
	if byPilot(r) {
		return call.NoCommand
	}
	return nil
}

// tooMany refuses a longer list than one call is served: each update is a transaction of its own.
const tooMany = "%s: %d items, expected at most %d: say the others with another call"

// updateBulk hears several; each has an envelope of its own. One that does not say which job it is of spoils them
// all, before anything is done.
func (s *server) updateBulk(r *http.Request, a call.Args) call.Envelope {
	if n := len(a.List("job_list")); n > maxJobs {
		e := call.Bad(tooMany, "job_list", n, maxJobs)
		e.Data = []call.Envelope{}
		return e
	}
	for i, item := range a.List("job_list") {
		one, ok := item.(map[string]any)
		if !ok || call.Absent(one["job_id"]) || call.Absent(one["job_status"]) {
			e := call.Bad("job_list[%d]: expected a job_id and a job_status", i)
			e.Data = []call.Envelope{}
			return e
		}
	}
	all := make([]call.Envelope, len(a.List("job_list")))
	for i, item := range a.List("job_list") {
		one, err := newParams.Read(call.Args(item.(map[string]any)))
		if err != nil {
			all[i] = call.Bad("%s", err)
			continue
		}
		all[i] = s.updateOne(r, one)
	}
	return call.Good(all)
}

// stand is how a job stands.
type stand struct {
	Job     int64  `json:"job_id"`
	Status  string `json:"status"`
	Attempt int    `json:"attempt_number"`
}

// getJobStatus tells how jobs stand.
func (s *server) getJobStatus(r *http.Request, a call.Args) call.Envelope {
	ids := a.Integers("job_ids")
	if len(ids) > maxJobs {
		return call.Bad(tooMany, "job_ids", len(ids), maxJobs)
	}
	stands, err := s.stands(r.Context(), ids)
	if err != nil {
		return call.Bad(call.TryAgain)
	}
	return call.Good(stands)
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
func (s *server) updateWorkerStatus(r *http.Request, a call.Args) call.Envelope {
	if !workerStatus(a.Text("status")) {
		return call.Bad("Invalid worker state. The worker state has to be in ('started', 'finished')")
	}
	return s.noteWorker(r, a.Text("worker_id"), harvester.Said{Harvester: a.Text("harvester_id"), Status: a.Text("status"), Node: a.Text("node_id")})
}

// updateWorkerNode and updateWorkerGPU hear what a host is made of. Pilots say what they need with each pull, so nothing
// is done with it; the answer tells whether it is known already.
func (s *server) updateWorkerNode(_ *http.Request, a call.Args) call.Envelope {
	if s.nodes.before(a.Text("site"), a.Text("host_name")) {
		return call.Envelope{Success: true, Message: "Updated existing worker node."}
	}
	return call.Envelope{Success: true, Message: "Inserted new worker node."}
}

func (s *server) updateWorkerGPU(_ *http.Request, a call.Args) call.Envelope {
	if s.nodes.before(a.Text("site"), a.Text("host_name"), a.Text("vendor"), a.Text("model")) {
		return call.Envelope{Success: true, Message: "Updated existing worker node GPU."}
	}
	return call.Envelope{Success: true, Message: "Inserted new worker node GPU."}
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
