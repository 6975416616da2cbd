package panda

import (
	"fmt"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
)

func TestJobCalls(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	task := w.submit(3, 1, "true")
	pull := func() dispatcher.Lease {
		t.Helper()
		reply, err := w.dispatcher.Pull(t.Context(), dispatcher.PullRequest{Queue: "LOCAL_TEST", Pilot: "p", Node: "n1", Slot: job.Slot{Cores: 1}, WaitS: 10})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Leases[0]
	}
	done, runs := pull(), pull()
	w.until("the third is ready", func() bool { n := w.dispatcher.Counts(); return len(n) == 2 })
	if _, err := w.dispatcher.Renew(t.Context(), dispatcher.RenewRequest{Pilot: "p", Leases: []dispatcher.Renewal{{Lease: runs.Lease, State: dispatcher.Running}, {Lease: done.Lease, State: dispatcher.Running}}}); err != nil {
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
		{send, "/job/kill", map[string]any{"job_ids": []string{"x"}}, `{"success":false,"message":"Type error: All elements in 'job_ids' must be int.","data":null}`},
	})
	kept, err := w.dispatcher.Renew(t.Context(), dispatcher.RenewRequest{Pilot: "p", Leases: []dispatcher.Renewal{{Lease: runs.Lease}}})
	if err != nil || len(kept.Cancel) != 1 {
		t.Errorf("%+v, %v; want the kill to reach the pilot", kept, err)
	}
	for path, method := range map[string]string{"/job/get_description": get, "/job/get_description_incl_archive": send} {
		var got []map[string]any
		c.data(method, path, ids(done.Job, runs.Job), &got)
		for _, name := range jobAttributes {
			if _, there := got[0][name]; !there {
				t.Errorf("%s: no %s", path, name)
			}
		}
		if files, _ := got[0]["Files"].([]any); len(files) != 1 || files[0].(map[string]any)["lfn"] != "out.txt" || files[0].(map[string]any)["fsize"] != 3.0 {
			t.Errorf("%s: files %v", path, got[0]["Files"])
		}
		for name, want := range map[string]any{"PandaID": float64(done.Job), "jediTaskID": float64(task.ID), "jobStatus": "finished", "computingSite": "LOCAL_TEST",
			"gshare": "Prod", "prodUserName": "alice", "prodSourceLabel": "managed", "processingType": "simul", "jobMetrics": "nEvents=10",
			"pilotErrorCode": 0.0, "transExitCode": "0", "maxRSS": 488281.0, "modificationHost": "n1", "attemptNr": 1.0,
			"coreCount": 1.0, "cpuConsumptionTime": 12.0, "jobName": fmt.Sprintf("%s.%d", task.Name, done.Job), "exeErrorCode": 0.0, "cloud": nil,
			"metadata": nil, "metaData": nil} {
			if got[0][name] != want {
				t.Errorf("%s: %s is %v, want %v", path, name, got[0][name], want)
			}
		}
		if got[1]["jobStatus"] != "running" || got[1]["endTime"] != nil || got[0]["endTime"] == nil {
			t.Errorf("%s: %v", path, got)
		}
	}
	w.dispatcher.Settle()
	var all, bad []map[string]any
	c.data(get, "/task/get_job_descriptions", map[string]any{"task_id": task.ID}, &all)
	c.data(get, "/task/get_job_descriptions", map[string]any{"task_id": task.ID, "unsuccessful_only": "True"}, &bad)
	if len(all) != 3 || len(bad) != 0 || all[0]["jobDuration"] == nil || all[0]["extendedProdSourceLabel"] != "managed_normal" || all[1]["jobDuration"] != nil {
		t.Errorf("%v, %v", all, bad)
	}
	third := int64(all[2]["PandaID"].(float64))
	c.check([]answered{
		{send, "/job/set_command", map[string]any{"job_id": third, "command": "softkill"}, `{"success":false,"message":"set_command: \"softkill\" is not served here, only tobekilled","data":null}`},
		{send, "/job/set_command", map[string]any{"job_id": third, "command": "tobekilled"}, `{"success":true,"message":"command=tobekilled is registered","data":null}`},
	})
	w.dispatcher.Settle()
	c.check([]answered{
		{send, "/job/set_command", map[string]any{"job_id": third, "command": "tobekilled"}, fmt.Sprintf(`{"success":false,"message":"job %d is over, or there is no such job","data":null}`, third)},
		{send, "/task/kill_unfinished_jobs", map[string]any{"task_id": task.ID, "code": 9}, `{"success":true,"message":"","data":[true]}`},
		{send, "/task/kill_unfinished_jobs", map[string]any{"task_id": -1}, `{"success":true,"message":"","data":[]}`},
		{get, "/task/get_job_ids", map[string]any{"task_id": task.ID}, fmt.Sprintf(`{"success":true,"message":"","data":[%d,%d,%d]}`, done.Job, runs.Job, third)},
	})
}
