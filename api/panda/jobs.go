package panda

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
)

// Jobs is what is told of jobs, and done to them; *dispatcher.Dispatcher is one.
type Jobs interface {
	Job(ctx context.Context, id int64) (dispatcher.JobRow, error)
	Jobs(context.Context, dispatcher.JobFilter) ([]dispatcher.JobRow, error)
	// KillJob cancels a live job; ErrNoJob when there is none with the id.
	KillJob(ctx context.Context, id int64) error
	// Counts are live jobs by kind, Ended those that were over within a time.
	Counts() []dispatcher.Count
	Ended(ctx context.Context, within time.Duration) ([]dispatcher.Count, error)
	Queues() []dispatcher.QueueStanding
	Standing() dispatcher.Standing
	SetTargetSlots(context.Context, dispatcher.TargetSlots) error
}

var _ Jobs = (*dispatcher.Dispatcher)(nil)

// jobCalls are those of users' scripts.
func (s *server) jobCalls() []endpoint {
	if s.Jobs == nil {
		return nil
	}
	ids := params{"job_ids": integers | needed}
	return []endpoint{
		{http.MethodGet, "/job/get_status", params{"job_ids": integers | needed, "timeout": number}, s.jobStatus},
		{http.MethodGet, "/job/get_description", ids, s.jobDescription},
		{http.MethodGet, "/job/get_description_incl_archive", ids, s.jobDescription}, // nothing is archived elsewhere
		{http.MethodGet, "/job/get_metadata_for_analysis_jobs", params{"task_id": integer | needed}, s.jobMetadata},
		{http.MethodPost, "/job/kill", params{"job_ids": integers | needed, "code": integer, "use_email_as_id": boolean, "kill_options": list}, s.killJobs},
		{http.MethodPost, "/job/reassign", ids, s.reassignJobs},
	}
}

// mostJobs bounds what one call is about: the ids behind are left out, as PanDA does it.
const mostJobs = 5500

func first(ids []int64) []int64 { return ids[:min(len(ids), mostJobs)] }

// told is how a job stands and what its pilot is told next.
type told struct {
	Command *string `json:"command"`
	Status  *string `json:"status"`
}

// jobStatus tells of each job its state; null for one that there is not.
func (s *server) jobStatus(r *http.Request, a args) envelope {
	stands, err := s.stands(r.Context(), first(a.integers("job_ids")))
	if err != nil {
		return bad(databaseError)
	}
	all := make([]told, len(stands))
	for i, j := range stands {
		if j.Attempt > 0 {
			all[i].Status = &j.Status
		}
	}
	return good(all)
}

// jobDescription tells all that is known of each job; null for one that there is not.
func (s *server) jobDescription(r *http.Request, a args) envelope {
	return answer(s, r, "get_description", func(ctx context.Context) ([]map[string]any, error) {
		all := []map[string]any{}
		for _, id := range first(a.integers("job_ids")) {
			row, err := s.Jobs.Job(ctx, id)
			switch {
			case errors.Is(err, dispatcher.ErrNoJob):
				all = append(all, nil)
			case err != nil:
				return nil, err
			default:
				all = append(all, s.describe(ctx, row))
			}
		}
		return all, nil
	})
}

// describe is a job under PanDA's names. What its last pilot reported stands beside what is known here.
func (s *server) describe(ctx context.Context, row dispatcher.JobRow) map[string]any {
	task := s.taskOf(ctx, row.Task)
	d := map[string]any{"PandaID": row.ID, "jediTaskID": row.Task, "taskID": row.Task, "jobStatus": statusOf(row.State, ""), "computingSite": nil,
		"gshare": row.Share, "currentPriority": row.Priority, "attemptNr": row.Attempt, "maxAttempt": row.MaxAttempts,
		"jobName": task.name + "." + strconv.FormatInt(row.ID, 10), "taskName": task.name, "prodUserName": task.user, "prodSourceLabel": task.label,
		"processingType": task.processingType, "workingGroup": task.workingGroup, "resource_type": task.resourceType,
		"creationTime": pandaTime(&row.CreatedAt), "startTime": nil, "endTime": pandaTime(row.EndedAt), "modificationHost": nil,
		"inputFiles": row.Inputs, "outputFiles": nil}
	if row.Queue != "" {
		d["computingSite"] = row.Queue
	}
	if n := len(row.Attempts); n > 0 {
		last := row.Attempts[n-1]
		if row.State == "leased" {
			d["jobStatus"] = statusOf(row.State, dispatcher.LeaseState(last.State))
		}
		d["startTime"], d["modificationHost"], d["outputFiles"] = pandaTime(last.StartedAt), last.Node, last.Outputs
		d["cpuConsumptionTime"], d["maxRSS"], d["transExitCode"] = last.Usage.CPUSeconds, last.Usage.MemoryMB*1000, last.ExitCode
		for name, v := range last.Report {
			if had, there := d[name]; !there || had == nil || name == "transExitCode" || name == "maxRSS" || name == "cpuConsumptionTime" {
				d[name] = v
			}
		}
	}
	return d
}

// jobMetadata tells what payloads of a task's finished jobs reported, by job.
func (s *server) jobMetadata(r *http.Request, a args) envelope {
	e := answer(s, r, "get_metadata_for_analysis_jobs", func(ctx context.Context) (map[string]any, error) {
		found := map[string]any{}
		f := dispatcher.JobFilter{Task: a.integer("task_id"), State: "finished", Limit: 1000}
		for n := 0; f.Task > 0 && n < mostJobs; {
			page, err := s.Jobs.Jobs(ctx, f)
			if err != nil || len(page) == 0 {
				return found, err
			}
			for _, row := range page {
				if err := s.metadataOf(ctx, row.ID, found); err != nil {
					return nil, err
				}
			}
			n, f.After = n+len(page), page[len(page)-1].ID
		}
		return found, nil
	})
	if found, _ := e.Data.(map[string]any); e.Success && len(found) == 0 {
		e.Message = "No metadata found"
	}
	return e
}

func (s *server) metadataOf(ctx context.Context, id int64, to map[string]any) error {
	row, err := s.Jobs.Job(ctx, id)
	if err != nil && !errors.Is(err, dispatcher.ErrNoJob) {
		return err
	}
	for _, at := range slices.Backward(row.Attempts) {
		if v, there := at.Report["metaData"]; there {
			to[strconv.FormatInt(id, 10)] = v
			return nil
		}
	}
	return nil
}

// killJobs cancels jobs, and says of each if it was live. Pilots hear of it with their next update.
func (s *server) killJobs(r *http.Request, a args) envelope {
	return answer(s, r, "kill", func(ctx context.Context) ([]bool, error) {
		done := []bool{}
		for _, id := range first(a.integers("job_ids")) {
			err := s.Jobs.KillJob(ctx, id)
			if err != nil && !errors.Is(err, dispatcher.ErrNoJob) {
				return nil, err
			}
			done = append(done, err == nil)
		}
		return done, nil
	})
}

// reassignJobs has nothing to do: a job that does not run yet belongs to no queue, but to all that can run it.
func (s *server) reassignJobs(*http.Request, args) envelope { return good(nil) }
