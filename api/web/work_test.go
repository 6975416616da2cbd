package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/holdings"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/dispatcher/wanted"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/shares"
)

func queueNamed(id int, name string, slots int, held int64) dispatcher.QueueStanding {
	return dispatcher.QueueStanding{Queue: shares.Queue{ID: shares.QueueID(id), Name: name, Pool: "default", State: shares.Online, Slots: &slots, CorePowerMilli: 1000,
		Labels: map[string]string{"os": "el9"}}, HeldCores: held, HeldJobs: held, Ready: 12345, Pilots: 7, Waiting: 2}
}

// filled is a stage with something of everything.
func filled(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	black := queueNamed(2, "B/1 <x>", 10, 3)
	black.BlackHole = &explain.BlackHoleStanding{Since: at, Ends: 30, Fails: 29, Good: 1}
	black.State, black.Pool = shares.Drain, "gpu"
	cern := queueNamed(1, "CERN", 8, 6)
	cern.Wanted = &wanted.Pilots{Wanted: 1012, Alive: 7, Reason: "1012 pilots: what runs needs 7 and 8040 ready or coming jobs need 1005 more."}
	s.world.queues = []dispatcher.QueueStanding{cern, black, {Queue: shares.Queue{ID: 3, Name: "open", Pool: "default", State: shares.Offline}}}
	s.world.lately = []dispatcher.QueueLately{{Queue: "CERN", Held: []dispatcher.QueueHeld{{Share: "Prod/MC", Cores: 4, Jobs: 2}, {Share: "User", Cores: 1, Jobs: 1}},
		Pulls: 40, MeanS: 0.25, MostS: 3.5, Ended: 50, Failed: 5, Failure: 0.1, Since: at}}
	second := -0.5
	s.world.decided = []dispatcher.Decided{
		{N: 9, At: at, Job: 77, Attempt: 1, Task: 5, Queue: "CERN", Pilot: "p1", Share: "Prod/MC", Deficit: 1.25, RunnerUp: "User", Second: &second, Candidates: 2,
			Unfit: 1, Skipped: []dispatcher.Skipped{{Share: "Test", Reason: "unfit"}}, Rule: replay.Rule{Weight: 1}},
		{N: 8, At: at, Job: 76, Attempt: 1, Task: 5, Queue: "CERN", Pilot: "p1", Share: "User", Candidates: 1, Rule: replay.Rule{Weight: 1}},
	}
	eta := at.Add(2 * time.Hour)
	ended := at.Add(-time.Minute)
	s.tasks.task = view.Task{ID: 5, Name: "reco <1>", User: "ann", Share: "Prod/MC", State: "running", Priority: 900, MaxAttempts: 3,
		Jobs: view.JobCounts{Total: 1000, Ready: 500, Leased: 20, Finished: 399, Failed: 1}, Times: view.Times{CreatedAt: at.Add(-time.Hour), StartedAt: &ended},
		Deadline: &view.DeadlineState{At: at.Add(time.Hour), ETA: &eta, LateRisk: "high", PerHour: 200}, Detail: view.Detail{Scouts: 10,
			Scouted: &view.Scouted{Finished: 10, MemoryMB: 1800}, Spec: &spec.Spec{Command: []string{"run", "<a>"}, Env: map[string]string{"SECRET": "hush"}}},
		Needs: []view.NeedState{{Task: 4, Name: "simul", State: "done", When: "done", Met: "met"}}, NeededBy: []int64{6}}
	s.tasks.listed = view.Listed{Tasks: []view.Task{s.tasks.task, {ID: 4, Name: "simul", User: "bob", State: "paused", Times: view.Times{CreatedAt: at}, Reason: "by hand", CannotRun: "no queue can run it; cores: 64"}}, Next: "4.4", Among: 20000}
	s.world.jobs = []dispatcher.JobRow{{ID: 77, Task: 5, Share: "Prod/MC", State: "leased", Attempt: 1, MaxAttempts: 3, Index: 12, CreatedAt: at, Queue: "CERN", Pilot: "p1"},
		{ID: 78, Task: 5, Share: "Prod/MC", State: "ready", Attempt: 1, MaxAttempts: 3, Index: 13, CreatedAt: at, Reason: "no queue can run it"}}
	s.world.next = 78
	s.world.kinds = []dispatcher.KindQueues{{Share: "Prod/MC", Needs: job.Requirements{Cores: 8, MemoryMB: 16000}, Jobs: 520, ToCome: 80, Queues: []dispatcher.QueueFit{
		{Queue: "CERN", Runs: true, Pilots: 7}, {Queue: "B/1 <x>", Reason: "needs 8 cores, the queue's jobs have 4"}, {Queue: "open", Reason: "queue is offline"}}}}
	exit := 3
	s.world.job = dispatcher.JobRow{ID: 77, Task: 5, Share: "Prod/MC", State: "ready", Attempt: 2, MaxAttempts: 3, Index: 12, CreatedAt: at.Add(-time.Hour), Inputs: []string{"a<b"},
		Attempts: []dispatcher.Attempt{{Attempt: 1, Queue: "CERN", Pilot: "p1", Node: "n1", State: "failed", ClaimedAt: at.Add(-2 * time.Minute), StartedAt: &ended, EndedAt: &at,
			ExitCode: &exit, Message: "no <space>", Usage: dispatcher.Usage{CPUSeconds: 1.5, MemoryMB: 900}, Outputs: map[string]any{"file": "x.root", "n": 3.0}}}}
	s.world.log = "line 1\n<b>line 2</b>\n"
	atTarget := 90.0
	s.world.explain = dispatcher.Explanation{Job: 77, Task: 5, Share: "Prod/MC", State: "ready", At: at, Version: 4, Summary: "It waits for its turn: User is further below its target.",
		Gate: explain.GateShare, Position: &explain.Position{Before: 4321, Ready: 9876}, ETA: &explain.ETA{Known: true, Seconds: 75.2, How: "4322 jobs at 57.5 a second"},
		Pools: []explain.PathStanding{{Pool: "default", Capacity: 100, Round: 99.5, Held: 98, AtTarget: &atTarget, Levels: []explain.LevelStanding{
			{Share: "Prod", Weight: 70, Product: 0.7, Target: 66.67, Held: 70.25, Deficit: -3.58, Ready: 9876, Rank: 2, Of: 3}}}},
		Queues: []dispatcher.QueueGate{{Queue: "CERN", Gate: explain.GateShare, Reason: "User has deficit 4.5, Prod -3.58", Pilots: 7}}}
	s.world.resources = []dispatcher.ResourceStanding{{Name: "table:orders", Capacity: 10, FileCapacity: 12, Held: 7, Wanted: 40, Free: 3, Kept: 1, SplitBy: "user", Holders: 2, Waiting: 1,
		External: &holdings.ResourceExternal{Total: 12, Used: 8, At: at}, IDs: []dispatcher.ResourceID{
			{Allowance: resource.Allowance{ID: "ann", Weight: 1, Held: 2, Wanted: 9, Allowance: 5, Waited: 3}},
			{Allowance: resource.Allowance{ID: "bob", Weight: 1, Held: 5, Wanted: 31, Allowance: 5}, Why: resource.OverItsPart, KeptFor: []string{"ann"}}}}}
	s.world.claims = []dispatcher.ClaimStanding{{ID: 31, Task: 5, Key: "0/gpu", State: "bound", Template: dispatcher.ClaimTakes{Name: "gpu", Node: true, Devices: map[string]int{"a100": 2},
		Resources: map[string]int64{"lic": 1}}, Queue: "CERN", Node: "n1", BoundAt: &at, Sharers: 1, CreatedAt: at, Waiting: 1,
		Holders: []explain.ClaimHolder{{Job: 77, Task: 5, Name: "0/a", State: "running", Pilot: "p1", Since: at}}, Waiters: []explain.ClaimWaiter{{Job: 78, Task: 5, Name: "0/b", State: "ready", Since: at}}}}
	return s
}

// A task that nothing can run says so on its page.
func TestTaskThatCannotRun(t *testing.T) {
	s := filled(t)
	s.tasks.task.CannotRun = "no queue can run it; cores: needs 64"
	if main := s.get("/tasks/5").byID("main"); !strings.Contains(main.words(), "running no queue can run it; cores: needs 64") {
		t.Error(main.words())
	}
}

// Every view is good HTML, and has what there is to see in it.
func TestWorkViews(t *testing.T) {
	s := filled(t)
	for path, want := range map[string][]string{
		"/queues":                  {"CERN default online 6 8 Prod/MC 4, User 1, others 1 of 8 6 12 345 7 2 250 ms 10.0 %", "drain black hole", "open default offline 0 ∞ nothing held"},
		"/queues?state=black_hole": {"1 of 3 queues", "B/1 <x>"},
		"/queues/CERN": {"Queue CERN", "250 ms on the average, 3.5 s at the most, of 40 pulls", "10.0 %, 5 of 50 attempts", "Prod/MC 4 50.0 % 2", "os=el9", "Take offline",
			"Pilots wanted 1 012, of which 7 are alive. 1012 pilots: what runs needs 7 and 8040 ready or coming jobs need 1005 more."},
		"/queues/B%2F1%20%3Cx%3E":      {"Black hole", "29 of 30 attempts"},
		"/tasks":                       {"5 reco <1> running due 2026-11-22 11:00:00 UTC, likely over 2026-11-22 12:00:00 UTC, risk high 40.0 % 1 000 500 20 1 900 ann Prod/MC", "by hand no queue can run it; cores: 64", "Older ones", "newest 20 000"},
		"/tasks/5":                     {"Task 5: reco <1>", "40.0 %", "200 jobs end an hour", "10 first: 10 finished, 1 800 MB", "4 simul done, is done (met)", "8 cores, 16 000 MB of memory", "520 jobs now, 80 to come. One queue runs them, with 7 pilots", "1 do not: queue is offline open", "77 leased 12 1 of 3 CERN p1", "no queue can run it", "Pause", "Kill"},
		"/tasks/5?state=failed":        {"Jobs, failed"},
		"/jobs/77":                     {"It waits for its turn: User is further below its target.", "4 321 ready jobs of its share come before it, of 9 876", "in 1m16s 4322 jobs at 57.5 a second", "attempt 1 failed, exit code 3", "<b>line 2</b>", "x.root", "Prod 70 0.7000 66.67 70.25 −3.58 9 876 2 of 3", "At its target in about 1 min 30 s", "CERN share 7 User has deficit 4.5, Prod -3.58", "a<b", "no <space>"},
		"/resources":                   {"table:orders 7 10 file 12 3 1 40 2 1 – user 8 of 12", "0/gpu", "1 lic, a node, 2 × device a100"},
		"/resources/table:orders":      {"ann 1 2 0 9 5 3 –", "bob 1 5 0 31 5 0 allowance: kept for ann"},
		"/claims?task=5&state=bound":   {"31 0/gpu bound 5 CERN n1 1 1 lic, a node, 2 × device a100"},
		"/claims/31":                   {"Claim 31: 0/gpu", "at CERN, node n1", "77 0/a 5 running p1", "78 0/b 5 ready"},
		"/decisions":                   {"10:00:00.000 77 of 5 Prod/MC 1.25 User −0.5 2 1: Test (unfit) CERN", "76 of 5 User 0 nobody – 1 – CERN"},
		"/decisions?task=5&queue=CERN": {"All"},
	} {
		page := s.get(path)
		main := page.byID("main")
		if main == nil {
			t.Fatalf("%s: no main", path)
		}
		for _, text := range want {
			if !strings.Contains(main.words(), text) {
				t.Errorf("%s does not say %q:\n%s", path, text, main.words())
			}
		}
	}
	if text := s.get("/queues/open").byID("main").words(); strings.Contains(text, "Pilots wanted") {
		t.Errorf("a queue without a provision wants pilots:\n%s", text)
	}
	if text := s.get("/tasks/5").text; strings.Contains(text, "hush") {
		t.Error("the page shows the environment of a task, which may have secrets")
	}
}

// The same is there as JSON, with its time.
func TestWorkViewsAsJSON(t *testing.T) {
	s := filled(t)
	for path, key := range map[string]string{"/queues": "queues", "/queues/CERN": "lately", "/tasks": "items", "/tasks/5": "task", "/jobs/77": "explain", "/resources": "resources",
		"/resources/table:orders": "resources", "/claims": "items", "/claims/31": "claim", "/decisions": "items"} {
		w := s.call(http.MethodGet, path+"?format=json", nil, "*/*")
		var got map[string]json.RawMessage
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || len(got["at"]) < 10 || len(got[key]) < 10 {
			t.Errorf("%s: %d %v\n%s", path, w.Code, err, w.Body)
		}
		again := s.call(http.MethodGet, path, nil, "application/json")
		if again.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s", path, again.Header())
		}
	}
	var job JobPage
	if err := json.Unmarshal(s.call(http.MethodGet, "/jobs/77?format=json", nil, "").Body.Bytes(), &job); err != nil {
		t.Fatal(err)
	}
	if e := s.world.explain; fmt.Sprint(job.Explain.Position, job.Explain.ETA, job.Explain.Pools[0].Levels) != fmt.Sprint(e.Position, e.ETA, e.Pools[0].Levels) {
		t.Errorf("%+v", job.Explain)
	}
}

// What links and forms ask for arrives; what is wrong is said with its place.
func TestWorkFilters(t *testing.T) {
	s := filled(t)
	s.get("/tasks?user=ann&label=l&share=Prod&name=re*&state=failed&sort=priority&after=9.5")
	if want := (view.Listing{User: "ann", Label: "l", Share: "Prod", Name: "re*", State: "failed", Sort: "priority", After: "9.5", Limit: tasksOfPage}); s.tasks.listing != want {
		t.Errorf("%+v", s.tasks.listing)
	}
	s.get("/tasks?user=&state=")
	if want := (view.Listing{Live: true, Limit: tasksOfPage}); s.tasks.listing != want {
		t.Errorf("%+v", s.tasks.listing)
	}
	s.get("/tasks/5?state=failed&after=70")
	if want := (dispatcher.JobFilter{Task: 5, State: "failed", After: 70, Limit: jobsOfPage}); s.world.jobFilter != want {
		t.Errorf("%+v", s.world.jobFilter)
	}
	s.get("/decisions?share=Prod&queue=CERN&task=5&job=77")
	if want := (dispatcher.DecidedFilter{Share: "Prod", Queue: "CERN", Task: 5, Job: 77, Limit: decisionsOfPage}); s.world.filter != want {
		t.Errorf("%+v", s.world.filter)
	}
	for path, says := range map[string]string{
		"/tasks?state=odd": "query.state", "/tasks?sort=size": "query.sort", "/tasks?users=ann": "query.users", "/tasks/5?after=x": "query.after",
		"/queues?state=x": "query.state", "/queues?page=0": "query.page", "/decisions?task=x": "query.task", "/jobs/77?attempt=0": "query.attempt", "/claims?state=x": "query.state",
	} {
		w := s.call(http.MethodGet, path, nil, "text/html")
		if page := checkPage(t, w.Body.String()); w.Code != http.StatusUnprocessableEntity || !strings.Contains(page.text, says) {
			t.Errorf("%s: %d %s", path, w.Code, page.byID("main").words())
		}
	}
	for _, path := range []string{"/tasks/x", "/jobs/0", "/queues/none", "/claims/-1"} {
		if w := s.call(http.MethodGet, path, nil, "text/html"); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// A thousand queues: pages of them, in any order.
func TestManyQueues(t *testing.T) {
	s := newStage(t)
	for i := range 1000 {
		s.world.queues = append(s.world.queues, queueNamed(i+1, fmt.Sprintf("Q%04d", i), 100, int64(i%100)))
	}
	first := s.get("/queues")
	if rows := first.all("tr"); len(rows) != queuesOfPage+1 || !strings.Contains(first.text, "Page 1 of 10") {
		t.Errorf("%d rows", len(rows))
	}
	if last := s.get("/queues?page=10"); !strings.Contains(last.text, "Q0999") || !strings.Contains(last.text, "Page 10 of 10") {
		t.Errorf("the last page: %.300s", last.words())
	}
	if w := s.call(http.MethodGet, "/queues?page=11", nil, "text/html"); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "from 1 to 10") {
		t.Errorf("a page that there is not: %d %s", w.Code, w.Body)
	}
	if rows := s.get("/queues?sort=held&q=q09").all("tr"); len(rows) != 101 || !strings.Contains(rows[1].words(), "Q0999") {
		t.Errorf("%d rows, %s", len(rows), rows[1].words())
	}
}
