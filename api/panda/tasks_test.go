package panda

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/site"
)

// steered is a world whose routes take tasks too.
func steered(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.tick(ctx, w.generator.Sweep) }()
	routes := chi.NewMux()
	Routes(routes, Config{Dispatcher: w.dispatcher, Tasks: w.known, Jobs: w.dispatcher, Known: w.known, Submissions: w.generator.Submissions(), Steering: w.generator.Verbs(), Site: site.NewStore(site.Config{Pool: w.db})})
	server := httptest.NewServer(routes)
	w.url = server.URL
	t.Cleanup(func() { server.Close(); stop(); <-done })
	return w
}

// task makes a call about tasks; every answer is 200 with the three keys.
func (w *world) task(t *testing.T, call string, args any) map[string]any {
	t.Helper()
	status, a := post(t, w.url+"/api/v1/task/"+call, "application/json", asJSON(t, args))
	return envelopeOf(t, call, status, a)
}

// look makes a GET about a task.
func (w *world) look(t *testing.T, call string, query url.Values) map[string]any {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, w.url+"/api/latest/task/"+call+"?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	status, a := ask(t, r)
	return envelopeOf(t, call, status, a)
}

func envelopeOf(t *testing.T, call string, status int, a map[string]any) map[string]any {
	t.Helper()
	_, ok1 := a["success"].(bool)
	_, ok2 := a["message"].(string)
	_, ok3 := a["data"]
	if status != http.StatusOK || len(a) != 3 || !ok1 || !ok2 || !ok3 {
		t.Fatalf("%s: %d %v", call, status, a)
	}
	return a
}

func id(n int64) url.Values { return url.Values{"task_id": {fmt.Sprint(n)}} }

func evgen(more map[string]any) map[string]any {
	p := map[string]any{"taskName": "mc.evgen", "userName": "Ann", "vo": "atlas", "prodSourceLabel": "managed", "transPath": "echo",
		"gshare": "Prod", "taskPriority": 100, "noInput": true, "nEvents": 1000, "nEventsPerJob": 100, "ramCount": 2000,
		"jobParameters": []any{map[string]any{"type": "constant", "value": "--first ${SKIPEVENTS} 'a b'"}}}
	for k, v := range more {
		p[k] = v
	}
	return p
}

// From a submission to the end, as a user's script does it; a pilot runs the first job meanwhile.
func TestTaskLife(t *testing.T) {
	w := steered(t)
	params := evgen(map[string]any{"reqID": 12345678901234567, "taskType": "prod"})
	a := w.task(t, "submit", map[string]any{"task_parameters": params, "parent_tid": 0})
	task := int64(a["data"].(float64))
	want := fmt.Sprintf("succeeded. new jediTaskID=%d; ignored: reqID (%s)", task, taskspec.NotUsed)
	if a["success"] != true || a["message"] != want {
		t.Fatalf("%v, want %s", a, want)
	}
	w.until("the jobs are ready", func() bool {
		return w.look(t, "get_details", with(id(task), "include_status"))["data"].(map[string]any)["jobs"].(map[string]any)["activated"] == 10.0
	})
	_, job := post(t, w.url+"/server/panda/getJob", "application/json", []byte(`{"siteName":"LOCAL_TEST","prodSourceLabel":"managed"}`))
	if pars, _ := job["jobPars"].(string); job["taskID"] != float64(task) || !strings.HasSuffix(pars, "-- echo --first 0 'a b'") {
		t.Errorf("%v", job)
	}
	w.until("the task runs", func() bool { return w.look(t, "get_status", id(task))["data"] == "running" })

	a = w.look(t, "get_details", with(id(task), "include_parameters"))
	d := a["data"].(map[string]any)
	for name, want := range map[string]any{"jediTaskID": float64(task), "taskName": "mc.evgen", "userName": "Ann", "status": "running", "vo": "atlas",
		"prodSourceLabel": "managed", "taskType": "prod", "gshare": "Prod", "taskPriority": 100.0, "currentPriority": 100.0, "transPath": "echo",
		"coreCount": 1.0, "ramCount": 2000.0, "maxAttempt": 3.0} {
		if d[name] != want {
			t.Errorf("%s is %v, want %v", name, d[name], want)
		}
	}
	if _, err := time.Parse(time.DateTime, d["creationDate"].(string)); err != nil || d["endTime"] != nil || d["jobs"] != nil || d["statistics"] != "activated*9,running*1" {
		t.Errorf("%v, %v", err, d)
	}
	if diff := cmp.Diff(asValue(t, params), d["taskParams"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(asValue(t, []taskspec.Ignored{{Parameter: "reqID", Reason: taskspec.NotUsed}}), d["ignoredParams"]); diff != "" {
		t.Error(diff)
	}
	var kept string
	if err := w.db.QueryRow(context.Background(), "SELECT parameters -> 'panda' ->> 'reqID' FROM tasks WHERE id = $1", task).Scan(&kept); err != nil || kept != "12345678901234567" {
		t.Errorf("%q, %v: a large number lost digits", kept, err)
	}
	if diff := cmp.Diff(asValue(t, params), w.look(t, "get_task_parameters", id(task))["data"]); diff != "" {
		t.Error(diff)
	}
	if ids, ok := w.look(t, "get_job_ids", id(task))["data"].([]any); !ok || len(ids) != 10 || ids[0] != job["PandaID"] {
		t.Errorf("jobs %v", ids)
	}
	w.steer(t, task)
}

// steer says every verb to a task that runs.
func (w *world) steer(t *testing.T, task int64) {
	t.Helper()
	for _, c := range []struct {
		call    string
		args    map[string]any
		success bool
		message string // what it begins with
		data    any
		status  string // then
	}{
		{"pause", nil, true, "task %d: running -> paused, 9 jobs that did not run", 0.0, "paused"},
		{"pause", nil, true, "task %d: paused -> paused", 0.0, "paused"},
		{"retry", nil, false, "retry: task %d is paused: cannot retry", 4.0, "paused"},
		{"resume", nil, true, "task %d: paused -> running, 9 jobs that did not run", 0.0, "running"},
		{"change_priority", map[string]any{"priority": "900"}, true, "1 tasks changed", nil, "running"},
		{"change_priority", map[string]any{"priority": 1 << 40}, false, "priority: 1099511627776 is out of range", 1.0, "running"},
		{"change_priority", map[string]any{"priority": 2000000000}, false, "priority: 2000000000 is not in -1000000000", 1.0, "running"},
		{"retry", map[string]any{"new_parameters": map[string]any{"nEvents": 5}}, false, "invalid task: new_parameters: nEvents: a task keeps it", 1.0, "running"},
		{"finish", map[string]any{"soft": true, "broadcast": false}, true, "task %d: running -> finishing, 9 jobs that did not run", 0.0, "finishing"},
		{"finish", nil, true, "task %d: finishing -> finishing; jobs that run go on to their end, as with soft", 0.0, "finishing"},
		{"kill", map[string]any{"broadcast": true}, true, "task %d: finishing -> aborting, 1 running jobs told to end", 0.0, "aborting"},
		{"change_priority", map[string]any{"priority": 1}, false, "priority: task %d is aborting: cannot change the priority", 4.0, "aborting"},
		{"retry", nil, false, "retry: task %d is aborting: cannot retry", 4.0, "aborting"},
	} {
		args := map[string]any{"task_id": task}
		for k, v := range c.args {
			args[k] = v
		}
		if strings.Contains(c.message, "%d") {
			c.message = fmt.Sprintf(c.message, task)
		}
		w.dispatcher.Settle()
		a := w.task(t, c.call, args)
		if a["success"] != c.success || a["data"] != c.data || !strings.HasPrefix(a["message"].(string), c.message) {
			t.Errorf("%s: %v, want %v %q %v", c.call, a, c.success, c.message, c.data)
		}
		if got := w.look(t, "get_status", id(task))["data"]; got != c.status {
			t.Errorf("%s: the task is %v, want %s", c.call, got, c.status)
		}
	}
	if got, err := w.known.Task(context.Background(), task); err != nil || got.Priority != 900 {
		t.Errorf("%v %v", got.Priority, err)
	}
}

func with(q url.Values, flags ...string) url.Values {
	for _, f := range flags {
		q.Set(f, "True")
	}
	return q
}

// Tasks go to another share by its name; the message says what did not go.
func TestReassignShare(t *testing.T) {
	w := steered(t)
	first := int64(w.task(t, "submit", map[string]any{"task_parameters": evgen(nil)})["data"].(float64))
	text, err := json.Marshal(evgen(map[string]any{"gshare": nil, "nEvents": 5}))
	if err != nil {
		t.Fatal(err)
	}
	if a := w.task(t, "submit", map[string]any{"task_parameters": string(text)}); a["success"] != false || !strings.Contains(a["message"].(string), "no share for this task") || a["data"] != 1.0 {
		t.Errorf("a task that no rule matches: %v", a)
	}
	second := int64(w.task(t, "submit", map[string]any{"task_parameters": string(asJSON(t, evgen(nil)))})["data"].(float64))
	w.until("there are jobs", func() bool { task, _ := w.known.Task(context.Background(), second); return task.Jobs.Ready == 10 })
	for _, c := range []struct {
		ids     []int64
		share   string
		success bool
		message string
		data    any
	}{
		{[]int64{first, second}, "User", true, "2 tasks to User", 0.0},
		{[]int64{first}, "User", true, fmt.Sprintf("1 tasks to User; task %d: it is in User already", first), 0.0},
		{[]int64{second, 999}, "Prod", false, "2 tasks to Prod; task 999: there is no such task", 2.0},
		{[]int64{second}, "Prodd", false, `share: there is no leaf share "Prodd" (leaves: Prod, User)`, 1.0},
	} {
		a := w.task(t, "reassign_global_share", map[string]any{"task_id_list": c.ids, "share": c.share, "reassign_running_jobs": false})
		if a["success"] != c.success || a["message"] != c.message || a["data"] != c.data {
			t.Errorf("%v to %s: %v", c.ids, c.share, a)
		}
	}
	for id, share := range map[int64]string{first: "User", second: "Prod"} {
		if got, err := w.known.Task(context.Background(), id); err != nil || got.Share != share {
			t.Errorf("task %d is in %s, %v", id, got.Share, err)
		}
	}
}

// What cannot be is said with the name of the argument; nothing is stored.
func TestTaskRefusals(t *testing.T) {
	w := steered(t)
	for _, c := range []struct {
		call, args, message string
		data                any
	}{
		{"submit", `{}`, "Argument error: missing a required argument: 'task_parameters'", nil},
		{"submit", `{"task_parameters": 5}`, "Type error: 'task_parameters' must be of type dict, got int.", nil},
		{"submit", `{"task_parameters": "x"}`, "Type error: 'task_parameters' must be of type dict, got str.", nil},
		{"submit", `{"task_parameters": {}, "more": 1}`, "Argument error: got an unexpected keyword argument 'more'", nil},
		{"submit", `{"task_parameters": {"taskName": "t", "userName": "u", "noInput": true, "jobParameters": "x", "coreCount": "many", "site": "NOWHERE"}}`,
			`site: there is no queue "NOWHERE"; coreCount: must be of type int, got str`, 1.0},
		{"kill", `{"task_id": -1}`, "Task not found", 2.0},
		{"kill", `{"task_id": "x"}`, "Type error: 'task_id' must be of type int, got str.", nil},
		{"retry", `{"task_id": 999}`, "Task not found", 2.0},
		{"retry", `{"task_id": 999, "new_parameters": 5}`, "Type error: 'new_parameters' must be of type dict, got int.", nil},
		{"change_priority", `{"task_id": 999, "priority": 1}`, "Task not found", 2.0},
		{"change_priority", `{"task_id": 999}`, "Argument error: missing a required argument: 'priority'", nil},
		{"reassign_global_share", `{"task_id_list": ["a"], "share": "User", "reassign_running_jobs": true}`, "Type error: All elements in 'task_id_list' must be int.", nil},
		{"get_status", `{"task_id": 1}`, "expecting GET, received POST", nil},
	} {
		a := w.task(t, c.call, json.RawMessage(c.args))
		if a["success"] != false || a["message"] != c.message || a["data"] != c.data {
			t.Errorf("%s %s: %v", c.call, c.args, a)
		}
	}
	for call, want := range map[string]string{"get_status": "Task not found", "get_details": "Task not found", "get_task_parameters": "Task not found"} {
		if a := w.look(t, call, id(999)); a["success"] != false || a["message"] != want {
			t.Errorf("%s: %v", call, a)
		}
	}
	if a := w.look(t, "get_job_ids", id(999)); a["success"] != true || len(a["data"].([]any)) != 0 {
		t.Errorf("%v", a)
	}
	if a := w.task(t, "change_attribute", map[string]any{"task_id": -1, "what": "ever"}); a["success"] != false || a["message"] != "change_attribute is not served here: "+asSubmitted {
		t.Errorf("%v", a)
	}
	native := w.submit(1, 1, "true").ID
	if a := w.look(t, "get_task_parameters", id(native)); a["success"] != false || !strings.Contains(a["message"].(string), "was not submitted by PanDA's calls") {
		t.Errorf("%v", a)
	}
	if d := w.look(t, "get_details", with(id(native), "include_parameters"))["data"].(map[string]any); len(d["taskParams"].(map[string]any)) != 0 || len(d["ignoredParams"].([]any)) != 0 {
		t.Errorf("%v", d)
	}
	var n int
	if err := w.db.QueryRow(context.Background(), "SELECT count(*) FROM tasks").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d tasks, %v", n, err)
	}
}

// A repeat with the same key gets the same task; a caller without a name in the parameters is the user.
func TestSubmitOnceByCaller(t *testing.T) {
	w := steered(t)
	routes := chi.NewMux()
	Routes(routes, Config{Dispatcher: w.dispatcher, Tasks: w.known, Known: w.known, Submissions: w.generator.Submissions(), Steering: w.generator.Verbs(), Site: site.NewStore(site.Config{Pool: w.db}), Callers: guardOf(t, false, "").Callers})
	server := httptest.NewServer(routes)
	defer server.Close()
	submit := func() map[string]any {
		r, err := http.NewRequest(http.MethodPost, server.URL+"/api/v1/task/submit", strings.NewReader(string(asJSON(t, map[string]any{"task_parameters": evgen(map[string]any{"userName": nil})}))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer cern-token-0123456789")
		r.Header.Set("Idempotency-Key", "once")
		_, a := ask(t, r)
		return a
	}
	first, again := submit(), submit()
	if first["success"] != true || first["data"] != again["data"] {
		t.Errorf("%v, then %v", first, again)
	}
	if got, err := w.known.Task(context.Background(), int64(first["data"].(float64))); err != nil || got.User != "cern" {
		t.Errorf("user %q, %v", got.User, err)
	}
}

// Scouts run first, an avalanche ends that; and what failed is tried again with more memory, elsewhere.
func TestScoutsAndRetryWith(t *testing.T) {
	w := steered(t)
	params := evgen(map[string]any{"useScout": true, "nEvents": 3000, "nEventsPerJob": 100})
	task := int64(w.task(t, "submit", map[string]any{"task_parameters": params})["data"].(float64))
	jobs := func() view.JobCounts {
		got, err := w.known.Task(context.Background(), task)
		if err != nil {
			t.Fatal(err)
		}
		return got.Jobs
	}
	w.until("ten scouts are ready", func() bool { return jobs().Ready == 10 })
	a := w.task(t, "avalanche", map[string]any{"task_id": task})
	if a["success"] != true || a["data"] != 0.0 {
		t.Errorf("%v", a)
	}
	w.until("all jobs are ready", func() bool { return jobs().Ready == 30 })
	w.task(t, "kill_unfinished_jobs", map[string]any{"task_id": task})
	w.until("it is over", func() bool { return w.look(t, "get_status", id(task))["data"] == "failed" })
	for _, c := range []struct {
		with any
		want string // what the message begins with
	}{
		{map[string]any{"coreCount": "many", "nEvents": 5}, "invalid task: new_parameters: coreCount: must be of type int"},
		{`{"site": "NOWHERE"}`, `invalid task: new_parameters: site: there is no queue "NOWHERE"`},
		{`[1]`, "new_parameters: is not a JSON object"},
		{`{"ramCount": 4000, "ramUnit": "MBPerCore", "coreCount": 2, "site": "LOCAL_TEST", "maxAttempt": 7, "walltime": 60}`, fmt.Sprintf("task %d: failed -> ", task)},
	} {
		if a = w.task(t, "retry", map[string]any{"task_id": task, "new_parameters": c.with}); !strings.HasPrefix(a["message"].(string), c.want) {
			t.Errorf("%v: %v, want %s", c.with, a, c.want)
		}
	}
	got, err := w.known.Task(context.Background(), task)
	if r := got.Spec.Requirements; err != nil || r.MemoryMB != 8000 || r.Cores != 2 || r.Walltime != 60 || got.MaxAttempts != 7 || got.Spec.Queues[0] != "LOCAL_TEST" {
		t.Errorf("%+v %+v, %v", got, got.Spec, err)
	}
}
