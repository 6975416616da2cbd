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

	"github.com/divvyhq/divvy/api/panda/call"
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
func (s *server) taskCalls() []call.Endpoint {
	if s.Steering == nil || s.Site == nil {
		return nil
	}
	one := oneTask
	task := call.Params{"task_parameters": call.Anything | call.Needed, "parent_tid": call.Integer}
	served := []call.Endpoint{
		call.ByPost("/task/submit", task, s.submitTask),
		call.ByPost("/task/insert_task_parameters", task, s.insertTask),
		call.ByPost("/task/kill", one(call.Params{"broadcast": call.Boolean}), s.taskVerb(generator.VerbKill, s.Steering.Kill)),
		call.ByPost("/task/finish", one(call.Params{"soft": call.Boolean, "broadcast": call.Boolean}), s.taskVerb(generator.VerbFinish, s.Steering.Finish)),
		call.ByPost("/task/pause", one(nil), s.taskVerb(generator.VerbPause, s.Steering.Pause)),
		call.ByPost("/task/resume", one(nil), s.taskVerb(generator.VerbResume, s.Steering.Resume)),
		call.ByPost("/task/avalanche", one(nil), s.taskVerb(generator.VerbAvalanche, s.Steering.Avalanche)),
		call.ByPost("/task/retry", one(call.Params{"new_parameters": call.Anything, "no_child_retry": call.Boolean, "discard_events": call.Boolean,
			"disable_staging_mode": call.Boolean, "keep_gshare_priority": call.Boolean, "ignore_hard_exhausted": call.Boolean}), s.retryTask),
		call.ByPost("/task/reactivate", one(call.Params{"keep_attempt_nr": call.Boolean, "trigger_job_generation": call.Boolean}), s.reactivate),
		call.ByPost("/task/reassign_global_share", call.Params{"task_id_list": call.Integers | call.Needed, "share": call.Text | call.Needed,
			"reassign_running_jobs": call.Boolean | call.Needed}, s.reassignShare),
		call.ByPost("/task/change_priority", one(call.Params{"priority": call.Integer | call.Needed}), s.changePriority),
		call.ByGet("/task/get_status", one(nil), s.taskStatus),
		call.ByGet("/task/get_details", one(call.Params{"include_parameters": call.Boolean, "include_status": call.Boolean}), s.taskDetails),
		call.ByGet("/task/get_detailed_info", one(nil), s.taskInfo),
		call.ByGet("/task/get_parent_detailed_info", one(nil), s.parentInfo),
		call.ByGet("/task/get_task_parameters", one(nil), s.taskParameters),
		call.ByGet("/task/get_tasks_modified_since", call.Params{"since": call.Text | call.Needed, "dn": call.Text, "full": call.Boolean,
			"min_task_id": call.Integer, "prod_source_label": call.Text}, s.tasksModifiedSince),
		call.ByGet("/task/get_tasks_detailed_info_since", call.Params{"since": call.Text, "filters": call.Text, "n_tasks": call.Integer}, s.detailedSince),
	}
	if s.Jobs != nil {
		served = append(served, call.ByGet("/task/get_job_ids", one(nil), s.taskJobs),
			call.ByGet("/task/get_datasets_and_files", one(call.Params{"dataset_types": call.List, "dataset_only": call.Boolean}), s.taskFiles),
			call.ByGet("/task/get_job_descriptions", one(call.Params{"unsuccessful_only": call.Boolean}), s.taskJobDescriptions),
			call.ByPost("/task/kill_unfinished_jobs", one(call.Params{"code": call.Integer, "use_email_as_id": call.Boolean}), s.killTaskJobs))
	}
	return slices.Concat(served, s.alreadySo(), refusals("task", notServed))
}

// oneTask are the arguments of a call about one task.
func oneTask(more call.Params) call.Params {
	p := call.Params{"task_id": call.Integer | call.Needed}
	maps.Copy(p, more)
	return p
}

// noTask is the answer to a call that failed.
func (s *server) noTask(call string, err error) call.Envelope {
	code := taskRefused
	var faults paramFaults
	switch {
	case errors.As(err, &faults):
	case errors.As(err, new(forbidden)):
		code = taskForeign
	case errors.Is(err, generator.ErrNoTask):
		return call.Envelope{Message: "Task not found", Data: taskUnknown}
	case errors.Is(err, generator.ErrState):
		code = taskState
	case errors.Is(err, spec.ErrInvalid), errors.Is(err, generator.ErrUntagged), errors.Is(err, generator.ErrNoSite),
		errors.Is(err, generator.ErrKeyReused), errors.Is(err, generator.ErrSiteChanged):
	default:
		s.Log.Warn("task "+call, "error", err)
		return call.Envelope{Message: call.TryAgain}
	}
	return call.Envelope{Message: err.Error(), Data: code}
}

// taskVerb says a verb to a task; repeated, it is answered as if it had done it.
func (s *server) taskVerb(verb generator.Verb, do func(context.Context, int64) (generator.Change, error)) func(*http.Request, call.Args) call.Envelope {
	return func(r *http.Request, a call.Args) call.Envelope {
		ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
		defer cancel()
		c, err := do(ctx, a.Integer("task_id"))
		if err != nil {
			return s.noTask(string(verb), err)
		}
		e := call.Good(taskOK)
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
func (s *server) reassignShare(r *http.Request, a call.Args) call.Envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	st, err := s.Site.Load(ctx)
	if err != nil {
		return s.noTask("reassign_global_share", err)
	}
	if st.Number == 0 {
		return s.noTask("reassign_global_share", generator.ErrNoSite)
	}
	share, err := leafNamed(st, a.Text("share"))
	if err != nil {
		return call.Envelope{Message: "share: " + err.Error(), Data: taskRefused}
	}
	unknown, words := false, []string{}
	for ids := range slices.Chunk(a.Integers("task_id_list"), mostReassigned) {
		moved, err := s.Steering.Reassign(ctx, generator.ReassignRequest{Share: share, Tasks: ids, Running: a.Boolean("reassign_running_jobs")})
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
	e := call.Good(taskOK)
	if unknown {
		e = call.Envelope{Data: taskUnknown}
	}
	e.Message = strings.Join(append([]string{fmt.Sprintf("%d tasks to %s", len(a.Integers("task_id_list")), share)}, words...), "; ")
	return e
}

// changePriority gives a task and its jobs another priority.
func (s *server) changePriority(r *http.Request, a call.Args) call.Envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	priority := a.Integer("priority")
	if int64(int32(priority)) != priority {
		return call.Envelope{Message: fmt.Sprintf("priority: %d is out of range", priority), Data: taskRefused}
	}
	if _, err := s.Steering.Prioritise(ctx, a.Integer("task_id"), int(priority)); err != nil {
		return s.noTask("change_priority", err)
	}
	return call.Envelope{Success: true, Message: "1 tasks changed"}
}

// taskStatus is the state of a task, by PanDA's name.
func (s *server) taskStatus(r *http.Request, a call.Args) call.Envelope {
	return s.ofTask(r, a, "get_status", func(t generator.Task) call.Envelope { return call.Good(factsOf(t)["status"]) })
}

// taskParameters are those that the task was submitted with.
func (s *server) taskParameters(r *http.Request, a call.Args) call.Envelope {
	return s.ofTask(r, a, "get_task_parameters", func(t generator.Task) call.Envelope {
		kept := keptOf(t)
		if kept.Parameters == nil {
			return call.Bad("task %d was not submitted by PanDA's calls: it has no task parameters", t.ID)
		}
		return call.Good(kept.Parameters)
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
