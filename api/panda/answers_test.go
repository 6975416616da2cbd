package panda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/site/file"
)

// stub is a dispatcher, and a generator, that says what a test tells it to.
type stub struct {
	mu      sync.Mutex
	pulled  []dispatcher.PullRequest
	leases  int // that are left; -1 = none ever ends
	err     error
	fails   int // calls that err is for; 0 = all
	held    dispatcher.Holding
	renewed dispatcher.RenewRequest
	reply   dispatcher.RenewReply
	ended   dispatcher.FinishRequest
	verdict string
	late    []dispatcher.Result
	lateOf  dispatcher.HeldJob
}

func (s *stub) fault() error {
	if s.fails > 0 {
		if s.fails--; s.fails == 0 {
			defer func() { s.err = nil }()
		}
	}
	return s.err
}

func (s *stub) Pull(_ context.Context, r dispatcher.PullRequest) (dispatcher.PullReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulled = append(s.pulled, r)
	if err := s.fault(); err != nil {
		return dispatcher.PullReply{}, err
	}
	if s.leases == 0 {
		return dispatcher.PullReply{}, dispatcher.ErrNoJobs
	}
	s.leases--
	return dispatcher.PullReply{Leases: []dispatcher.Lease{{Lease: "L", Job: 1001, Attempt: 1, Task: 77, Share: "A", Command: []string{"echo", "a<b"}, Cores: 1}}}, nil
}

func (s *stub) Renew(_ context.Context, r dispatcher.RenewRequest) (dispatcher.RenewReply, error) {
	s.renewed = r
	return s.reply, s.fault()
}

func (s *stub) Finish(_ context.Context, r dispatcher.FinishRequest) (dispatcher.FinishReply, error) {
	s.ended = r
	return dispatcher.FinishReply{Verdicts: []dispatcher.Verdict{{Lease: "L", Verdict: s.verdict}}}, s.fault()
}

func (s *stub) Holdings(_ context.Context, of []dispatcher.HeldJob) (all []dispatcher.Holding, err error) {
	for _, h := range of {
		switch {
		case h.Job != 1001:
			all = append(all, dispatcher.Holding{})
		case h.Attempt == s.held.Attempt:
			all = append(all, s.held)
		default:
			all = append(all, dispatcher.Holding{JobState: s.held.JobState, Attempt: s.held.Attempt})
		}
	}
	return all, s.fault()
}

func (s *stub) Late(_ context.Context, of dispatcher.HeldJob, r dispatcher.Result) (bool, error) {
	s.late, s.lateOf = append(s.late, r), of
	return true, nil
}

func (s *stub) KeepLog(context.Context, string, string) error { return s.fault() }

func (s *stub) Task(context.Context, int64) (view.Task, error) {
	return view.Task{Name: "sim", User: "alice", Tagging: view.Tagging{Attributes: map[string]string{"label": "managed"}}}, nil
}

// newStub has one job, leased and running.
func newStub() *stub {
	return &stub{leases: 1, held: dispatcher.Holding{Lease: "L", State: dispatcher.Running, JobState: "leased", Attempt: 1}, verdict: dispatcher.Recorded}
}

// call makes one request of the routes and returns the answer as it is.
func (s *stub) call(t *testing.T, c Config, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	c.Dispatcher, c.Tasks, c.Wait, c.Timeout = s, s, time.Second, 4*time.Second
	routes := chi.NewMux()
	Routes(routes, c)
	w := httptest.NewRecorder()
	routes.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

const theJob = `"PandaID":1001,"taskID":77,"attemptNr":1,"jobName":"sim.1001","transformation":"http://example.com/trf/runShell",` +
	`"jobPars":"-e DIVVY_ATTEMPT=1 -e DIVVY_CORES=1 -e DIVVY_QUEUE=Q -e DIVVY_SHARE=A -- echo 'a<b'","coreCount":1,"prodSourceLabel":"managed","prodUserID":"alice",` +
	`"swRelease":"NULL","homepackage":"NULL","cmtConfig":"NULL"}`

// Answers, to the letter.
func TestAnswers(t *testing.T) {
	away := errors.New("the database is away")
	kill := dispatcher.RenewReply{Kept: []string{"L"}, Cancel: []dispatcher.CancelOrder{{Lease: "L", Reason: "reclaim"}}}
	for _, c := range []struct {
		name, call, body string
		is               func(*stub)
		status           int
		want             string
	}{
		{"a job", "POST /server/panda/getJob", `{"siteName":"Q"}`, nil, 200, `{"StatusCode":0,` + theJob},
		{"jobs", "POST /server/panda/getJob", `{"siteName":"Q","nJobs":2}`, func(s *stub) { s.leases = 2 }, 200, `{"StatusCode":0,"jobs":[{"StatusCode":0,` + theJob + `,{"StatusCode":0,` + theJob + `]}`},
		{"no job", "POST /server/panda/getJob", `{"siteName":"Q"}`, func(s *stub) { s.leases = 0 }, 200, `{"StatusCode":20,"errorDialog":"no jobs in PanDA"}`},
		{"no queue", "POST /server/panda/getJob", `{}`, nil, 200, `{"StatusCode":30,"errorDialog":"siteName is missing: the name of a queue"}`},
		{"another queue", "POST /server/panda/getJob", `{"siteName":"Q"}`, func(s *stub) { s.err = fmt.Errorf("%w %q", dispatcher.ErrUnknownQueue, "Q") }, 200, `{"StatusCode":30,"errorDialog":"unknown queue \"Q\""}`},
		{"away", "POST /server/panda/getJob", `{"siteName":"Q"}`, func(s *stub) { s.err = away }, 200, `{"StatusCode":10,"errorDialog":"timed out, try again"}`},
		{"stopping", "POST /server/panda/getJob", `{"siteName":"Q"}`, func(s *stub) { s.err = dispatcher.ErrStopping }, 200, `{"StatusCode":10,"errorDialog":"timed out, try again"}`},
		{"half a body", "POST /server/panda/getJob", `{"siteName`, nil, 200, `{"StatusCode":30,"errorDialog":"failed to load JSON: unexpected EOF"}`},
		{"heartbeat", "POST /server/panda/updateJob", `{"jobId":"1001","state":"running","attemptNr":1}`, nil, 200, `{"StatusCode":0,"command":"NULL"}`},
		{"reclaimed", "POST /server/panda/updateJob", `{"jobId":"1001","state":"running","attemptNr":1}`, func(s *stub) { s.reply = kill }, 200, `{"StatusCode":0,"command":"tobekilled"}`},
		{"lost", "POST /server/panda/updateJob", `{"jobId":"1001","state":"running","attemptNr":1}`, func(s *stub) { s.held.Lease = "" }, 200, `{"StatusCode":0,"command":"tobekilled"}`},
		{"lost on the way", "POST /server/panda/updateJob", `{"jobId":"1001","state":"running","attemptNr":1}`, func(s *stub) { s.reply.Lost = []string{"L"} }, 200, `{"StatusCode":0,"command":"tobekilled"}`},
		{"a foreign job", "POST /server/panda/updateJob", `{"jobId":"5","state":"running","attemptNr":1}`, nil, 200, `{"StatusCode":0,"command":"tobekilled"}`},
		{"finished", "POST /server/panda/updateJob", `jobId=1001&state=finished&attemptNr=1`, nil, 200, `{"StatusCode":0,"command":"NULL"}`},
		{"no state", "POST /server/panda/updateJob", `{"jobId":"1001"}`, nil, 200, `{"StatusCode":50,"errorDialog":"state \"\" is none of starting, running, transferring, holding, finished, failed"}`},
		{"no id", "POST /server/panda/updateJob", `{"jobId":"NULL","state":"running"}`, nil, 200, `{"StatusCode":50,"errorDialog":"jobId is not the id of a job"}`},
		{"heartbeat, away", "POST /server/panda/updateJob", `{"jobId":"1001","state":"running"}`, func(s *stub) { s.err = away }, 200, `{"StatusCode":10,"errorDialog":"timed out, try again"}`},
		{"last word, away", "POST /server/panda/updateJob", `{"jobId":"1001","state":"failed"}`, func(s *stub) { s.err = away }, 503, `{"StatusCode":10,"errorDialog":"timed out, try again"}`},
		{"last word, away for a moment", "POST /server/panda/updateJob", `{"jobId":"1001","state":"failed"}`, func(s *stub) { s.err, s.fails = away, 1 }, 200, `{"StatusCode":0,"command":"NULL"}`},
		{"a pilot begins", "POST /server/panda/updateWorkerPilotStatus", `{"workerID":"1","harvesterID":"h","status":"started","site":"Q"}`, nil, 200, `{"StatusCode":0}`},
		{"a pilot errs", "POST /server/panda/updateWorkerPilotStatus", `{"workerID":"1","harvesterID":"h","status":"lost"}`, nil, 200, `{"StatusCode":50,"errorDialog":"status is neither started nor finished"}`},
		{"states", "POST /server/panda/getStatus", `{"ids":"1001,7"}`, nil, 200, `{"StatusCode":0,"attemptNr":"1,0","status":"running,notfound"}`},
		{"alive", "GET /server/panda/isAlive", ``, nil, 200, `{"StatusCode":0,"alive":"yes"}`},

		{"a job", "POST /api/v1/pilot/acquire_jobs", `{"site_name":"Q"}`, nil, 200, `{"success":true,"message":"","data":{"StatusCode":0,"jobs":[{"StatusCode":0,` + theJob + `]}}`},
		{"latest", "POST /api/latest/pilot/acquire_jobs", `{"site_name":"Q"}`, nil, 200, `{"success":true,"message":"","data":{"StatusCode":0,"jobs":[{"StatusCode":0,` + theJob + `]}}`},
		{"no job", "POST /api/v1/pilot/acquire_jobs", `{"site_name":"Q","timeout":60}`, func(s *stub) { s.leases = 0 }, 200, `{"success":false,"message":"No jobs in PanDA","data":null}`},
		{"away", "POST /api/v1/pilot/acquire_jobs", `{"site_name":"Q"}`, func(s *stub) { s.err = away }, 200, `{"success":false,"message":"timed out, try again","data":null}`},
		{"unknown argument", "POST /api/v1/pilot/acquire_jobs", `{"site_name":"Q","sitename":1}`, nil, 200, `{"success":false,"message":"Argument error: got an unexpected keyword argument 'sitename'","data":null}`},
		{"missing argument", "POST /api/v1/pilot/acquire_jobs", `{}`, nil, 200, `{"success":false,"message":"Argument error: missing a required argument: 'site_name'","data":null}`},
		{"mistyped argument", "POST /api/v1/pilot/acquire_jobs", `{"site_name":"Q","n_jobs":"many"}`, nil, 200, `{"success":false,"message":"Type error: 'n_jobs' must be of type int, got str.","data":null}`},
		{"half a body", "POST /api/v1/pilot/acquire_jobs", `{"site_name`, nil, 500, `{"success":false,"message":"failed to load JSON: unexpected EOF","data":null}`},
		{"another method", "GET /api/v1/pilot/acquire_jobs", ``, nil, 200, `{"success":false,"message":"expecting POST, received GET","data":null}`},
		{"heartbeat", "POST /api/v1/pilot/update_job", `{"job_id":1001,"job_status":"running","attempt_nr":1}`, nil, 200, `{"success":true,"message":"","data":{"StatusCode":0,"command":null}}`},
		{"reclaimed", "POST /api/v1/pilot/update_job", `{"job_id":1001,"job_status":"running","attempt_nr":1}`, func(s *stub) { s.reply = kill }, 200, `{"success":true,"message":"","data":{"StatusCode":0,"command":"tobekilled"},"command":"tobekilled"}`},
		{"no state", "POST /api/v1/pilot/update_job", `{"job_id":1001,"job_status":"odd"}`, nil, 200, `{"success":false,"message":"Invalid job status: odd","data":{"StatusCode":50}}`},
		{"finished", "POST /api/v1/pilot/update_job", `{"job_id":1001,"job_status":"finished"}`, nil, 200, `{"success":true,"message":"","data":{"StatusCode":0,"command":null}}`},
		{"several", "POST /api/v1/pilot/update_jobs_bulk", `{"job_list":[{"job_id":1001,"job_status":"running"},{"job_id":5,"job_status":"running"},{"job_id":1,"job_status":"running","x":1}]}`, nil, 200,
			`{"success":true,"message":"","data":[{"success":true,"message":"","data":{"StatusCode":0,"command":null}},{"success":true,"message":"","data":{"StatusCode":0,"command":"tobekilled"},"command":"tobekilled"},` +
				`{"success":false,"message":"Argument error: got an unexpected keyword argument 'x'","data":null}]}`},
		{"several, one of which is none", "POST /api/v1/pilot/update_jobs_bulk", `{"job_list":[{"job_id":1001}]}`, nil, 200, `{"success":false,"message":"job_list[0]: expected a job_id and a job_status","data":[]}`},
		{"states", "GET /api/v1/pilot/get_job_status?job_ids=1001&job_ids=7", ``, nil, 200, `{"success":true,"message":"","data":[{"job_id":1001,"status":"running","attempt_number":1},{"job_id":7,"status":"not found","attempt_number":0}]}`},
		{"a pilot errs", "POST /api/v1/pilot/update_worker_status", `{"worker_id":"1","harvester_id":"h","status":"lost"}`, nil, 200, `{"success":false,"message":"Invalid worker state. The worker state has to be in ('started', 'finished')","data":null}`},
		{"a host", "POST /api/v1/pilot/update_worker_node", `{"site":"CERN","panda_queue":"CERN","host_name":"slot1@wn1","cpu_model":"AMD","clock_speed":2.7,"total_memory":3350}`, nil, 200, `{"success":true,"message":"Inserted new worker node.","data":null}`},
		{"its GPU", "POST /api/v1/pilot/update_worker_node_gpu", `{"site":"CERN","host_name":"wn1","vendor":"NVIDIA","model":"T4","vram":15360,"count":1}`, nil, 200, `{"success":true,"message":"Inserted new worker node GPU.","data":null}`},
	} {
		t.Run(c.call+" "+c.name, func(t *testing.T) {
			s := newStub()
			if c.is != nil {
				c.is(s)
			}
			method, path, _ := strings.Cut(c.call, " ")
			w := s.call(t, Config{}, method, path, c.body)
			if w.Code != c.status || w.Body.String() != c.want || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%d %s\nwant %d %s", w.Code, w.Body, c.status, c.want)
			}
		})
	}
}

// What a request for jobs asks of the dispatcher.
func TestPulls(t *testing.T) {
	for _, c := range []struct {
		path, body string
		want       dispatcher.PullRequest
	}{
		{"/server/panda/getJob", `{"siteName":"Q","prodSourceLabel":"managed","mem":24105.56,"diskSpace":16336,"node":"vm","remaining_time":3600,"taskID":"77","prodUserID":"alice","resourceType":"MCORE"}`,
			dispatcher.PullRequest{Queue: "Q", Pilot: "panda/vm", Node: "vm", Max: 1, WaitS: 1, Slot: job.Slot{MemoryMB: 24105, DiskMB: 16336, WalltimeS: 3600},
				Only: job.Only{Labels: []string{"managed", ""}, Task: 77, User: "alice"}}},
		{"/server/panda/getJob", `siteName=Q&prodSourceLabel=unified&mem=0&diskSpace=-5&resourceType=SCORE_HIMEM&worker_id=9&harvester_id=h&node=vm`,
			dispatcher.PullRequest{Queue: "Q", Pilot: "panda/9@vm", Node: "vm", Max: 1, WaitS: 1, Slot: job.Slot{Cores: 1}}},
		{"/server/panda/getJob", `{"siteName":"Q","mem":"many","taskID":"x","odd":{}}`, dispatcher.PullRequest{Queue: "Q", Pilot: "panda/Q", Max: 1, WaitS: 1}},
		{"/api/v1/pilot/acquire_jobs", `{"site_name":"Q","timeout":1,"memory":999999999,"disk_space":999999999,"prod_source_label":"user","node":"n","prod_user_id":null,"task_id":"5","n_jobs":1,"background":false,"resource_type":"SCORE","scheduler_id":"s","worker_id":12345,"via_topic":false,"job_type":"user","remaining_time":100,"target_architecture":{"gpus":[]}}`,
			dispatcher.PullRequest{Queue: "Q", Pilot: "panda/12345@n", Node: "n", Max: 1, WaitS: 0.5, Slot: job.Slot{Cores: 1, MemoryMB: 999999999, DiskMB: 999999999, WalltimeS: 100},
				Only: job.Only{Labels: []string{"user", "panda", ""}, Task: 5}}},
	} {
		s := newStub()
		s.call(t, Config{}, "POST", c.path, c.body)
		if len(s.pulled) != 1 || fmt.Sprintf("%+v", s.pulled[0]) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.body, s.pulled, c.want)
		}
	}
	s := newStub()
	s.leases = 3
	if w := s.call(t, Config{}, "POST", "/server/panda/getJob", `{"siteName":"Q","nJobs":5,"mem":2000}`); strings.Count(w.Body.String(), "PandaID") != 3 || len(s.pulled) != 5 {
		t.Errorf("%d pulls: %s", len(s.pulled), w.Body)
	}
	for i, p := range s.pulled {
		if (p.WaitS > 0) != (i == 0) || p.Max != 1 || p.Slot.MemoryMB != 2000 {
			t.Errorf("pull %d: %+v", i, p)
		}
	}
}

// What the last update of a job comes to.
func TestLastWord(t *testing.T) {
	said := map[string]any{"job_id": 1001, "job_status": "failed", "attempt_nr": 1, "trans_exit_code": 7, "pilot_error_code": 1305, "pilot_error_diag": "Failed to execute payload",
		"exe_error_code": 65, "exe_error_diag": "it broke", "max_rss": 1000000, "cpu_consumption_time": 33, "start_time": "2026-11-21 03:22:22", "job_metrics": "nEvents=10",
		"meta_data": `{"resource":{"executor":{"x":1}}}`, "job_output_report": `{"out.txt":{"guid":"G","fsize":7}}`, "pilot_log": "log", "stdout": ""}
	b, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	s := newStub()
	s.call(t, Config{}, "POST", "/api/v1/pilot/update_job", string(b))
	if len(s.ended.Results) != 1 {
		t.Fatal(s.ended)
	}
	r := s.ended.Results[0]
	if r.Lease != "L" || r.Outcome != dispatcher.Failed || *r.ExitCode != 7 || r.Message != "pilot 1305: Failed to execute payload; payload 65: it broke" ||
		r.Usage != (dispatcher.Usage{CPUSeconds: 33, MemoryMB: 1024}) || r.LogTail != "log" || fmt.Sprint(r.Outputs) != "map[out.txt:map[fsize:7 guid:G]]" {
		t.Errorf("%+v", r)
	}
	got, _ := json.Marshal(r.Report)
	if want := `{"cpuConsumptionTime":33,"exeErrorCode":65,"exeErrorDiag":"it broke","jobMetrics":"nEvents=10","maxRSS":1000000,"metaData":{"resource":{"executor":{"x":1}}},` +
		`"pilotErrorCode":1305,"pilotErrorDiag":"Failed to execute payload","startTime":"2026-11-21T03:22:22Z","state":"failed","transExitCode":7}`; string(got) != want {
		t.Errorf("report %s", got)
	}
	s = newStub()
	s.verdict = dispatcher.LeaseLost
	if s.call(t, Config{}, "POST", "/api/v1/pilot/update_job", string(b)); len(s.late) != 1 || *s.late[0].ExitCode != 7 {
		t.Errorf("a word that came too late: %+v", s.late)
	}
	s = newStub()
	s.held = dispatcher.Holding{JobState: "finished", Attempt: 2}
	if s.call(t, Config{}, "POST", "/api/v1/pilot/update_job", `{"job_id":1001,"job_status":"failed"}`); s.lateOf != (dispatcher.HeldJob{Job: 1001, Attempt: 2}) {
		t.Errorf("without its number an attempt is taken for %+v", s.lateOf)
	}
	s = newStub()
	if s.call(t, Config{}, "POST", "/api/v1/pilot/update_job", `{"job_id":1001,"job_status":"holding","attempt_nr":1}`); s.renewed.Leases[0].State != dispatcher.Draining || s.renewed.Leases[0].TTL != defaultLease {
		t.Errorf("%+v", s.renewed)
	}
}

// onlyAt is a gate that lets pilots pull at one queue.
type onlyAt string

func (o onlyAt) Admits(queue string, _ file.Pilot) bool { return queue == string(o) }

// A pilot that may not pull at a queue gets nothing, and is told so.
func TestMayNotPull(t *testing.T) {
	c := Config{Gate: onlyAt("other")}
	const words = "queue Q is not for a pilot without a credential: the site file lists its pilots"
	for call, want := range map[string]string{
		"/server/panda/getJob siteName":        `{"StatusCode":60,"errorDialog":"` + words + `"}`,
		"/api/v1/pilot/acquire_jobs site_name": `{"success":false,"message":"` + words + `","data":null}`,
	} {
		path, name, _ := strings.Cut(call, " ")
		s := newStub()
		if w := s.call(t, c, "POST", path, `{"`+name+`":"Q"}`); w.Code != 200 || w.Body.String() != want || len(s.pulled) != 0 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// Payload scripts come out of one folder, as they are, and nothing else does.
func TestTransforms(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "trf")
	for name, text := range map[string]string{"trf/runGen-00": "#!/bin/sh\n", "trf/.hidden": "no", "secret": "no", "trf/sub/x": "no"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(folder, "way-out")); err != nil {
		t.Fatal(err)
	}
	c := Config{Transforms: folder, Callers: access.Entrance{Book: access.NewBook(nil)}} // lets nobody in; these are for everybody
	s := newStub()
	for path, want := range map[string]string{"/trf/runGen-00": "#!/bin/sh\n", "/trf/runShell": string(runShell), "/trf/.hidden": "", "/trf/..%2fsecret": "", "/trf/../secret": "",
		"/trf/sub": "", "/trf/sub%2fx": "", "/trf/way-out": "", "/trf/": "", "/trf/none": "", "/trf/%00": "", "/trf/..": ""} {
		w := s.call(t, c, "GET", path, "")
		if ok := w.Code == 200; ok != (want != "") || ok && w.Body.String() != want {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	if w := s.call(t, c, "POST", "/api/v1/pilot/acquire_jobs", "{}"); w.Code != 403 {
		t.Errorf("a call passes the guard: %d", w.Code)
	}
	if w := s.call(t, Config{}, "GET", "/trf/runShell", ""); w.Code != 200 || !bytes.Equal(w.Body.Bytes(), runShell) {
		t.Errorf("without a folder: %d", w.Code)
	}
	if err := os.WriteFile(filepath.Join(folder, "runShell"), []byte("#!/bin/sh\n# ours"), 0o644); err != nil {
		t.Fatal(err)
	}
	if w := s.call(t, c, "GET", "/trf/runShell", ""); !strings.Contains(w.Body.String(), "ours") {
		t.Errorf("the operator's runShell is not taken")
	}
}

// PandaIDs count up: who may not pull at a queue can neither keep nor end what runs there.
func TestUpdatesOfOthersQueues(t *testing.T) {
	c := Config{Gate: onlyAt("ours")}
	const words = "queue theirs is not for a pilot without a credential: the site file lists its pilots"
	for _, state := range []string{"running", "failed"} {
		for queue, refused := range map[string]bool{"theirs": true, "ours": false} {
			s := newStub()
			s.held.Queue = queue
			before := s.call(t, c, "POST", "/server/panda/updateJob", `{"jobId":1001,"attemptNr":1,"state":"`+state+`"}`).Body.String()
			now := s.call(t, c, "POST", "/api/v1/pilot/update_job", `{"job_id":1001,"attempt_nr":1,"job_status":"`+state+`"}`).Body.String()
			if said := strings.Contains(before, `{"StatusCode":60,"errorDialog":"`+words+`"}`); said != refused {
				t.Errorf("%s at %s: %s", state, queue, before)
			}
			if said := strings.Contains(now, `{"success":false,"message":"`+words+`","data":null}`); said != refused {
				t.Errorf("%s at %s: %s", state, queue, now)
			}
			if heard := len(s.ended.Results)+len(s.renewed.Leases) > 0; heard == refused {
				t.Errorf("%s at %s: heard %v", state, queue, heard)
			}
		}
	}
}
