package panda

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/divvyhq/divvy/api/panda/harvesters"
	"github.com/divvyhq/divvy/api/panda/statistics"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
)

// Jobs reads and cancels jobs; *dispatcher.Dispatcher is one.
type Jobs interface {
	// JobsByID finds jobs, each with its running or last attempt, by rising id.
	JobsByID(ctx context.Context, ids []int64) ([]dispatcher.JobRow, error)
	JobIDs(context.Context, dispatcher.JobChoice) ([]int64, error)
	// Metadata returns what payloads of a task's finished jobs reported about themselves, by rising id.
	Metadata(ctx context.Context, task, after int64, n int) ([]dispatcher.JobMetadata, error)
	// KillJobs cancels jobs and returns those that were live, by rising id.
	KillJobs(ctx context.Context, ids []int64) ([]int64, error)
	statistics.Jobs
	harvesters.Jobs
}

var _ Jobs = (*dispatcher.Dispatcher)(nil)

// calls returns the calls of users' scripts about jobs.
func (s jobs) calls() []wire.Endpoint {
	if s.Jobs == nil || s.Steering == nil {
		return nil
	}
	ids := wire.Params{"job_ids": wire.Integers | wire.Needed}
	return append([]wire.Endpoint{
		wire.ByGet("/job/get_status", wire.Params{"job_ids": wire.Integers | wire.Needed, "timeout": wire.Number}, s.jobStatus),
		wire.ByBoth("/job/get_description", ids, s.jobDescription),
		wire.ByBoth("/job/get_description_incl_archive", ids, s.jobDescription), // nothing is archived elsewhere
		wire.ByGet("/job/get_metadata_for_analysis_jobs", wire.Params{"task_id": wire.Integer | wire.Needed}, s.jobMetadata),
		wire.ByPost("/job/kill", wire.Params{"job_ids": wire.Integers | wire.Needed, "code": wire.Integer, "use_email_as_id": wire.Boolean, "kill_options": wire.List}, s.killJobs),
		wire.ByPost("/job/reassign", ids, s.reassignJobs),
		wire.ByPost("/job/set_command", wire.Params{"job_id": wire.Integer | wire.Needed, "command": wire.Text | wire.Needed}, s.setCommand),
	}, refusals("job", jobRefusals)...)
}

// jobRefusals lists PanDA's calls about jobs that divvy does not serve.
var jobRefusals = map[string]refused{
	"submit":                            {http.MethodPost, "jobs are made of tasks: task/submit takes one, also for a single job (noInput, nEvents 1)"},
	"set_debug_mode":                    {http.MethodPost, "runShell brings the end of a payload's output when that ends: divvy job logs"},
	"generate_offline_execution_script": {http.MethodGet, "divvy task show has the command and the environment of a task's jobs, divvy job show what a job is filled with"},
}

// mostJobs bounds the jobs of one call; further ids are ignored, as in PanDA.
const mostJobs = 5500

func first(ids []int64) []int64 { return ids[:min(len(ids), mostJobs)] }

// told is the state of a job and the next command to its pilot.
type told struct {
	Command *string `json:"command"`
	Status  *string `json:"status"`
}

// jobStatus returns the state of each job; null for a job that does not exist.
func (s jobs) jobStatus(r *http.Request, a wire.Args) wire.Envelope {
	stands, err := s.stands(r.Context(), first(a.Integers("job_ids")))
	if err != nil {
		return wire.Bad(wire.DatabaseError)
	}
	all := make([]told, len(stands))
	for i, j := range stands {
		if j.Attempt > 0 {
			all[i].Status = &j.Status
		}
	}
	return wire.Good(all)
}

// jobDescription returns everything known about each job; null for a job that does not exist.
func (s jobs) jobDescription(r *http.Request, a wire.Args) wire.Envelope {
	return wire.Answer(s.below(), r, "get_description", func(ctx context.Context) ([]description, error) {
		ids := first(a.Integers("job_ids"))
		found, err := s.describe(ctx, ids)
		all := make([]description, len(ids))
		for i, id := range ids {
			all[i] = found[id]
		}
		return all, err
	})
}

// metadataPerPage bounds the payload reports read at once, up to 64 kB each.
const metadataPerPage = 500

// jobMetadata returns what payloads of a task's finished jobs reported, by job.
func (s jobs) jobMetadata(r *http.Request, a wire.Args) wire.Envelope {
	e := wire.Answer(s.below(), r, "get_metadata_for_analysis_jobs", func(ctx context.Context) (map[string]any, error) {
		found, after := map[string]any{}, int64(0)
		for len(found) < mostJobs {
			page, err := s.Jobs.Metadata(ctx, a.Integer("task_id"), after, metadataPerPage)
			if err != nil {
				return nil, err
			}
			for _, m := range page {
				found[strconv.FormatInt(m.ID, 10)], after = m.Metadata, m.ID
			}
			if len(page) < metadataPerPage {
				break
			}
		}
		return found, nil
	})
	if found, _ := e.Data.(map[string]any); e.Success && len(found) == 0 {
		e.Message = "No metadata found"
	}
	return e
}

// killJobs cancels jobs, and says of each whether it was live. Its pilot is told with the next update.
func (s jobs) killJobs(r *http.Request, a wire.Args) wire.Envelope {
	return wire.Answer(s.below(), r, "kill", func(ctx context.Context) ([]bool, error) { return s.kill(ctx, first(a.Integers("job_ids"))) })
}

func (s jobs) kill(ctx context.Context, ids []int64) ([]bool, error) {
	killed, err := s.Jobs.KillJobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	done := make([]bool, len(ids))
	for i, id := range ids {
		_, done[i] = slices.BinarySearch(killed, id)
	}
	return done, nil
}

// setCommand sends a pilot the only command that it can get: to end its job.
func (s jobs) setCommand(r *http.Request, a wire.Args) wire.Envelope {
	if command := a.Text("command"); command != wire.Killed {
		return wire.Bad("set_command: %q is not served here, only %s", command, wire.Killed)
	}
	id := a.Integer("job_id")
	e := s.killJobs(r, wire.Args{"job_ids": []int64{id}})
	if done, _ := e.Data.([]bool); e.Success && !done[0] {
		return wire.Bad("job %d is over, or there is no such job", id)
	}
	if !e.Success {
		return e
	}
	return wire.Envelope{Success: true, Message: fmt.Sprintf("command=%s is registered", wire.Killed)}
}

// reassignJobs does nothing: a job that does not run yet belongs to no queue, but to all queues that can run it.
func (s jobs) reassignJobs(*http.Request, wire.Args) wire.Envelope { return wire.Good(nil) }
