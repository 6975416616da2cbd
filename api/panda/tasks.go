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

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/site"
)

// Codes in the data of answers about tasks, as PanDA's client has them.
const (
	taskOK      = 0
	taskRefused = 1
	taskUnknown = 2
	taskForeign = 3 // permission denied
	taskState   = 4 // not possible in its state
)

// Known reads the tasks that scripts ask for; *view.Reader is one.
type Known interface {
	Tasks
	TasksByID(ctx context.Context, ids []int64) ([]view.Task, error)
	Recent(context.Context, view.Recent) ([]view.Task, error)
}

// Submissions takes tasks; *generator.Submissions is one.
type Submissions interface {
	Submit(context.Context, generator.SubmitRequest) (view.Task, error)
	// Reject stores a task whose parameters are wrong, with the reason.
	Reject(context.Context, generator.Rejected) (view.Task, error)
}

// Steering changes tasks; *generator.Verbs is one.
type Steering interface {
	// Say applies a verb to a task, a retry perhaps with changes.
	Say(ctx context.Context, verb generator.Verb, id int64, with *spec.Changes) (generator.Change, error)
	Prioritise(ctx context.Context, id int64, priority int) (generator.PriorityChange, error)
	Reassign(context.Context, generator.ReassignRequest) (generator.Reassigned, error)
}

// Site reads the site in force; *site.Store is one.
type Site interface {
	Load(context.Context) (*site.Site, error)
}

var (
	_ Known       = (*view.Reader)(nil)
	_ Submissions = (*generator.Submissions)(nil)
	_ Steering    = (*generator.Verbs)(nil)
	_ Site        = (*site.Store)(nil)
)

// calls returns the calls of people's scripts about tasks.
func (s tasks) calls() []wire.Endpoint {
	if s.Submissions == nil || s.Steering == nil || s.Site == nil {
		return nil
	}
	one := oneTask
	task := wire.Params{"task_parameters": wire.Anything | wire.Needed, "parent_tid": wire.Integer}
	served := []wire.Endpoint{
		wire.ByPost("/task/submit", task, s.submitTask),
		wire.ByPost("/task/insert_task_parameters", task, s.insertTask),
		wire.ByPost("/task/kill", one(wire.Params{"broadcast": wire.Boolean}), s.taskVerb(generator.VerbKill)),
		wire.ByPost("/task/finish", one(wire.Params{"soft": wire.Boolean, "broadcast": wire.Boolean}), s.taskVerb(generator.VerbFinish)),
		wire.ByPost("/task/pause", one(nil), s.taskVerb(generator.VerbPause)),
		wire.ByPost("/task/resume", one(nil), s.taskVerb(generator.VerbResume)),
		wire.ByPost("/task/avalanche", one(nil), s.taskVerb(generator.VerbAvalanche)),
		wire.ByPost("/task/retry", one(wire.Params{"new_parameters": wire.Anything, "no_child_retry": wire.Boolean, "discard_events": wire.Boolean,
			"disable_staging_mode": wire.Boolean, "keep_gshare_priority": wire.Boolean, "ignore_hard_exhausted": wire.Boolean}), s.retryTask),
		wire.ByPost("/task/reactivate", one(wire.Params{"keep_attempt_nr": wire.Boolean, "trigger_job_generation": wire.Boolean}), s.reactivate),
		wire.ByPost("/task/reassign_global_share", wire.Params{"task_id_list": wire.Integers | wire.Needed, "share": wire.Text | wire.Needed,
			"reassign_running_jobs": wire.Boolean | wire.Needed}, s.reassignShare),
		wire.ByPost("/task/change_priority", one(wire.Params{"priority": wire.Integer | wire.Needed}), s.changePriority),
		wire.ByGet("/task/get_status", one(nil), s.taskStatus),
		wire.ByGet("/task/get_details", one(wire.Params{"include_parameters": wire.Boolean, "include_status": wire.Boolean}), s.taskDetails),
		wire.ByGet("/task/get_detailed_info", one(nil), s.taskInfo),
		wire.ByGet("/task/get_parent_detailed_info", one(nil), s.parentInfo),
		wire.ByGet("/task/get_task_parameters", one(nil), s.taskParameters),
		wire.ByGet("/task/get_tasks_modified_since", wire.Params{"since": wire.Text | wire.Needed, "dn": wire.Text, "full": wire.Boolean,
			"min_task_id": wire.Integer, "prod_source_label": wire.Text}, s.tasksModifiedSince),
		wire.ByGet("/task/get_tasks_detailed_info_since", wire.Params{"since": wire.Text, "filters": wire.Text, "n_tasks": wire.Integer}, s.detailedSince),
	}
	if of := jobs(s); s.Jobs != nil {
		served = append(served, wire.ByGet("/task/get_job_ids", one(nil), of.taskJobs),
			wire.ByGet("/task/get_datasets_and_files", one(wire.Params{"dataset_types": wire.List, "dataset_only": wire.Boolean}), s.taskFiles),
			wire.ByGet("/task/get_job_descriptions", one(wire.Params{"unsuccessful_only": wire.Boolean}), of.taskJobDescriptions),
			wire.ByPost("/task/kill_unfinished_jobs", one(wire.Params{"code": wire.Integer, "use_email_as_id": wire.Boolean}), of.killTaskJobs))
	}
	return slices.Concat(served, s.alreadySo(), refusals("task", notServed))
}

// oneTask lists the arguments of a call about one task.
func oneTask(more wire.Params) wire.Params {
	p := wire.Params{"task_id": wire.Integer | wire.Needed}
	maps.Copy(p, more)
	return p
}

// noTask is the answer to a call that failed.
func (s tasks) noTask(call string, err error) wire.Envelope {
	code := taskRefused
	var faults paramFaults
	switch {
	case errors.As(err, &faults):
	case errors.As(err, new(wire.Forbidden)):
		code = taskForeign
	case errors.Is(err, view.ErrNoTask):
		return wire.Envelope{Message: "Task not found", Data: taskUnknown}
	case errors.Is(err, judge.ErrState):
		code = taskState
	case errors.Is(err, spec.ErrInvalid), errors.Is(err, tags.ErrUntagged), errors.Is(err, tags.ErrNoSite),
		errors.Is(err, generator.ErrKeyReused), errors.Is(err, generator.ErrSiteChanged):
	default:
		s.Log.Warn("task "+call, "error", err)
		return wire.Envelope{Message: wire.TryAgain}
	}
	return wire.Envelope{Message: err.Error(), Data: code}
}

func (s tasks) taskVerb(verb generator.Verb) func(*http.Request, wire.Args) wire.Envelope {
	return s.doneToTask(verb, func(ctx context.Context, id int64) (generator.Change, error) {
		return s.Steering.Say(ctx, verb, id, nil)
	})
}

// doneToTask applies a verb to a task. A repeat gets the answer of a success.
func (s tasks) doneToTask(verb generator.Verb, do func(context.Context, int64) (generator.Change, error)) func(*http.Request, wire.Args) wire.Envelope {
	return func(r *http.Request, a wire.Args) wire.Envelope {
		ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
		defer cancel()
		c, err := do(ctx, a.Integer("task_id"))
		if err != nil {
			return s.noTask(string(verb), err)
		}
		e := wire.Good(taskOK)
		e.Message = changed(c)
		if soft, said := a["soft"].(bool); verb == generator.VerbFinish && !(said && soft) {
			e.Message += "; jobs that run go on to their end, as with soft"
		}
		return e
	}
}

// changed describes the effect of a verb, with PanDA's names of states.
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

// mostReassigned bounds the tasks that one call moves to another share.
const mostReassigned = 1000

// reassignShare moves tasks with their jobs to another share. The message says for each task what was not moved, and
// why.
func (s tasks) reassignShare(r *http.Request, a wire.Args) wire.Envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	st, err := s.Site.Load(ctx)
	if err != nil {
		return s.noTask("reassign_global_share", err)
	}
	if st.Number == 0 {
		return s.noTask("reassign_global_share", tags.ErrNoSite)
	}
	share, err := taskspec.LeafNamed(st, a.Text("share"))
	if err != nil {
		return wire.Envelope{Message: "share: " + err.Error(), Data: taskRefused}
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
	e := wire.Good(taskOK)
	if unknown {
		e = wire.Envelope{Data: taskUnknown}
	}
	e.Message = strings.Join(append([]string{fmt.Sprintf("%d tasks to %s", len(a.Integers("task_id_list")), share)}, words...), "; ")
	return e
}

// changePriority gives a task and its jobs another priority.
func (s tasks) changePriority(r *http.Request, a wire.Args) wire.Envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	priority := a.Integer("priority")
	if int64(int32(priority)) != priority {
		return wire.Envelope{Message: fmt.Sprintf("priority: %d is out of range", priority), Data: taskRefused}
	}
	if _, err := s.Steering.Prioritise(ctx, a.Integer("task_id"), int(priority)); err != nil {
		return s.noTask("change_priority", err)
	}
	return wire.Envelope{Success: true, Message: "1 tasks changed"}
}

// taskStatus returns the state of a task by PanDA's name.
func (s tasks) taskStatus(r *http.Request, a wire.Args) wire.Envelope {
	return s.ofTask(r, a, "get_status", func(t view.Task) wire.Envelope { return wire.Good(factsOf(t)["status"]) })
}

// taskParameters returns the parameters with which the task was submitted.
func (s tasks) taskParameters(r *http.Request, a wire.Args) wire.Envelope {
	return s.ofTask(r, a, "get_task_parameters", func(t view.Task) wire.Envelope {
		kept := keptOf(t)
		if kept.Parameters == nil {
			return wire.Bad("task %d was not submitted by PanDA's calls: it has no task parameters", t.ID)
		}
		return wire.Good(kept.Parameters)
	})
}

// keptOf returns the stored submission; empty for a task that was submitted otherwise.
func keptOf(t view.Task) (kept submitted) {
	if json.Unmarshal(t.Parameters, &kept) != nil || kept.Parameters == nil {
		return submitted{}
	}
	return kept
}

// IgnoredOf lists the parameters of a submission by PanDA's calls that divvy ignores.
func IgnoredOf(t view.Task) []taskspec.Ignored { return keptOf(t).Ignored }
