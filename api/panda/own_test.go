package panda

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/harvester"
	"github.com/divvyhq/divvy/internal/sandbox"
	"github.com/divvyhq/divvy/internal/site"
)

// What a call is for who stands for one user.
const (
	owners    = "refused for tasks and jobs of other users"
	operators = "refused"
	narrowed  = "leaves out what is another user's"
	submits   = "makes a task of that user"
	empty     = "changes and shows nothing of users"
	sums      = "shows sums over all, as the native API does"
	runs      = "said by pilots and Harvesters, who run jobs of all users"
)

// bounds has every call of the new API, but those that are not served. The old API's calls are these by other names.
var bounds = map[string]string{
	"/task/submit": submits, "/task/insert_task_parameters": submits,
	"/task/kill": owners, "/task/finish": owners, "/task/pause": owners, "/task/resume": owners, "/task/avalanche": owners, "/task/retry": owners,
	"/task/reactivate": owners, "/task/change_priority": owners, "/task/kill_unfinished_jobs": owners, "/task/release": owners,
	"/task/change_modification_time": owners, "/task/disable_job_cloning": owners,
	"/task/reassign_global_share": operators,
	"/task/get_status":            owners, "/task/get_details": owners, "/task/get_detailed_info": owners, "/task/get_parent_detailed_info": owners,
	"/task/get_task_parameters": owners, "/task/get_job_ids": owners, "/task/get_datasets_and_files": owners, "/task/get_job_descriptions": owners,
	"/task/get_tasks_modified_since": narrowed, "/task/get_tasks_detailed_info_since": narrowed,
	"/file_server/validate_cache_file": narrowed, // finds files of the caller alone
	"/job/kill":                        owners, "/job/set_command": owners, "/job/get_description": owners, "/job/get_description_incl_archive": owners,
	"/job/get_metadata_for_analysis_jobs": owners, "/job/reassign": empty,
	"/job/get_status":              runs, // states alone, of jobs that the caller knows by id
	"/harvester/add_sweep_command": operators, "/harvester/add_target_slots": operators,
	"/harvester/heartbeat": runs, "/harvester/update_workers": runs, "/harvester/update_service_metrics": runs, "/harvester/add_dialogs": runs,
	"/harvester/get_current_worker_id": runs, "/harvester/get_worker_statistics": runs, "/harvester/report_worker_statistics": runs,
	"/harvester/acquire_commands": runs, "/harvester/acknowledge_commands": runs,
}

// boundOf is what a call is; "" for one that nobody has thought of.
func boundOf(e wire.Endpoint) string {
	group, _, _ := strings.Cut(strings.TrimPrefix(e.Path, "/"), "/")
	_, refuses := e.Takes[wire.AnyName]
	switch {
	case bounds[e.Path] != "":
		return bounds[e.Path]
	case refuses && (group == "task" || group == "job"):
		return empty
	case group == "pilot":
		return runs
	case group == "statistics":
		return sums
	case group == "system" || group == "metaconfig":
		return empty
	}
	return ""
}

// everything is a configuration that serves all calls.
func (w *world) everything() Config {
	return Config{Dispatcher: w.dispatcher, Tasks: w.known, Jobs: w.dispatcher, Work: w.known, Workers: harvester.NewStore(w.db), Sandboxes: sandbox.NewStore(w.db),
		Known: w.known, Submissions: w.generator.Submissions(), Steering: w.generator.Verbs(), Site: site.NewStore(site.Config{Pool: w.db})}
}

// about are the arguments of a call about a task and a job.
func about(e wire.Endpoint, task, job int64) map[string]any {
	said := needs(e, map[string]any{})
	for name, v := range map[string]any{"task_id": task, "jedi_task_id": task, "task_id_list": []int64{task}, "job_id": job, "job_ids": []int64{job},
		"share": "User", "command": wire.Killed, "since": "2024-01-01 00:00:00", "prod_source_label": "managed", "panda_queue": "LOCAL_TEST",
		"status_list": []string{"submitted"}, "ce_list": []string{}, "submission_host_list": []string{}} {
		if _, taken := e.Takes[name]; taken {
			said[name] = v
		}
	}
	return said
}

func methodOf(e wire.Endpoint) string {
	if e.Method == wire.Either {
		return http.MethodPost
	}
	return e.Method
}

// noted is what somebody has changed, as the audit has it.
func (w *world) noted(who string) string {
	w.t.Helper()
	var s string
	if err := w.db.QueryRow(w.t.Context(), "SELECT coalesce(string_agg(what || ' ' || object, ', '), '') FROM audit WHERE who = $1", who).Scan(&s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// twoUsers are alice's task, and bob as a caller who stands for himself.
func twoUsers(t *testing.T) (w *world, task view.Task, jobs []int64, bob caller) {
	w = newWorld(t)
	task = w.submit(3, 2, "echo", "a-secret-of-alice")
	w.until("there are jobs", func() bool {
		got, err := w.known.Task(t.Context(), task.ID)
		return err == nil && got.Jobs.Ready == 3
	})
	jobs, err := w.dispatcher.JobIDs(t.Context(), dispatcher.JobChoice{Task: task.ID, Live: true, Limit: 10})
	if err != nil || len(jobs) != 3 {
		t.Fatal(jobs, err)
	}
	return w, task, jobs, w.callerAs(forHerself("bob"))
}

// Who stands for one user changes and sees that user's tasks and jobs alone, by whatever call of the router's table.
func TestCallsAreBoundToTheirUser(t *testing.T) {
	w, task, jobs, bob := twoUsers(t)
	all := newServer(w.everything()).calls()
	seen := map[string]bool{}
	for _, e := range all {
		seen[e.Path] = true
		said := about(e, task.ID, jobs[0])
		var status int
		var got wire.Envelope
		var told string
		if boundOf(e) == owners || boundOf(e) == operators || boundOf(e) == narrowed {
			status, got = bob.envelopeOf(methodOf(e), e.Path, said, "")
			told = bob.raw(methodOf(e), e.Path, said)
		}
		want := ""
		switch boundOf(e) {
		case "":
			t.Errorf("%s is in no row of bounds: what may who stands for one user?", e.Path)
		case owners:
			want = fmt.Sprintf("task %d is not one of bob (submitter of user bob)", task.ID)
			if strings.HasPrefix(e.Path, "/job/") && e.Takes["task_id"] == 0 {
				want = fmt.Sprintf("job %d is not one of bob (submitter of user bob)", jobs[0])
			}
		case operators:
			want = e.Path[strings.LastIndex(e.Path, "/")+1:] + " needs the role operator or admin; this is bob (submitter of user bob)"
		case narrowed:
			if !got.Success || !slices.Contains([]string{"[]", "{}", "map[]", "<nil>"}, fmt.Sprint(got.Data)) {
				t.Errorf("%s: %s", e.Path, told)
			}
		}
		if want != "" && (status != http.StatusOK || got.Success || got.Message != want) {
			t.Errorf("%s %v: %d %+v, want %s", e.Path, said, status, got, want)
		}
		if strings.Contains(told, "secret") {
			t.Errorf("%s tells bob: %s", e.Path, told)
		}
	}
	for path := range bounds {
		if !seen[path] {
			t.Errorf("%s is no call any more", path)
		}
	}
	if got := w.noted("bob"); got != "" {
		t.Errorf("bob changed %s", got)
	}
	after, err := w.known.Task(t.Context(), task.ID)
	if err != nil || after.State != "ready" || after.Jobs.Ready != 3 || after.Share != "Prod" || after.Priority != task.Priority {
		t.Errorf("%+v, %v", after, err)
	}
	if n := w.count("SELECT (SELECT count(*) FROM harvester_commands) + (SELECT count(*) FROM target_slots)"); n != 0 {
		t.Errorf("%d commands for Harvesters and bounds of queues", n)
	}
	for _, e := range all { // the owner is refused nothing of it; what it says ends the task sooner or later
		if boundOf(e) != owners {
			continue
		}
		body := w.callerAs(forHerself("alice")).raw(methodOf(e), e.Path, about(e, task.ID, jobs[0]))
		if strings.Contains(body, "is not one of") || strings.Contains(body, wire.DatabaseError) {
			t.Errorf("%s for its owner: %s", e.Path, body)
		}
	}
}

// Nor does the old API let bob, in its own forms; every route of it is a call of the new one, or said by pilots.
func TestOldCallsAreBoundToTheirUser(t *testing.T) {
	w, task, jobs, bob := twoUsers(t)
	c := w.everything()
	routes := chi.NewMux()
	Routes(routes, c)
	byPath := map[string]wire.Endpoint{}
	for _, e := range newServer(c).calls() {
		byPath[e.Path] = e
	}
	said := map[string]bool{"getJob": true, "updateJob": true, "updateJobsInBulk": true, "updateWorkerPilotStatus": true, "getStatus": true, "isAlive": true,
		"getResourceTypes": true, "*": true}
	n := 0
	err := chi.Walk(routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		name, old := strings.CutPrefix(route, "/server/panda/")
		if !old || method != http.MethodPost || said[name] {
			return nil
		}
		as := oldTaskCalls[name].as
		if as == "" {
			as = oldCalls[name].as
		}
		what := boundOf(byPath[as])
		if what == "" {
			t.Errorf("%s is %q, which is in no row of bounds", name, as)
		}
		if what == owners || what == operators || what == narrowed {
			n++
			pickled := func(id int64) string { return fmt.Sprintf("(lp0\nI%d\na.", id) }
			got := bob.oldForm(name, "jediTaskID", fmt.Sprint(task.ID), "ids", pickled(jobs[0]), "jedi_task_ids_pickle", pickled(task.ID), "share", "User",
				"reassign_running", "False", "newPriority", "7", "timeRange", "2024-01-01 00:00:00", "dn", "alice", "fullFlag", "True", "task_type", "managed",
				"pandaQueueName", "LOCAL_TEST", "numSlots", "1", "panda_queue", "LOCAL_TEST", "status_list", `["submitted"]`, "ce_list", `["x"]`,
				"submission_host_list", `["x"]`, "properErrorCode", "True")
			refused := strings.Contains(got, "is not one of bob (") || strings.Contains(got, "needs the role operator")
			if nothingIn := slices.Contains([]string{"N.", "(d.", "null"}, got); !refused && !nothingIn || strings.Contains(got, "secret") {
				t.Errorf("%s tells bob: %s", name, got)
			}
		}
		return nil
	})
	if err != nil || n < 15 {
		t.Errorf("%d calls, %v", n, err)
	}
	if got := w.noted("bob"); got != "" {
		t.Errorf("bob changed %s", got)
	}
}

// What is of two users is refused as a whole, and a list has the caller's own whoever was asked for.
func TestOwnBesideForeign(t *testing.T) {
	w, task, jobs, bob := twoUsers(t)
	params := evgen(map[string]any{"userName": nil, "nEvents": 100})
	var own int64
	bob.data(send, "/task/submit", map[string]any{"task_parameters": params, "parent_tid": task.ID}, &own)
	w.until("there is a job", func() bool { got, err := w.known.Task(t.Context(), own); return err == nil && got.Jobs.Ready == 1 })
	var mine []int64
	bob.data(get, "/task/get_job_ids", of(own), &mine)
	foreign := fmt.Sprintf("job %d is not one of bob (submitter of user bob)", jobs[0])
	for _, path := range []string{"/job/kill", "/job/get_description"} {
		if _, got := bob.envelopeOf(send, path, map[string]any{"job_ids": []int64{mine[0], jobs[0], 999}}, ""); got.Success || got.Message != foreign {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := w.job(mine[0]).State; got != "ready" {
		t.Errorf("the own job is %s", got)
	}
	if _, got := bob.envelopeOf(get, "/task/get_parent_detailed_info", of(own), ""); got.Success || !strings.Contains(got.Message, fmt.Sprintf("task %d is not one of", task.ID)) {
		t.Errorf("the parent: %+v", got)
	}
	for _, filters := range []string{``, fmt.Sprintf(`{"jediTaskID": %d}`, own), `{"userName": "bob"}`, `{"taskName": "mc.evgen"}`} {
		var found []map[string]any
		bob.data(get, "/task/get_tasks_detailed_info_since", map[string]any{"filters": filters}, &found)
		if len(found) != 1 || found[0]["jediTaskID"] != float64(own) {
			t.Errorf("%s: %v", filters, found)
		}
	}
	for _, filters := range []string{fmt.Sprintf(`{"jediTaskID": %d}`, task.ID), fmt.Sprintf(`{"reqID": %d}`, task.ID), `{"userName": "alice"}`, `{"taskName": "sim"}`} {
		var found []map[string]any
		if bob.data(get, "/task/get_tasks_detailed_info_since", map[string]any{"filters": filters}, &found); len(found) != 0 {
			t.Errorf("%s: %v", filters, found)
		}
	}
	var killed []bool
	if bob.data(send, "/job/kill", map[string]any{"job_ids": []int64{mine[0], 999}}, &killed); !slices.Equal(killed, []bool{true, false}) {
		t.Errorf("own and unknown: %v", killed)
	}
	for call, want := range map[string]string{"/task/pause": "Task not found", "/task/get_status": "Task not found"} { // as anybody is told
		method := byMethod(newServer(w.everything()), call)
		var e wire.Envelope
		if err := json.Unmarshal([]byte(bob.raw(method, call, of(999999))), &e); err != nil || e.Message != want || e.Data != 2.0 {
			t.Errorf("%s: %+v, %v", call, e, err)
		}
	}
}

func byMethod(s *server, path string) string {
	for _, e := range s.calls() {
		if e.Path == path {
			return methodOf(e)
		}
	}
	return ""
}

// count is a number out of the database.
func (w *world) count(sql string) (n int64) {
	w.t.Helper()
	if err := w.db.QueryRow(w.t.Context(), sql).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}
