package panda

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/divvyhq/divvy/generator"
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
//	failed       failed       broken
//	aborting     aborting
//	aborted      aborted
var pandaStates = map[string]string{"submitting": "registered", "waiting": "pending"}

// pandaState is PanDA's name for a state of a task.
func pandaState(state string) string {
	if name, other := pandaStates[state]; other {
		return name
	}
	return state
}

// details are what a task is and how it stands, by the names of PanDA's tables. Times are UTC; absent = not yet.
type details struct {
	TaskID          int64  `json:"jediTaskID"`
	TaskName        string `json:"taskName"`
	UserName        string `json:"userName"`
	Status          string `json:"status"`
	ErrorDialog     string `json:"errorDialog,omitempty"` // why it waits, or why it was ended
	VO              string `json:"vo,omitempty"`
	ProdSourceLabel string `json:"prodSourceLabel,omitempty"`
	TaskType        string `json:"taskType,omitempty"`
	ProcessingType  string `json:"processingType,omitempty"`
	WorkingGroup    string `json:"workingGroup,omitempty"`
	Campaign        string `json:"campaign,omitempty"`
	TransPath       string `json:"transPath,omitempty"`
	GShare          string `json:"gshare"`
	TaskPriority    int    `json:"taskPriority"` // as submitted
	CurrentPriority int    `json:"currentPriority"`
	CoreCount       int    `json:"coreCount"`
	RAMCount        int64  `json:"ramCount"` // MB, of all cores
	DiskCount       int64  `json:"diskCount"`
	Walltime        int64  `json:"walltime"`
	MaxAttempt      int    `json:"maxAttempt"`
	CreationDate    string `json:"creationDate"`
	StartTime       string `json:"startTime,omitempty"`
	EndTime         string `json:"endTime,omitempty"`

	Statistics *statistics     `json:"statistics,omitempty"` // with include_status
	Parameters json.RawMessage `json:"taskParams,omitempty"` // with include_parameters
	Ignored    *[]Ignored      `json:"ignoredParams,omitempty"`
}

// statistics are the jobs of a task by state, at most a second old.
type statistics struct {
	Total     int64 `json:"total"`
	Pending   int64 `json:"pending"`
	Activated int64 `json:"activated"`
	Running   int64 `json:"running"`
	Finished  int64 `json:"finished"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// taskDetails shows a task.
func (s *server) taskDetails(r *http.Request, a args) envelope {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	t, err := s.Steering.Task(ctx, a.integer("task_id"))
	if err != nil {
		return s.noTask("get_details", err)
	}
	d := detailsOf(t)
	if a.boolean("include_status") {
		d.Statistics = &statistics{Total: t.Jobs.Total, Pending: t.Jobs.Waiting, Activated: t.Jobs.Ready, Running: t.Jobs.Running,
			Finished: t.Jobs.Finished, Failed: t.Jobs.Failed, Cancelled: t.Jobs.Cancelled}
	}
	if kept := keptOf(t); a.boolean("include_parameters") && kept.Parameters != nil {
		d.Parameters, d.Ignored = kept.Parameters, &kept.Ignored
	}
	return good(d)
}

func detailsOf(t generator.Task) details {
	d := details{
		TaskID: t.ID, TaskName: t.Name, UserName: t.User, Status: pandaState(t.State), ErrorDialog: t.Reason,
		VO: t.Attributes["vo"], ProdSourceLabel: t.Attributes["label"], TaskType: t.Attributes["labels.taskType"],
		ProcessingType: t.Attributes["processing_type"], WorkingGroup: t.Attributes["working_group"],
		Campaign: t.Attributes["campaign"], TransPath: t.Attributes["transformation"], GShare: t.Share,
		CurrentPriority: t.Priority, MaxAttempt: t.MaxAttempts,
		CreationDate: utc(&t.CreatedAt), StartTime: utc(t.StartedAt), EndTime: utc(t.EndedAt),
	}
	if sp := t.Spec; sp != nil {
		r := sp.Requirements
		d.TaskPriority, d.CoreCount, d.RAMCount, d.DiskCount, d.Walltime = sp.Priority, r.Cores, r.MemoryMB, r.DiskMB, int64(r.Walltime)
	}
	return d
}
