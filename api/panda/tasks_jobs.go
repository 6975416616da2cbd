package panda

import (
	"context"
	"fmt"
	"net/http"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
)

// endedStates lists the states of ended jobs; unsuccessful, of ended jobs that did not finish.
var (
	endedStates  = []string{"finished", "failed", "cancelled"}
	unsuccessful = []string{"failed", "cancelled"}
)

// mostIDs bounds a list of ids: a task has fewer jobs.
const mostIDs = 10_000_000

// taskJobs returns the ids of all jobs of a task; none if there is no such task.
func (s jobs) taskJobs(r *http.Request, a wire.Args) wire.Envelope {
	return wire.Answer(s.below(), r, "get_job_ids", func(ctx context.Context) ([]int64, error) {
		ids, err := s.Jobs.JobIDs(ctx, dispatcher.JobChoice{Task: a.Integer("task_id"), Live: true, Ended: endedStates, Limit: mostIDs})
		return append([]int64{}, ids...), err
	})
}

// taskJobDescriptions describes the first mostJobs jobs of a task; none if there is no such task.
func (s jobs) taskJobDescriptions(r *http.Request, a wire.Args) wire.Envelope {
	chosen := dispatcher.JobChoice{Task: a.Integer("task_id"), Live: true, Ended: endedStates, Limit: mostJobs}
	if a.Boolean("unsuccessful_only") {
		chosen.Live, chosen.Ended = false, unsuccessful
	}
	return wire.Answer(s.below(), r, "get_job_descriptions", func(ctx context.Context) ([]description, error) {
		ids, err := s.Jobs.JobIDs(ctx, chosen)
		if err != nil {
			return nil, err
		}
		found, err := s.describe(ctx, ids)
		all := []description{}
		for _, id := range ids {
			if d := found[id]; d != nil {
				all = append(all, d.extended())
			}
		}
		return all, err
	})
}

// killTaskJobs cancels the first mostJobs live jobs of a task; the task goes on with jobs that it makes later.
func (s jobs) killTaskJobs(r *http.Request, a wire.Args) wire.Envelope {
	more := false
	e := wire.Answer(s.below(), r, "kill_unfinished_jobs", func(ctx context.Context) ([]bool, error) {
		ids, err := s.Jobs.JobIDs(ctx, dispatcher.JobChoice{Task: a.Integer("task_id"), Live: true, Limit: mostJobs})
		if err != nil {
			return nil, err
		}
		more = len(ids) == mostJobs
		return s.kill(ctx, ids)
	})
	if e.Success && more {
		e.Message = fmt.Sprintf("%d jobs; there are more: call again, or end the task with task/kill", mostJobs)
	}
	return e
}
