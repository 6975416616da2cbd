package panda

import (
	"encoding/json"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda/wire"
)

// oldTaskCall is a call that panda-client up to 2025 makes for users with a form: a call of the new API under other names.
// The answer is in Python's pickle, but for metadata.
type oldTaskCall struct {
	as    string            // the call, below /api/v1
	names map[string]string // arguments, old → new; others are not looked at
	form  func(wire.Args, wire.Envelope) any
}

// ofOldTask is the task of a call, with more arguments.
func ofOldTask(names ...string) map[string]string {
	m := map[string]string{"jediTaskID": "task_id"}
	for i := 0; i+1 < len(names); i += 2 {
		m[names[i]] = names[i+1]
	}
	return m
}

var oldTaskCalls = map[string]oldTaskCall{
	"insertTaskParams":   {"/task/submit", map[string]string{"taskParams": "task_parameters", "parent_tid": "parent_tid"}, verdict},
	"killTask":           {"/task/kill", ofOldTask("broadcast", "broadcast"), verdict},
	"finishTask":         {"/task/finish", ofOldTask("soft", "soft", "broadcast", "broadcast"), verdict},
	"retryTask":          {"/task/retry", ofOldTask("newParams", "new_parameters"), verdict},
	"pauseTask":          {"/task/pause", ofOldTask(), verdict},
	"resumeTask":         {"/task/resume", ofOldTask(), verdict},
	"reactivateTask":     {"/task/reactivate", ofOldTask(), codeAnd},
	"changeTaskPriority": {"/task/change_priority", ofOldTask("newPriority", "priority"), codeAnd},
	"reassignShare": {"/task/reassign_global_share", map[string]string{"jedi_task_ids_pickle": "task_id_list", "share": "share",
		"reassign_running": "reassign_running_jobs"}, codeAnd},
	"getTaskStatus":         {"/task/get_status", ofOldTask(), dataAlone},
	"getTaskParamsMap":      {"/task/get_task_parameters", ofOldTask(), codeAndText},
	"getPandaIDsWithTaskID": {"/task/get_job_ids", ofOldTask(), dataAlone},
	"getJediTaskDetails":    {"/task/get_details", ofOldTask("fullFlag", "include_parameters", "withTaskInfo", "include_status"), dataAlone},
	"getJediTasksInTimeRange": {"/task/get_tasks_modified_since", map[string]string{"timeRange": "since", "dn": "dn", "fullFlag": "full",
		"minTaskID": "min_task_id", "task_type": "prod_source_label"}, tasksByID},
	"killJobs":           {"/job/kill", map[string]string{"ids": "job_ids", "code": "code"}, dataAlone},
	"getUserJobMetadata": {"/job/get_metadata_for_analysis_jobs", ofOldTask(), func(_ wire.Args, e wire.Envelope) any { return e.Data }},
}

// oldTaskRoutes serves them; of calls that the new API lacks here there is no old one either.
func (s *server) oldTaskRoutes(r chi.Router) {
	new := map[string]wire.Endpoint{}
	for _, e := range s.calls() {
		new[e.Path] = e
	}
	for name, c := range oldTaskCalls {
		e, there := new[c.as]
		if !there {
			continue
		}
		s.oldRoute(r, name, func(r *http.Request, a wire.Args) any {
			for old, value := range a {
				text, _ := value.(string)
				if ids := wire.PickledIDs(text); ids != nil && (old == "ids" || old == "jedi_task_ids_pickle") {
					a[old] = ids
				}
			}
			return c.form(a, e.Called(r, oldCall{names: c.names}.renamed(a)))
		})
	}
}

// verdict is a pair of how it went and the message: a code where properErrorCode asks for it, else if it went well.
func verdict(a wire.Args, e wire.Envelope) any {
	if proper, _ := wire.ToBool(a["properErrorCode"]); proper {
		return codeAnd(a, e)
	}
	return wire.PickleOf(wire.Tuple{e.Success, e.Message})
}

// codeAnd is a pair of the code, 0 where it went well, and the message.
func codeAnd(_ wire.Args, e wire.Envelope) any {
	return wire.PickleOf(wire.Tuple{json.Number(codeOf(e)), e.Message})
}

func codeOf(e wire.Envelope) string {
	if e.Success {
		return "0"
	}
	if code, ok := e.Data.(int); ok {
		return written(code)
	}
	return written(taskRefused)
}

// codeAndText is a pair of the code and the data as JSON, or the message.
func codeAndText(_ wire.Args, e wire.Envelope) any {
	if !e.Success {
		return wire.PickleOf(wire.Tuple{json.Number(codeOf(e)), e.Message})
	}
	text, _ := json.Marshal(e.Data) // it is going to be answered
	return wire.PickleOf(wire.Tuple{json.Number("0"), string(text)})
}

// dataAlone is the data; nothing where it went badly.
func dataAlone(_ wire.Args, e wire.Envelope) any {
	if !e.Success {
		return wire.PickleOf(nil)
	}
	return wire.PickleOf(e.Data)
}

// tasksByID is a dictionary of tasks by their ids.
func tasksByID(_ wire.Args, e wire.Envelope) any {
	found := wire.ByID{}
	if tasks, ok := e.Data.(map[string]facts); ok {
		for id, f := range tasks {
			found[id] = f
		}
	}
	return wire.PickleOf(found)
}
