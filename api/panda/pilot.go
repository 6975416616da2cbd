package panda

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/harvester"
)

// calls returns the calls of pilots, and of Harvester for its pilots.
func (s *pilots) calls() []wire.Endpoint {
	return []wire.Endpoint{
		wire.ByPost("/pilot/acquire_jobs", wire.Params{"site_name": wire.Text | wire.Needed, "timeout": wire.Number, "memory": wire.Number,
			"disk_space": wire.Number, "prod_source_label": wire.Text, "node": wire.Text, "computing_element": wire.Text, "prod_user_id": wire.Text,
			"get_proxy_key": wire.Anything, "task_id": wire.Integer, "n_jobs": wire.Integer, "background": wire.Boolean, "resource_type": wire.Text,
			"harvester_id": wire.Text, "worker_id": wire.Text, "scheduler_id": wire.Text, "job_type": wire.Text, "via_topic": wire.Anything,
			"remaining_time": wire.Number, "target_architecture": wire.Anything}, s.acquireJobs),
		wire.ByPost("/pilot/update_job", newParams, s.updateOne),
		wire.ByPost("/pilot/update_jobs_bulk", wire.Params{"job_list": wire.List | wire.Needed, "harvester_id": wire.Text}, s.updateBulk),
		wire.ByGet("/pilot/get_job_status", wire.Params{"job_ids": wire.Integers | wire.Needed, "timeout": wire.Number}, s.getJobStatus),
		wire.ByPost("/pilot/update_worker_status", wire.Params{"worker_id": wire.Text | wire.Needed, "harvester_id": wire.Text | wire.Needed,
			"status": wire.Text | wire.Needed, "timeout": wire.Number, "node_id": wire.Text}, s.updateWorkerStatus),
		wire.ByPost("/pilot/update_worker_node", wire.Params{"site": wire.Text | wire.Needed, "host_name": wire.Text | wire.Needed, "cpu_model": wire.Text | wire.Needed,
			"panda_queue": wire.Text, "n_logical_cpus": wire.Integer, "n_sockets": wire.Integer, "cores_per_socket": wire.Integer,
			"threads_per_core": wire.Integer, "cpu_architecture": wire.Text, "cpu_architecture_level": wire.Text, "clock_speed": wire.Number,
			"total_memory": wire.Number, "total_local_disk": wire.Number, "timeout": wire.Number}, s.updateWorkerNode),
		wire.ByPost("/pilot/update_worker_node_gpu", wire.Params{"site": wire.Text | wire.Needed, "host_name": wire.Text | wire.Needed, "vendor": wire.Text | wire.Needed,
			"model": wire.Text | wire.Needed, "count": wire.Integer | wire.Needed, "vram": wire.Number, "architecture": wire.Text, "framework": wire.Text,
			"framework_version": wire.Text, "driver_version": wire.Text, "timeout": wire.Number}, s.updateWorkerGPU),
		wire.ByPost("/pilot/set_debug_mode", wire.Params{"job_id": wire.Integer | wire.Needed, "mode": wire.Text}, s.setDebugMode),
		wire.ByGet("/metaconfig/get_resource_types", wire.Params{}, s.getResourceTypes),
	}
}

// acquireJobs returns a list of jobs. It waits for the first one, well below the caller's timeout.
func (s *pilots) acquireJobs(r *http.Request, a wire.Args) wire.Envelope {
	q := wanted{queue: a.Text("site_name"), element: a.Text("computing_element"), label: a.Text("prod_source_label"),
		memoryMB: a.Number("memory"), diskMB: a.Number("disk_space"), remainingS: a.Number("remaining_time"),
		task: a.Integer("task_id"), user: a.Text("prod_user_id"), resource: a.Text("resource_type"), node: a.Text("node"),
		worker: a.Text("worker_id"), scheduler: a.Text("scheduler_id"), n: max(1, int(min(a.Integer("n_jobs"), maxJobs))), wait: s.Wait}
	if _, said := a["timeout"]; said {
		q.wait = min(q.wait, time.Duration(max(0, min(a.Number("timeout"), 1e6))/2*float64(time.Second)))
	}
	jobs, err := s.acquire(r, q)
	switch {
	case errors.As(err, new(wire.Forbidden)):
		return wire.Bad("%s", err)
	case errors.Is(err, dispatcher.ErrNoJobs):
		return wire.Bad(wire.NewNoJobs)
	case none(err):
		return wire.Bad("%s: %s", wire.NewNoJobs, err)
	case wrong(err):
		return wire.Bad("%s", err)
	case err != nil:
		s.Log.Warn("acquire_jobs", "queue", q.queue, "error", err)
		return wire.Bad(wire.TryAgain)
	}
	if byHarvester(q.scheduler, q.worker) {
		return wire.Good(fetchedJobs(jobs))
	}
	return wire.Good(jobList[pandaJob]{wire.ScSuccess, jobs})
}

// updateOne records a heartbeat, or the end of a job.
func (s *pilots) updateOne(r *http.Request, a wire.Args) wire.Envelope {
	u := fromNew(a)
	if !u.known() {
		e := wire.Bad("Invalid job status: %s", u.state)
		e.Data = heardOnly{wire.ScInvalid}
		return e
	}
	kill, err := s.heed(r.Context(), u)
	switch {
	case errors.As(err, new(wire.Forbidden)):
		return wire.Bad("%s", err)
	case err != nil:
		return wire.Bad(wire.TryAgain)
	case kill:
		e := wire.Good(heard{wire.ScSuccess, wire.Killed})
		e.Command = wire.Killed
		return e
	}
	return wire.Good(heard{wire.ScSuccess, idle(r)})
}

// idle is the command in an answer without one. Newer pilots look for blanks in any command but NULL, so null would end them.
func idle(r *http.Request) any {
	if byPilot(r) {
		return wire.NoCommand
	}
	return nil
}

// tooMany refuses a list that is too long for one call; each update is a transaction of its own.
const tooMany = "%s: %d items, expected at most %d: send the others in another call"

// updateBulk records several updates; each has an envelope of its own. If one of them does not name its job, all are
// refused.
func (s *pilots) updateBulk(r *http.Request, a wire.Args) wire.Envelope {
	if n := len(a.List("job_list")); n > maxJobs {
		e := wire.Bad(tooMany, "job_list", n, maxJobs)
		e.Data = []wire.Envelope{}
		return e
	}
	for i, item := range a.List("job_list") {
		one, ok := item.(map[string]any)
		if !ok || wire.Absent(one["job_id"]) || wire.Absent(one["job_status"]) {
			e := wire.Bad("job_list[%d]: expected a job_id and a job_status", i)
			e.Data = []wire.Envelope{}
			return e
		}
	}
	all := make([]wire.Envelope, len(a.List("job_list")))
	for i, item := range a.List("job_list") {
		one, err := newParams.Read(wire.Args(item.(map[string]any)))
		if err != nil {
			all[i] = wire.Bad("%s", err)
			continue
		}
		all[i] = s.updateOne(r, one)
	}
	return wire.Good(all)
}

// stand is the state of a job.
type stand struct {
	Job     int64  `json:"job_id"`
	Status  string `json:"status"`
	Attempt int    `json:"attempt_number"`
}

func (s *pilots) getJobStatus(r *http.Request, a wire.Args) wire.Envelope {
	ids := a.Integers("job_ids")
	if len(ids) > maxJobs {
		return wire.Bad(tooMany, "job_ids", len(ids), maxJobs)
	}
	stands, err := s.stands(r.Context(), ids)
	if err != nil {
		return wire.Bad(wire.TryAgain)
	}
	return wire.Good(stands)
}

// stands looks up jobs, in the order of their ids.
func (s Config) stands(ctx context.Context, ids []int64) ([]stand, error) {
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
		all[i] = stand{ids[i], wire.StatusOf(j.JobState, j.State), j.Attempt}
		if j.JobState == "" {
			all[i].Status = "not found"
		}
	}
	return all, nil
}

// updateWorkerStatus records that a pilot has begun or ended.
func (s *pilots) updateWorkerStatus(r *http.Request, a wire.Args) wire.Envelope {
	if !workerStatus(a.Text("status")) {
		return wire.Bad("Invalid worker state. The worker state has to be in ('started', 'finished')")
	}
	return s.harvesters.NoteWorker(r, a.Text("worker_id"), harvester.Said{Harvester: a.Text("harvester_id"), Status: a.Text("status"), Node: a.Text("node_id")})
}

// updateWorkerNode and updateWorkerGPU receive the description of a host. divvy does not need it, since pilots state
// their needs with each pull; the answer says whether the host was known already.
func (s *pilots) updateWorkerNode(_ *http.Request, a wire.Args) wire.Envelope {
	if s.nodes.before(a.Text("site"), a.Text("host_name")) {
		return wire.Envelope{Success: true, Message: "Updated existing worker node."}
	}
	return wire.Envelope{Success: true, Message: "Inserted new worker node."}
}

func (s *pilots) updateWorkerGPU(_ *http.Request, a wire.Args) wire.Envelope {
	if s.nodes.before(a.Text("site"), a.Text("host_name"), a.Text("vendor"), a.Text("model")) {
		return wire.Envelope{Success: true, Message: "Updated existing worker node GPU."}
	}
	return wire.Envelope{Success: true, Message: "Inserted new worker node GPU."}
}

// seen remembers the hosts that called, at this daemon and for a time.
type seen struct {
	mu sync.Mutex
	of map[string]bool
}

// maxSeen bounds the hosts remembered, a hundred bytes each.
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
