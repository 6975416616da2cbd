package panda

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/dispatcher"
)

// askAs makes one request as a pilot or as somebody else, and returns the body of the answer.
func (s *stub) askAs(agent, method, path, body string) string {
	routes := chi.NewMux()
	Routes(routes, Config{Dispatcher: s, Tasks: s})
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("User-Agent", agent)
	w := httptest.NewRecorder()
	routes.ServeHTTP(w, r)
	return w.Body.String()
}

// Pilots are told some things in another way than everybody else: what they are in the answers of PanDA's own server.
func TestToldToPilots(t *testing.T) {
	const pilot, script = "pilot/3.12.3.1 (Python 3.11.7; Linux x86_64)", "Python-urllib/3.11"
	kill := dispatcher.RenewReply{Kept: []string{"L"}, Cancel: []dispatcher.CancelOrder{{Lease: "L", Reason: "kill"}}}
	const running, bulk = `{"job_id":"1001","job_status":"running","attempt_nr":1}`, `{"job_list":[{"job_id":1001,"job_status":"running"}]}`
	for _, c := range []struct {
		name, agent, path, body string
		reply                   dispatcher.RenewReply
		want                    string
	}{
		{"go on", pilot, "/api/v1/pilot/update_job", running, dispatcher.RenewReply{}, `{"success":true,"message":"","data":{"StatusCode":0,"command":"NULL"}}`},
		{"go on", script, "/api/v1/pilot/update_job", running, dispatcher.RenewReply{}, `{"success":true,"message":"","data":{"StatusCode":0,"command":null}}`},
		{"stop", pilot, "/api/v1/pilot/update_job", running, kill, `{"success":true,"message":"","data":{"StatusCode":0,"command":"tobekilled"},"command":"tobekilled"}`},
		{"stop", script, "/api/v1/pilot/update_job", running, kill, `{"success":true,"message":"","data":{"StatusCode":0,"command":"tobekilled"},"command":"tobekilled"}`},
		{"several", script, "/api/v1/pilot/update_jobs_bulk", bulk, dispatcher.RenewReply{}, `{"success":true,"message":"","data":[{"success":true,"message":"","data":{"StatusCode":0,"command":null}}]}`},
		{"nothing to wait for", pilot, "/api/v1/pilot/set_debug_mode", `{"job_id":"1001","mode":"debug"}`, dispatcher.RenewReply{},
			`{"success":true,"message":"there is no debug mode here: what a heartbeat says of a payload's output is kept at any time","data":null}`},
		{"the old API knows no null", script, "/server/panda/updateJob", `jobId=1001&state=running`, dispatcher.RenewReply{}, `{"StatusCode":0,"command":"NULL"}`},
	} {
		s := newStub()
		s.reply = c.reply
		if got := s.askAs(c.agent, http.MethodPost, c.path, c.body); got != c.want {
			t.Errorf("%s, %s:\n got %s\nwant %s", c.name, c.agent, got, c.want)
		}
	}
}

// Everybody reads the classes of jobs, and pilots up to 3.11 read them out of a text.
func TestResourceTypes(t *testing.T) {
	s := newStub()
	want, err := json.Marshal(resourceTypes())
	if err != nil || !strings.HasPrefix(string(want), `[{"resource_name":"SCORE","mincore":1,"maxcore":1,"minrampercore":null,"maxrampercore":2000},`) {
		t.Fatal(string(want), err)
	}
	if got := s.askAs("Python-urllib/3.11", http.MethodGet, "/api/v1/metaconfig/get_resource_types", ""); got != `{"success":true,"message":"","data":`+string(want)+`}` {
		t.Error(got)
	}
	for agent, kind := range map[string]any{"pilot/3.11.5.1": "", "python-requests/2": []any{}} {
		var a struct {
			StatusCode    *int
			ResourceTypes any
		}
		body := s.askAs(agent, http.MethodPost, "/server/panda/getResourceTypes", "{}")
		if err := json.Unmarshal([]byte(body), &a); err != nil || a.StatusCode == nil || *a.StatusCode != 0 {
			t.Fatal(body, err)
		}
		text, isText := a.ResourceTypes.(string)
		if _, pilot := kind.(string); isText != pilot || pilot && text != string(want) {
			t.Errorf("%s: %s", agent, body)
		}
	}
}

// PanDA's clients name users' scripts below /trf/user/.
func TestUsersTransforms(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"runGen-00": "#!/bin/sh\n", "user": "#!/bin/sh\n# by this name\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"/trf/user/runGen-00": "#!/bin/sh\n", "/trf/user": "#!/bin/sh\n# by this name\n", "/trf/user/runShell": string(runShell),
		"/trf/user/none": "", "/trf/user/": "", "/trf/user/user/runGen-00": "", "/trf/user/..%2frunGen-00": "", "/trf/other/runGen-00": ""} {
		w := newStub().call(t, Config{Transforms: folder}, http.MethodGet, path, "")
		if ok := w.Code == 200; ok != (want != "") || ok && w.Body.String() != want {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
}
