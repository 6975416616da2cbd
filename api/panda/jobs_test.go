package panda

import (
	"fmt"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
)

func TestJobCalls(t *testing.T) {
	w := newWorld(t, dispatcher.Timing{})
	c := w.caller()
	task := w.submit(3, 1, "true")
	pull := func() dispatcher.Lease {
		t.Helper()
		reply, err := w.dispatcher.Pull(t.Context(), dispatcher.PullRequest{Queue: "LOCAL_TEST", Pilot: "p", Node: "n1", Slot: dispatcher.Slot{Cores: 1}, WaitS: 10})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Leases[0]
	}
	done, runs := pull(), pull()
	w.until("the third is ready", func() bool { n := w.dispatcher.Counts(); return len(n) == 2 })
	if _, err := w.dispatcher.Renew(t.Context(), dispatcher.RenewRequest{Pilot: "p", Leases: []dispatcher.Renewal{{Lease: runs.Lease, State: dispatcher.Running}}}); err != nil {
		t.Fatal(err)
	}
	code := 0
	result := dispatcher.Result{Lease: done.Lease, Outcome: dispatcher.Finished, ExitCode: &code, Usage: dispatcher.Usage{CPUSeconds: 12, MemoryMB: 500},
		Outputs: map[string]any{"out.txt": map[string]any{"fsize": 3}}, Report: map[string]any{"jobMetrics": "nEvents=10", "pilotErrorCode": 0, "metaData": map[string]any{"files": 1}}}
	if _, err := w.dispatcher.Finish(t.Context(), dispatcher.FinishRequest{Pilot: "p", Results: []dispatcher.Result{result}}); err != nil {
		t.Fatal(err)
	}
	ids := func(of ...int64) map[string]any { return map[string]any{"job_ids": of} }
	c.check([]answered{
		{get, "/job/get_status", ids(done.Job, runs.Job, 100000), `{"success":true,"message":"","data":[{"command":null,"status":"finished"},{"command":null,"status":"running"},{"command":null,"status":null}]}`},
		{get, "/job/get_status", ids(-1), `{"success":true,"message":"","data":[{"command":null,"status":null}]}`},
		{get, "/job/get_status", nil, `{"success":false,"message":"Argument error: missing a required argument: 'job_ids'","data":null}`},
		{get, "/job/get_status", map[string]any{"job_ids": "x"}, `{"success":false,"message":"Type error: 'job_ids' must be of type list, got str.","data":null}`},
		{get, "/job/get_description", ids(-1), `{"success":true,"message":"","data":[null]}`},
		{get, "/job/get_metadata_for_analysis_jobs", map[string]any{"task_id": -1}, `{"success":true,"message":"No metadata found","data":{}}`},
		{get, "/job/get_metadata_for_analysis_jobs", map[string]any{"task_id": task.ID}, fmt.Sprintf(`{"success":true,"message":"","data":{"%d":{"files":1}}}`, done.Job)},
		{send, "/job/reassign", ids(runs.Job), nothing},
		{send, "/job/kill", map[string]any{"job_ids": []int64{done.Job, runs.Job, -1}, "code": 9, "use_email_as_id": false, "kill_options": []string{}}, `{"success":true,"message":"","data":[false,true,false]}`},
		{send, "/job/kill", map[string]any{"job_ids": []string{"x"}}, `{"success":false,"message":"Type error: 'job_ids' must be of type list, got list.","data":null}`},
	})
	kept, err := w.dispatcher.Renew(t.Context(), dispatcher.RenewRequest{Pilot: "p", Leases: []dispatcher.Renewal{{Lease: runs.Lease}}})
	if err != nil || len(kept.Cancel) != 1 {
		t.Errorf("%+v, %v; want the kill to reach the pilot", kept, err)
	}
	for _, path := range []string{"/job/get_description", "/job/get_description_incl_archive"} {
		var got []map[string]any
		c.data(get, path, ids(done.Job, runs.Job), &got)
		for name, want := range map[string]any{"PandaID": float64(done.Job), "jediTaskID": float64(task.ID), "jobStatus": "finished", "computingSite": "LOCAL_TEST",
			"gshare": "Prod", "prodUserName": "alice", "prodSourceLabel": "managed", "processingType": "simul", "jobMetrics": "nEvents=10",
			"pilotErrorCode": 0.0, "transExitCode": 0.0, "maxRSS": 500000.0, "modificationHost": "n1", "attemptNr": 1.0} {
			if got[0][name] != want {
				t.Errorf("%s: %s is %v, want %v", path, name, got[0][name], want)
			}
		}
		if got[1]["jobStatus"] != "running" || got[1]["endTime"] != nil || got[0]["endTime"] == nil {
			t.Errorf("%s: %v", path, got)
		}
	}
}
