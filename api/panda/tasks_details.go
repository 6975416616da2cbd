package panda

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/generator/view"
)

// pandaStates are the states of tasks that PanDA calls otherwise. The whole table, both ways; PanDA's states in the last
// column have no counterpart, a task that would be in one of them is told by the one before:
//
//	here         PanDA        and in PanDA also
//	submitting   registered   defined
//	waiting      pending      assigning          (no rule gives it a share yet)
//	ready        ready
//	scouting     scouting     scouted
//	running      running      prepared, toretry
//	paused       paused
//	throttled    throttled
//	exhausted    exhausted
//	finishing    finishing
//	done         done
//	finished     finished
//	failed       failed
//	aborting     aborting
//	aborted      aborted      broken             (its parameters cannot be: insert_task_parameters; that is told)
var pandaStates = map[string]string{"submitting": "registered", "waiting": "pending"}

// superStates maps states to the coarser states of PanDA's lists; any other state is running.
var superStates = map[string]string{"submitting": "registered", "waiting": "registered", "ready": "ready", "done": "done",
	"finished": "finished", "failed": "failed", "aborted": "aborted"}

// broken is PanDA's state of a task with wrong parameters.
const broken = "broken"

// taskStates are all states of tasks here.
var taskStates = []string{"submitting", "waiting", "ready", "scouting", "running", "paused", "throttled", "exhausted", "finishing",
	"done", "finished", "failed", "aborting", "aborted"}

// pandaState is PanDA's name for a state of a task.
func pandaState(state string) string {
	if name, other := pandaStates[state]; other {
		return name
	}
	return state
}

// superState returns the coarser state of PanDA's lists.
func superState(state string) string {
	if name, there := superStates[state]; there {
		return name
	}
	return "running"
}

// facts describes a task by the names of PanDA's tables. It has all names always; an unknown value is null. Times are
// UTC.
type facts map[string]any

// factsOf returns the facts of a task. A task without an end counts as changed just now, since PanDA's programs ask
// for tasks by their last change.
func factsOf(t view.Task) facts {
	kept := keptOf(t)
	given, _ := wire.ParseJSON(kept.Parameters) // read before, and digits count; none where there are none
	changed := time.Now()
	if t.EndedAt != nil {
		changed = *t.EndedAt
	}
	state, super := pandaState(t.State), superState(t.State)
	if kept.Broken {
		state, super = broken, broken
	}
	f := facts{"jediTaskID": t.ID, "reqID": t.ID, "taskName": t.Name, "userName": t.User, "status": state, "superStatus": super,
		"errorDialog": orNull(t.Reason), "gshare": orNull(t.Share), "currentPriority": t.Priority, "taskPriority": nil,
		"coreCount": nil, "ramCount": nil, "ramUnit": "MB", "diskCount": nil, "walltime": nil, "maxAttempt": t.MaxAttempts,
		"creationDate": wire.PandaTime(&t.CreatedAt), "modificationTime": wire.PandaTime(&changed), "startTime": wire.PandaTime(t.StartedAt),
		"endTime": wire.PandaTime(t.EndedAt), "statistics": sumUp(t.Jobs), "parent_tid": nil}
	for name, attribute := range map[string]string{"vo": "vo", "prodSourceLabel": "label", "taskType": "labels.taskType",
		"processingType": "processing_type", "workingGroup": "working_group", "campaign": "campaign", "transPath": "transformation"} {
		f[name] = orNull(t.Attributes[attribute])
	}
	for _, name := range []string{"site", "cloud", "nucleus", "transUses", "transHome", "architecture"} {
		f[name] = given[name]
	}
	if id, said := given["reqID"]; said && id != nil {
		f["reqID"] = id
	}
	if kept.Parent != 0 {
		f["parent_tid"] = kept.Parent
	}
	if sp := t.Spec; sp != nil {
		r := sp.Requirements
		f["taskPriority"], f["coreCount"], f["ramCount"], f["diskCount"], f["walltime"] = sp.Priority, r.Cores, r.MemoryMB, r.DiskMB, int64(r.Walltime)
	}
	f.progress(t)
	return f
}

// orNull returns a text, or null for an empty one.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// sumUp lists the jobs of a task by state, at most a second old, as finished*10,running*2.
func sumUp(n view.JobCounts) string {
	var words []string
	for _, p := range []struct {
		state string
		n     int64
	}{{"defined", n.Waiting}, {"activated", n.Ready}, {"running", n.Leased}, {"finished", n.Finished}, {"failed", n.Failed}, {"cancelled", n.Cancelled}} {
		if p.n > 0 {
			words = append(words, fmt.Sprintf("%s*%d", p.state, p.n))
		}
	}
	return strings.Join(words, ",")
}

// progress returns how much of the task's input is done: files, or pieces if it has no files.
func (f facts) progress(t view.Task) {
	total, done, failed := t.Pieces, t.Jobs.Finished, t.Jobs.Failed
	if t.Inputs > 0 && t.Spec != nil {
		perJob := max(t.Spec.PerJob, 1)
		total, done, failed = t.Inputs, done*perJob, failed*perJob
	}
	done = min(done, total)
	failed = min(failed, total-done) // a retried piece has an old and a new job
	f["nFiles"], f["nFilesFinished"], f["nFilesFailed"] = total, done, failed
	f["pctFinished"], f["pctFailed"] = 100*done/max(total, 1), 100*failed/max(total, 1)
}

// detailed adds the submitted parameters.
func (f facts) detailed(t view.Task) facts {
	f["taskParams"], f["jobParamsTemplate"], f["ignoredParams"] = map[string]any{}, "", []taskspec.Ignored{}
	if kept := keptOf(t); kept.Parameters != nil {
		f["taskParams"], f["ignoredParams"] = kept.Parameters, append([]taskspec.Ignored{}, kept.Ignored...)
	}
	if t.Spec != nil {
		f["jobParamsTemplate"] = strings.Join(t.Spec.Command, " ")
	}
	return f
}

// taskDetails shows a task, on request with its parameters, and its jobs by state.
func (s tasks) taskDetails(r *http.Request, a wire.Args) wire.Envelope {
	return s.ofTask(r, a, "get_details", func(t view.Task) wire.Envelope {
		f := factsOf(t)
		if a.Boolean("include_status") {
			f["jobs"] = map[string]int64{"total": t.Jobs.Total, "defined": t.Jobs.Waiting, "activated": t.Jobs.Ready,
				"running": t.Jobs.Leased, "finished": t.Jobs.Finished, "failed": t.Jobs.Failed, "cancelled": t.Jobs.Cancelled}
		}
		if a.Boolean("include_parameters") {
			f.detailed(t)
		}
		return wire.Good(f)
	})
}

// taskInfo shows everything known about a task.
func (s tasks) taskInfo(r *http.Request, a wire.Args) wire.Envelope {
	return s.ofTask(r, a, "get_detailed_info", func(t view.Task) wire.Envelope { return wire.Good(factsOf(t).detailed(t)) })
}

// parentInfo shows the task that a task was submitted under.
func (s tasks) parentInfo(r *http.Request, a wire.Args) wire.Envelope {
	e := s.ofTask(r, a, "get_parent_detailed_info", func(t view.Task) wire.Envelope {
		parent := keptOf(t).Parent
		if parent == 0 {
			return wire.Bad("No parent task found")
		}
		e := s.taskInfo(r, wire.Args{"task_id": parent})
		if e.Data == taskUnknown {
			return wire.Bad("Parent task not found")
		}
		return e
	})
	if e.Data == taskUnknown {
		return wire.Bad("Child task not found")
	}
	return e
}

// ofTask answers about one task.
func (s tasks) ofTask(r *http.Request, a wire.Args, call string, tell func(view.Task) wire.Envelope) wire.Envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	t, err := s.Known.Task(ctx, a.Integer("task_id"))
	if err != nil {
		return s.noTask(call, err)
	}
	return tell(t)
}
