package panda

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
)

// Reasons of calls that have nothing to act on here.
const (
	noStaging   = "inputs are not staged, no task waits for that"
	noEvents    = "jobs are not made of single events"
	asSubmitted = "a task keeps its parameters, but for share and priority: reassign_global_share, change_priority"
	sameTask    = "retry tries again what did not finish"
)

// notServed are the calls about tasks that PanDA has and that can do nothing here, with the reason that callers are
// told.
var notServed = map[string]string{
	"release": noStaging, "avalanche": noScouts, "reload_input": noCatalog, "get_datasets_and_files": noCatalog,
	"reassign": noBroker, "reactivate": sameTask, "increase_attempts": asSubmitted, "change_attribute": asSubmitted,
	"change_split_rule": asSubmitted, "change_modification_time": "tasks are looked at all the time, not by their modification time",
	"enable_jumbo_jobs": noEvents, "get_jumbo_job_datasets": noEvents, "enable_job_cloning": noEvents, "disable_job_cloning": noEvents,
	"kill_unfinished_jobs":     "kill ends a task, job/kill some of its jobs",
	"get_tasks_modified_since": "GET /v1/tasks of the native API lists tasks",
}

// refusals answer the calls that are not served, whatever their arguments.
func refusals() []endpoint {
	var all []endpoint
	for _, name := range slices.Sorted(maps.Keys(notServed)) {
		method := http.MethodPost
		if strings.HasPrefix(name, "get_") {
			method = http.MethodGet
		}
		all = append(all, endpoint{method, "/task/" + name, params{anyName: anything}, func(*http.Request, args) envelope {
			return bad("%s is not served here: %s", name, notServed[name])
		}})
	}
	return all
}

// jobsPerPage is how many jobs are looked up at once.
const jobsPerPage = 1000

// taskJobs are the ids of all jobs of a task, in whatever state; none of a task that there is not.
func (s *server) taskJobs(r *http.Request, a args) envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	if _, err := s.Steering.Task(ctx, a.integer("task_id")); errors.Is(err, generator.ErrNoTask) {
		return good([]int64{})
	}
	ids, f := []int64{}, dispatcher.JobFilter{Task: a.integer("task_id"), Limit: jobsPerPage}
	for {
		jobs, err := s.Jobs.Jobs(ctx, f)
		if err != nil {
			return s.noTask("get_job_ids", err)
		}
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
		if len(jobs) < jobsPerPage {
			return good(ids)
		}
		f.After = ids[len(ids)-1]
	}
}
