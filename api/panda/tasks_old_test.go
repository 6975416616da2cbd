package panda

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// oldForm makes an old call as panda-client up to 2025 does, and returns the body of the answer.
func (c caller) oldForm(call string, values ...string) string {
	c.t.Helper()
	q := url.Values{}
	for i := 0; i < len(values); i += 2 {
		q.Set(values[i], values[i+1])
	}
	resp, err := http.PostForm(strings.TrimSuffix(c.url, "/api/v1")+"/server/panda/"+call, q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %d %v %s", call, resp.StatusCode, err, b)
	}
	return string(b)
}

// Users' calls of the older API do what the new ones do, and answer in the form that their client reads.
func TestOldTaskCalls(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	params := string(asJSON(t, evgen(map[string]any{"nEvents": 300, "userName": "alice"})))
	if got, want := c.oldForm("insertTaskParams", "taskParams", params, "properErrorCode", "True"), "(I0\nVsucceeded. new jediTaskID=1\nt."; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	w.until("there are jobs", func() bool { got, _ := w.known.Task(context.Background(), 1); return got.Jobs.Ready == 3 })
	for _, a := range []struct {
		call, want string
		values     []string
	}{
		{"insertTaskParams", "(I00\nVjobParameters: is missing", []string{"taskParams", `{"taskName": "t", "noInput": true}`, "properErrorCode", "False"}},
		{"insertTaskParams", "(I1\nVArgument error: missing a required argument: 'task_parameters'\nt.", []string{"properErrorCode", "True"}},
		{"getPandaIDsWithTaskID", "(lI1\naI2\naI3\na.", []string{"jediTaskID", "1"}},
		{"getPandaIDsWithTaskID", "(l.", []string{"jediTaskID", "9"}},
		{"getTaskStatus", "Vready\n.", []string{"jediTaskID", "1"}},
		{"getTaskStatus", "N.", []string{"jediTaskID", "9"}},
		{"pauseTask", "(I01\nVtask 1: ready -> paused, 3 jobs that did not run\nt.", []string{"jediTaskID", "1"}},
		{"resumeTask", "(I01\nVtask 1: paused -> ready, 3 jobs that did not run\nt.", []string{"jediTaskID", "1"}},
		{"changeTaskPriority", "(I0\nV1 tasks changed\nt.", []string{"jediTaskID", "1", "newPriority", "7"}},
		{"reassignShare", "(I0\nV1 tasks to User\nt.", []string{"jedi_task_ids_pickle", "(lp0\nI1\na.", "share", "User", "reassign_running", "False"}},
		{"killJobs", "(lI01\naI00\na.", []string{"ids", "(lp0\nI3\naL99L\na."}},
		{"retryTask", "(I4\nVretry: task 1 is ready: cannot retry", []string{"jediTaskID", "1", "properErrorCode", "True"}},
		{"retryTask", "(I1\nVinvalid task: new_parameters: nEvents: a task keeps it; submit another one", []string{"jediTaskID", "1", "properErrorCode", "True", "newParams", `{"nEvents": 5}`}},
		{"getUserJobMetadata", "{}", []string{"jediTaskID", "1"}},
		{"getTaskParamsMap", "(I0\nV{\"gshare\":\"Prod\"", []string{"jediTaskID", "1"}},
		{"getTaskParamsMap", "(I2\nVTask not found\nt.", []string{"jediTaskID", "9"}},
		{"getJediTaskDetails", "(dVarchitecture\nNsVcampaign\nNs", []string{"jediTaskID", "1", "fullFlag", "True", "withTaskInfo", "True"}},
		{"getJediTaskDetails", "N.", []string{"jediTaskID", "9", "fullFlag", "True", "withTaskInfo", "True"}},
		{"getJediTasksInTimeRange", "(d.", []string{"timeRange", "2024-01-01 00:00:00", "dn", "/DC=ch/CN=nobody", "fullFlag", "True", "task_type", "managed"}},
		{"getJediTasksInTimeRange", "(dI1\n(dVarchitecture\nN", []string{"timeRange", "2024-01-01 00:00:00", "dn", "/DC=ch/CN=alice", "fullFlag", "True", "task_type", "managed"}},
		{"reactivateTask", "(I0\nVunknown task\nt.", []string{"jediTaskID", "9"}},
		{"finishTask", "(I01\nVtask 1: ready -> ", []string{"jediTaskID", "1", "soft", "True"}},
		{"killTask", "(I00\nVTask not found\nt.", []string{"jediTaskID", "9"}},
		{"killTask", "(I2\nVTask not found\nt.", []string{"jediTaskID", "9", "properErrorCode", "True"}},
	} {
		if got := c.oldForm(a.call, a.values...); !strings.HasPrefix(got, a.want) {
			t.Errorf("%s %q: %q, want %q", a.call, a.values, got, a.want)
		}
	}
	if got, err := w.known.Task(context.Background(), 1); err != nil || got.Share != "User" || got.Priority != 7 {
		t.Errorf("%+v, %v", got, err)
	}
}
