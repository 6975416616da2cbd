package panda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/site"
)

// Codes in the data of answers about tasks, as PanDA's client has them.
const (
	taskOK      = 0
	taskRefused = 1
	taskUnknown = 2
	taskForeign = 3 // permission denied
	taskState   = 4 // it is in no state for that
)

// Steering takes tasks and changes them; *generator.Generator is one.
type Steering interface {
	Submit(context.Context, generator.SubmitRequest) (generator.Task, error)
	// Reject keeps a task that cannot be, with what is wrong with it.
	Reject(context.Context, generator.Rejected) (generator.Task, error)
	Task(ctx context.Context, id int64) (generator.Task, error)
	TasksByID(ctx context.Context, ids []int64) ([]generator.Task, error)
	Recent(context.Context, generator.Recent) ([]generator.Task, error)
	Kill(ctx context.Context, id int64) (generator.Change, error)
	Pause(ctx context.Context, id int64) (generator.Change, error)
	Resume(ctx context.Context, id int64) (generator.Change, error)
	Retry(ctx context.Context, id int64) (generator.Change, error)
	Finish(ctx context.Context, id int64) (generator.Change, error)
	Avalanche(ctx context.Context, id int64) (generator.Change, error)
	// RetryWith is Retry with other requirements.
	RetryWith(ctx context.Context, id int64, with *spec.Changes) (generator.Change, error)
	Prioritise(ctx context.Context, id int64, priority int) (generator.PriorityChange, error)
	Reassign(context.Context, generator.ReassignRequest) (generator.Reassigned, error)
}

// Site knows the site in force; *site.Store is one.
type Site interface {
	Load(context.Context) (*site.Site, error)
}

var (
	_ Steering = (*generator.Generator)(nil)
	_ Site     = (*site.Store)(nil)
)

// taskCalls are those of people's scripts about tasks.
func (s *server) taskCalls() []endpoint {
	if s.Steering == nil || s.Site == nil {
		return nil
	}
	one := oneTask
	task := params{"task_parameters": anything | needed, "parent_tid": integer}
	served := []endpoint{
		byPost("/task/submit", task, s.submitTask),
		byPost("/task/insert_task_parameters", task, s.insertTask),
		byPost("/task/kill", one(params{"broadcast": boolean}), s.taskVerb(generator.VerbKill, s.Steering.Kill)),
		byPost("/task/finish", one(params{"soft": boolean, "broadcast": boolean}), s.taskVerb(generator.VerbFinish, s.Steering.Finish)),
		byPost("/task/pause", one(nil), s.taskVerb(generator.VerbPause, s.Steering.Pause)),
		byPost("/task/resume", one(nil), s.taskVerb(generator.VerbResume, s.Steering.Resume)),
		byPost("/task/avalanche", one(nil), s.taskVerb(generator.VerbAvalanche, s.Steering.Avalanche)),
		byPost("/task/retry", one(params{"new_parameters": anything, "no_child_retry": boolean, "discard_events": boolean,
			"disable_staging_mode": boolean, "keep_gshare_priority": boolean, "ignore_hard_exhausted": boolean}), s.retryTask),
		byPost("/task/reactivate", one(params{"keep_attempt_nr": boolean, "trigger_job_generation": boolean}), s.reactivate),
		byPost("/task/reassign_global_share", params{"task_id_list": integers | needed, "share": text | needed,
			"reassign_running_jobs": boolean | needed}, s.reassignShare),
		byPost("/task/change_priority", one(params{"priority": integer | needed}), s.changePriority),
		byGet("/task/get_status", one(nil), s.taskStatus),
		byGet("/task/get_details", one(params{"include_parameters": boolean, "include_status": boolean}), s.taskDetails),
		byGet("/task/get_detailed_info", one(nil), s.taskInfo),
		byGet("/task/get_parent_detailed_info", one(nil), s.parentInfo),
		byGet("/task/get_task_parameters", one(nil), s.taskParameters),
		byGet("/task/get_tasks_modified_since", params{"since": text | needed, "dn": text, "full": boolean,
			"min_task_id": integer, "prod_source_label": text}, s.tasksModifiedSince),
		byGet("/task/get_tasks_detailed_info_since", params{"since": text, "filters": text, "n_tasks": integer}, s.detailedSince),
	}
	if s.Jobs != nil {
		served = append(served, byGet("/task/get_job_ids", one(nil), s.taskJobs),
			byGet("/task/get_datasets_and_files", one(params{"dataset_types": list, "dataset_only": boolean}), s.taskFiles),
			byGet("/task/get_job_descriptions", one(params{"unsuccessful_only": boolean}), s.taskJobDescriptions),
			byPost("/task/kill_unfinished_jobs", one(params{"code": integer, "use_email_as_id": boolean}), s.killTaskJobs))
	}
	return slices.Concat(served, s.alreadySo(), refusals("task", notServed))
}

// oneTask are the arguments of a call about one task.
func oneTask(more params) params {
	p := params{"task_id": integer | needed}
	maps.Copy(p, more)
	return p
}

// noTask is the answer to a call that failed.
func (s *server) noTask(call string, err error) envelope {
	code := taskRefused
	var faults paramFaults
	switch {
	case errors.As(err, &faults):
	case errors.As(err, new(forbidden)):
		code = taskForeign
	case errors.Is(err, generator.ErrNoTask):
		return envelope{Message: "Task not found", Data: taskUnknown}
	case errors.Is(err, generator.ErrState):
		code = taskState
	case errors.Is(err, spec.ErrInvalid), errors.Is(err, generator.ErrUntagged), errors.Is(err, generator.ErrNoSite),
		errors.Is(err, generator.ErrKeyReused), errors.Is(err, generator.ErrSiteChanged):
	default:
		s.Log.Warn("task "+call, "error", err)
		return envelope{Message: tryAgain}
	}
	return envelope{Message: err.Error(), Data: code}
}

// taskVerb says a verb to a task; repeated, it is answered as if it had done it.
func (s *server) taskVerb(verb generator.Verb, do func(context.Context, int64) (generator.Change, error)) func(*http.Request, args) envelope {
	return func(r *http.Request, a args) envelope {
		ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
		defer cancel()
		c, err := do(ctx, a.integer("task_id"))
		if err != nil {
			return s.noTask(string(verb), err)
		}
		e := good(taskOK)
		e.Message = changed(c)
		if soft, said := a["soft"].(bool); verb == generator.VerbFinish && !(said && soft) {
			e.Message += "; jobs that run go on to their end, as with soft"
		}
		return e
	}
}

// changed says what a verb did, with PanDA's names of states.
func changed(c generator.Change) string {
	words := []string{fmt.Sprintf("task %d: %s -> %s", c.Task, pandaState(c.Before), pandaState(c.After))}
	for _, p := range []struct {
		n    int64
		what string
	}{{int64(c.Ready), "jobs that did not run"}, {int64(c.Leased), "running jobs told to end"}, {c.Again, "jobs to try again"}} {
		if p.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(words, ", ")
}

// mostReassigned is how many tasks go to another share at once.
const mostReassigned = 1000

// reassignShare gives tasks to another share with their jobs. The message says of each task what did not go and why.
func (s *server) reassignShare(r *http.Request, a args) envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	st, err := s.Site.Load(ctx)
	if err != nil {
		return s.noTask("reassign_global_share", err)
	}
	if st.Number == 0 {
		return s.noTask("reassign_global_share", generator.ErrNoSite)
	}
	share, err := leafNamed(st, a.text("share"))
	if err != nil {
		return envelope{Message: "share: " + err.Error(), Data: taskRefused}
	}
	unknown, words := false, []string{}
	for ids := range slices.Chunk(a.integers("task_id_list"), mostReassigned) {
		moved, err := s.Steering.Reassign(ctx, generator.ReassignRequest{Share: share, Tasks: ids, Running: a.boolean("reassign_running_jobs")})
		if err != nil {
			return s.noTask("reassign_global_share", err)
		}
		for _, t := range moved.Tasks {
			unknown = unknown || t.Why == generator.WhyNoTask
			if t.Why != "" {
				words = append(words, fmt.Sprintf("task %d: %s", t.Task, t.Why))
			}
		}
	}
	e := good(taskOK)
	if unknown {
		e = envelope{Data: taskUnknown}
	}
	e.Message = strings.Join(append([]string{fmt.Sprintf("%d tasks to %s", len(a.integers("task_id_list")), share)}, words...), "; ")
	return e
}

// changePriority gives a task and its jobs another priority.
func (s *server) changePriority(r *http.Request, a args) envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	priority := a.integer("priority")
	if int64(int32(priority)) != priority {
		return envelope{Message: fmt.Sprintf("priority: %d is out of range", priority), Data: taskRefused}
	}
	if _, err := s.Steering.Prioritise(ctx, a.integer("task_id"), int(priority)); err != nil {
		return s.noTask("change_priority", err)
	}
	return envelope{Success: true, Message: "1 tasks changed"}
}

// taskStatus is the state of a task, by PanDA's name.
func (s *server) taskStatus(r *http.Request, a args) envelope {
	return s.ofTask(r, a, "get_status", func(t generator.Task) envelope { return good(factsOf(t)["status"]) })
}

// taskParameters are those that the task was submitted with.
func (s *server) taskParameters(r *http.Request, a args) envelope {
	return s.ofTask(r, a, "get_task_parameters", func(t generator.Task) envelope {
		kept := keptOf(t)
		if kept.Parameters == nil {
			return bad("task %d was not submitted by PanDA's calls: it has no task parameters", t.ID)
		}
		return good(kept.Parameters)
	})
}

// keptOf is what was kept of a submission; empty for a task that came in another way.
func keptOf(t generator.Task) (kept submitted) {
	if json.Unmarshal(t.Parameters, &kept) != nil || kept.Parameters == nil {
		return submitted{}
	}
	return kept
}

// IgnoredOf lists the task parameters of a submission by PanDA's calls that change nothing here.
func IgnoredOf(t generator.Task) []Ignored { return keptOf(t).Ignored }
