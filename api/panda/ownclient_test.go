package panda

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// asserted is a call that panda-server's own tests make, and what they assert of the answer. data is not looked at where it
// is nil.
type asserted struct {
	method, call string
	args         map[string]any
	success      bool
	data         any
}

func (c caller) assert(calls []asserted) {
	c.t.Helper()
	for _, a := range calls {
		var got map[string]any
		if err := json.Unmarshal([]byte(c.raw(a.method, a.call, a.args)), &got); err != nil {
			c.t.Fatal(err)
		}
		_, message := got["message"].(string)
		_, data := got["data"]
		if len(got) != 3 || !message || !data || got["success"] != a.success || a.data != nil && !cmp.Equal(got["data"], a.data) {
			c.t.Errorf("%s %v: %v, want success %v, data %v", a.call, a.args, got, a.success, a.data)
		}
	}
}

// of is a task, with more arguments.
func of(id any, more ...any) map[string]any {
	args := map[string]any{"task_id": id}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return args
}

// What panda-server's tests of its API about tasks and jobs do with ids that there are not.
func TestOwnTestsWithoutATask(t *testing.T) {
	w := newWorld(t)
	since := time.Now().AddDate(0, 0, -7).Format(time.DateTime)
	none := []int64{-1}
	w.caller().assert([]asserted{
		{send, "/task/retry", of(-1), false, 2.0},
		{send, "/task/enable_jumbo_jobs", of(-1, "jumbo_jobs_total", 1), false, nil},
		{send, "/task/enable_job_cloning", of(-1), false, nil},
		{send, "/task/disable_job_cloning", of(-1), false, nil},
		{send, "/task/increase_attempts", of(-1), false, nil},
		{send, "/task/resume", of(-1), false, nil},
		{send, "/task/release", of(-1), false, nil},
		{send, "/task/reassign", of(-1, "site", "CERN"), false, nil},
		{send, "/task/pause", of(-1), false, nil},
		{send, "/task/kill", of(-1), false, nil},
		{send, "/task/finish", of(-1, "soft", false, "broadcast", false), false, nil},
		{send, "/task/reactivate", of(-1), true, nil},
		{send, "/task/avalanche", of(-1), false, nil},
		{send, "/task/reload_input", of(-1), false, nil},
		{send, "/task/reassign_global_share", map[string]any{"task_id_list": none, "share": "Test", "reassign_running_jobs": false}, false, nil},
		{send, "/task/reassign_global_share", map[string]any{"task_id_list": none, "share": "User", "reassign_running_jobs": false}, false, nil},
		{get, "/task/get_status", of(-1), false, nil},
		{get, "/task/get_details", of(-1, "include_parameters", "False", "include_status", "False"), false, nil},
		{send, "/task/change_attribute", of(-1, "attribute_name", "coreCount", "value", 8), false, nil},
		{send, "/task/change_modification_time", of(-1, "positive_hour_offset", 1), false, nil},
		{send, "/task/change_modification_time", of(-1, "hour_offset", 1), false, nil},
		{send, "/task/change_priority", of(-1, "priority", 1), false, nil},
		{send, "/task/change_split_rule", of(-1, "attribute_name", "AI", "value", 1), false, nil},
		{get, "/task/get_tasks_modified_since", map[string]any{"since": since, "dn": "test", "full": "False", "min_task_id": 1, "prod_source_label": "user"}, true, map[string]any{}},
		{get, "/task/get_datasets_and_files", of(-1, "dataset_types", "input"), false, nil},
		{get, "/task/get_job_ids", map[string]any{"task_id": none}, true, []any{}},
		{send, "/task/insert_task_parameters", map[string]any{"task_parameters": map[string]any{"test": 1, "taskName": "test_task"}, "parent_tid": 1}, true, nil},
		{get, "/task/get_task_parameters", of(-1), false, nil},
		{get, "/task/get_detailed_info", of(-1), false, nil},
		{get, "/task/get_parent_detailed_info", of(-1), false, nil},
		{get, "/task/get_tasks_detailed_info_since", map[string]any{"since": since, "filters": `{"prodSourceLabel": "user"}`}, true, []any{}},
		{get, "/task/get_tasks_detailed_info_since", map[string]any{"since": since, "filters": `{"status": "finished|done"}`}, true, []any{}},
		{get, "/task/get_tasks_detailed_info_since", map[string]any{"since": since, "filters": "not_valid_json"}, false, nil},
		{get, "/task/get_tasks_detailed_info_since", nil, true, nil},
		{get, "/task/get_job_descriptions", of(-1, "unsuccessful_only", "False"), true, []any{}},
		{get, "/task/get_job_descriptions", of(-1, "unsuccessful_only", "True"), true, []any{}},
		{get, "/job/get_status", map[string]any{"job_ids": none}, true, nil},
		{get, "/job/get_description", map[string]any{"job_ids": none}, true, []any{nil}},
		{get, "/job/get_description_incl_archive", map[string]any{"job_ids": none}, true, []any{nil}},
		{get, "/job/get_metadata_for_analysis_jobs", of(-1), true, map[string]any{}},
		{send, "/job/kill", map[string]any{"job_ids": none}, true, []any{false}},
		{send, "/job/reassign", map[string]any{"job_ids": none}, true, nil},
	})
}

// What they do with a task that there is, and what panda-client does with it.
func TestOwnTestsWithATask(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	params := evgen(map[string]any{"reqID": 4711, "prodSourceLabel": "user", "userName": nil})
	var id, child int64
	c.data(send, "/task/submit", map[string]any{"task_parameters": params, "parent_tid": nil}, &id)
	c.data(send, "/task/submit", map[string]any{"task_parameters": params, "parent_tid": id}, &child)
	w.until("there are jobs", func() bool { got, _ := w.known.Task(context.Background(), id); return got.Jobs.Ready == 10 })
	c.assert([]asserted{
		{send, "/task/pause", of(id), true, 0.0},
		{send, "/task/resume", of(id), true, 0.0},
		{send, "/task/release", of(id), true, 0.0},
		{send, "/task/avalanche", of(id), true, 0.0},
		{send, "/task/disable_job_cloning", map[string]any{"jedi_task_id": id}, true, 0.0},
		{send, "/task/change_modification_time", of(id, "hour_offset", -12), true, 0.0},
		{send, "/task/change_priority", of(id, "priority", 1), true, nil},
		{send, "/task/reassign_global_share", map[string]any{"task_id_list": []int64{id}, "share": "User", "reassign_running_jobs": false}, true, 0.0},
		{get, "/task/get_status", of(id), true, nil},
		{get, "/task/get_task_parameters", of(id), true, nil},
		{get, "/task/get_parent_detailed_info", of(id), false, nil},
		{get, "/task/get_tasks_detailed_info_since", map[string]any{"filters": `{"jediTaskID": "not one"}`}, true, []any{}},
		{get, "/task/get_tasks_detailed_info_since", map[string]any{"filters": `["a"]`}, false, nil},
		{get, "/task/get_tasks_detailed_info_since", map[string]any{"filters": `{"status": "("}`}, false, nil},
		{get, "/task/get_tasks_detailed_info_since", map[string]any{"since": "yesterday"}, false, nil},
		{get, "/task/get_tasks_modified_since", map[string]any{"since": "yesterday"}, false, nil},
	})
	one := map[string]any{}
	c.data(get, "/task/get_detailed_info", of(id), &one)
	for name, want := range map[string]any{"jediTaskID": float64(id), "reqID": 4711.0, "userName": "alice", "status": one["status"], "superStatus": one["superStatus"],
		"jobParamsTemplate": "echo --first {{.FirstEvent}} a b", "nFiles": 10.0, "nFilesFinished": 0.0, "nFilesFailed": 0.0, "pctFinished": 0.0, "pctFailed": 0.0,
		"gshare": "User", "currentPriority": 1.0, "taskPriority": 100.0, "endTime": nil, "errorDialog": nil, "site": nil} {
		if one[name] != want {
			t.Errorf("%s is %v, want %v", name, one[name], want)
		}
	}
	if diff := cmp.Diff(asValue(t, params), one["taskParams"]); diff != "" {
		t.Error(diff)
	}
	if got := slices.Sorted(maps.Keys(one)); !slices.Equal(got, detailKeys) {
		t.Errorf("keys:\n%s", cmp.Diff(got, detailKeys))
	}
	parent := map[string]any{}
	c.data(get, "/task/get_parent_detailed_info", of(child), &parent)
	if parent["jediTaskID"] != float64(id) {
		t.Errorf("%v", parent)
	}
	for filter, want := range map[string][]int64{
		"":                                    {child, id},
		fmt.Sprintf(`{"jediTaskID": %d}`, id): {id},
		fmt.Sprintf(`{"jediTaskID": "%d"}`, child):                      {child},
		fmt.Sprintf(`{"jediTaskID": "%d", "taskName": "other"}`, child): nil,
		fmt.Sprintf(`{"jediTaskID": "%d|%d"}`, child, id):               {child, id},
		`{"reqID": "4711"}`: {child, id},
		`{"reqID": "47"}`:   nil,
		`{"userName": "alice", "taskName": "mc.evgen"}`:                  {child, id},
		`{"userName": "bob"}`:                                            nil,
		`{"superStatus": "running|ready"}`:                               {child, id},
		`{"superStatus": "done"}`:                                        nil,
		`{"status": "broken"}`:                                           nil,
		`{"prodSourceLabel": "user", "unheard_of": "x", "status": null}`: {child, id},
		`{"gshare": "User"}`:                                             {id},
		`{"parent_tid": "` + fmt.Sprint(id) + `"}`:                       {child},
	} {
		args := map[string]any{"n_tasks": 100}
		if filter != "" {
			args["filters"] = filter
		}
		var found []map[string]any
		c.data(get, "/task/get_tasks_detailed_info_since", args, &found)
		var got []int64
		for _, f := range found {
			got = append(got, int64(f["jediTaskID"].(float64)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", filter, got, want)
		}
	}
	var recent map[string]map[string]any
	c.data(get, "/task/get_tasks_modified_since", map[string]any{"since": "2024-01-01 00:00:00", "dn": "None", "full": "True", "min_task_id": id, "prod_source_label": "user"}, &recent)
	if len(recent) != 1 || recent[fmt.Sprint(child)]["taskParams"] == nil {
		t.Errorf("%v", recent)
	}
	c.assert([]asserted{
		{send, "/task/finish", of(child), true, 0.0},
		{send, "/task/retry", of(child, "new_parameters", map[string]any{"nEvents": 1}), false, 1.0},
		{send, "/task/kill", of(id), true, 0.0},
	})
}

// The inputs of a task are its only dataset; each stands as its last job does.
func TestTaskFiles(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	var id, none int64
	params := evgen(map[string]any{"noInput": nil, "nEvents": nil, "nEventsPerJob": nil, "pfnList": []string{"a", "b", "c", "d,e"}, "nFilesPerJob": 2, "jobParameters": "${IN}"})
	c.data(send, "/task/submit", map[string]any{"task_parameters": params}, &id)
	w.until("there are jobs", func() bool { got, _ := w.known.Task(context.Background(), id); return got.Jobs.Ready == 3 })
	reply, err := w.dispatcher.Pull(t.Context(), dispatcher.PullRequest{Queue: "LOCAL_TEST", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.dispatcher.KillJobs(t.Context(), []int64{reply.Leases[0].Job + 1}); err != nil {
		t.Fatal(err)
	}
	c.data(send, "/task/submit", map[string]any{"task_parameters": evgen(map[string]any{"nEvents": 1})}, &none)
	w.dispatcher.Settle()
	file := func(lfn string, n int, status string) string {
		return fmt.Sprintf(`{"lfn":"%s","scope":null,"id":%d,"status":"%s"}`, lfn, n, status)
	}
	all := strings.Join([]string{file("a", 1, "running"), file("b", 2, "running"), file("c", 3, "failed"), file("d", 4, "failed"), file("e", 5, "ready")}, ",")
	named := fmt.Sprintf(`{"dataset":{"name":"mc.evgen","id":%d},"files":[`, id)
	no := `{"success":false,"message":"No data found for the task","data":null}`
	c.check([]answered{
		{get, "/task/get_datasets_and_files", of(id), `{"success":true,"message":"","data":[` + named + all + `]}]}`},
		{get, "/task/get_datasets_and_files", of(id, "dataset_types", "input"), `{"success":true,"message":"","data":[` + named + all + `]}]}`},
		{get, "/task/get_datasets_and_files", of(id, "dataset_only", "True"), `{"success":true,"message":"","data":[` + named + `]}]}`},
		{get, "/task/get_datasets_and_files", of(id, "dataset_types", "output"), no},
		{get, "/task/get_datasets_and_files", of(none), no},
		{get, "/task/get_datasets_and_files", of(999), `{"success":false,"message":"Task not found","data":2}`},
	})
}

// detailKeys are the names of all facts of a task.
var detailKeys = strings.Fields(`architecture campaign cloud coreCount creationDate currentPriority diskCount endTime errorDialog gshare
	ignoredParams jediTaskID jobParamsTemplate maxAttempt modificationTime nFiles nFilesFailed nFilesFinished nucleus parent_tid
	pctFailed pctFinished processingType prodSourceLabel ramCount ramUnit reqID site startTime statistics status superStatus
	taskName taskParams taskPriority taskType transHome transPath transUses userName vo walltime workingGroup`)

// A task whose parameters cannot be is taken by the older call alone, and is broken; nothing else may be done with it.
func TestBrokenTask(t *testing.T) {
	w := newWorld(t)
	c := w.callerAs(forHerself("alice"))
	params := map[string]any{"test": 1, "taskName": "test_task"}
	refused := `{"success":false,"message":"jobParameters: is missing: a list such as [{\"type\": \"constant\", \"value\": \"-c 'echo hello'\"}]; nEvents: `
	if got := c.raw(send, "/task/submit", map[string]any{"task_parameters": params}); !strings.Contains(got, "jobParameters: is missing") || !strings.Contains(got, `"data":1}`) {
		t.Errorf("%s, want %s", got, refused)
	}
	var id int64
	c.data(send, "/task/insert_task_parameters", map[string]any{"task_parameters": params, "parent_tid": 999}, &id)
	c.assert([]asserted{
		{get, "/task/get_status", of(id), true, "broken"},
		{send, "/task/retry", of(id), false, 4.0},
		{send, "/task/pause", of(id), false, 4.0},
		{send, "/task/kill", of(id), true, 0.0},
		{get, "/task/get_job_ids", of(id), true, []any{}},
		{get, "/task/get_parent_detailed_info", of(id), false, nil},
	})
	var d map[string]any
	c.data(get, "/task/get_details", of(id), &d)
	if d["userName"] != "alice" || d["superStatus"] != "broken" || !strings.Contains(fmt.Sprint(d["errorDialog"]), "jobParameters: is missing") || d["endTime"] == nil {
		t.Errorf("%v", d)
	}
	if _, err := w.db.Exec(t.Context(), "SELECT setval(pg_get_serial_sequence('tasks', 'id'), 300000)"); err != nil {
		t.Fatal(err)
	}
	var later int64
	c.data(send, "/task/insert_task_parameters", map[string]any{"task_parameters": params}, &later)
	for filter, want := range map[string]int{`{"superStatus": "broken"}`: 2, fmt.Sprintf(`{"reqID": %d}`, id): 1, fmt.Sprintf(`{"jediTaskID": "%d", "reqID": "%d"}`, id, id): 1,
		fmt.Sprintf(`{"jediTaskID": "%d", "reqID": "%d"}`, id, later): 0} {
		var found []map[string]any
		c.data(get, "/task/get_tasks_detailed_info_since", map[string]any{"filters": filter}, &found)
		if len(found) != want {
			t.Errorf("%s: %v", filter, found)
		}
	}
	for args, want := range map[string]string{
		`{"task_parameters": 5}`: "Type error: 'task_parameters' must be of type dict, got int.",
		`{}`:                     "Argument error: missing a required argument: 'task_parameters'",
	} {
		var a map[string]any
		if err := json.Unmarshal([]byte(args), &a); err != nil {
			t.Fatal(err)
		}
		if got := c.raw(send, "/task/insert_task_parameters", a); !strings.Contains(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
	good := evgen(nil)
	c.data(send, "/task/insert_task_parameters", map[string]any{"task_parameters": good}, &id)
	if got, err := w.known.Task(context.Background(), id); err != nil || got.State == "aborted" || got.User != "alice" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Calls for what is not here are answered in the form that PanDA's programs read, whatever the method, at either version.
func TestNotHere(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	for path, want := range map[string]string{
		"/creds/get_user_secrets":            noSecrets,
		"/event/update_event_ranges":         noEvents,
		"/workflow/submit_workflow":          noWorkflows,
		"/data_carousel/change_staging_site": noStaging,
		"/file_server/upload_jedi_log":       "payloads fetch and store their own",
		"/idds/relay_idds_command":           noWorkflows,
		"/task/get_something_new":            "no such call is known",
		"/job/submit":                        "jobs are made of tasks",
		"/job/set_debug_mode":                "divvy job logs",
		"/nothing":                           "no such call is known",
		"/async_process/get_result":          "nothing is done behind an answer",
	} {
		got := c.raw(send, path, map[string]any{"any": 1})
		if !strings.HasPrefix(got, `{"success":false,"message":"`) || !strings.HasSuffix(got, `","data":null}`) || !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := c.form("put_workflow_request", map[string]string{"data": "{}"}); !strings.Contains(got, "put_workflow_request is not served here; tasks wait for each other in the native API: needs") {
		t.Error(got)
	}
	if got := c.form("getEventRanges", map[string]string{"pandaID": "1"}); !strings.HasPrefix(got, `{"StatusCode":30,"errorDialog":"getEventRanges is not served here`) {
		t.Error(got)
	}
	if got := c.raw(get, "/metaconfig/get_site_specs", nil); !strings.Contains(got, "metaconfig/get_site_specs is not served here") {
		t.Error(got)
	}
	if got := c.raw(get, "/job/generate_offline_execution_script", map[string]any{"job_id": 1}); !strings.Contains(got, "divvy job show") {
		t.Error(got)
	}
}
