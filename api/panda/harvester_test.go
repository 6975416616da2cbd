package panda

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
)

// aWorker is what Harvester says of a worker, with changes.
func aWorker(changes map[string]any) map[string]any {
	w := map[string]any{"workerID": 1, "batchID": 1, "queueName": "queue1", "status": "running", "computingSite": "site1", "nCore": 1, "nodeID": nil,
		"submitTime": "02-NOV-24 00:02:18", "startTime": "02-NOV-24 00:02:18", "endTime": nil, "jobType": "managed", "resourceType": "SCORE",
		"nativeExitCode": nil, "nativeStatus": nil, "diagMessage": "a\x00b", "nJobs": 1, "computingElement": "ce1", "syncLevel": 0,
		"submissionHost": "submissionhost1", "harvesterHost": "harvesterhost1", "errorCode": nil, "minRamCount": 2000}
	for name, v := range changes {
		w[name] = v
	}
	return w
}

func TestHarvester(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	h := func(more map[string]any) map[string]any {
		args := map[string]any{"harvester_id": "test_h"}
		for name, v := range more {
			args[name] = v
		}
		return args
	}
	statistics := `{"user": {"SCORE": {"running": 1, "submitted": 1}, "Undefined": {"ready": 0}}, "managed": {"MCORE": {"running": 3}}}`
	c.check([]answered{
		{send, "/harvester/heartbeat", h(map[string]any{"data": []any{}}), nothing},
		{send, "/harvester/heartbeat", h(map[string]any{"data": map[string]any{"sw_version": "0.6", "startTime": "datetime/2026-01-02 03:04:05.5"}}), nothing},
		{send, "/harvester/heartbeat", h(nil), nothing},
		{send, "/harvester/heartbeat", h(map[string]any{"data": "x"}), `{"success":false,"message":"Type error: 'data' must be of type dict, got str.","data":null}`},
		{send, "/harvester/heartbeat", nil, `{"success":false,"message":"Argument error: missing a required argument: 'harvester_id'","data":null}`},
		{get, "/harvester/heartbeat", nil, `{"success":false,"message":"expecting POST, received GET","data":null}`},
		{send, "/harvester/update_service_metrics", h(map[string]any{"metrics": []any{[]any{"2026-01-02 03:04:05.678901", "host.cern.ch", `{"rss_mib": 2737.36}`}}}),
			`{"success":true,"message":"","data":[true]}`},
		{send, "/harvester/update_service_metrics", h(map[string]any{"metrics": []any{[]any{"soon", "host", `{}`}}}),
			`{"success":false,"message":"metrics[0]: Type error: the time must be like 2024-11-02 00:02:18, got soon","data":null}`},
		{send, "/harvester/add_dialogs", h(map[string]any{"dialogs": []any{map[string]any{"diagID": 1, "moduleName": "m", "identifier": "i",
			"creationTime": "2026-01-02 03:04:05.678901", "messageLevel": "INFO", "diagMessage": "hello"}}}), nothing},
		{send, "/harvester/add_dialogs", h(map[string]any{"dialogs": []any{1}}), `{"success":false,"message":"dialogs[0]: Type error: it must be of type dict","data":null}`},
		{get, "/harvester/get_current_worker_id", h(nil), `{"success":true,"message":"","data":0}`},
		{send, "/harvester/update_workers", h(map[string]any{"workers": []any{aWorker(nil), aWorker(map[string]any{"workerID": 2, "status": "submitted"})}}),
			`{"success":true,"message":"","data":[true,true]}`},
		{send, "/harvester/update_workers", h(map[string]any{"workers": []any{map[string]any{"status": "running"}}}),
			`{"success":false,"message":"workers[0]: Argument error: missing a required argument: 'workerID'","data":null}`},
		{send, "/harvester/update_workers", h(map[string]any{"workers": []any{aWorker(map[string]any{"endTime": "yesterday"})}}),
			`{"success":false,"message":"workers[0]: Type error: 'endTime': expected a time such as 02-NOV-24 00:02:18 or 2024-11-02 00:02:18, got \"yesterday\"","data":null}`},
		{get, "/harvester/get_current_worker_id", h(nil), `{"success":true,"message":"","data":2}`},
		{get, "/harvester/get_worker_statistics", nil, `{"success":true,"message":"","data":{"site1":{"test_h":{"managed":{"SCORE":{"running":1,"submitted":1}}}}}}`},
		{send, "/harvester/report_worker_statistics", h(map[string]any{"panda_queue": "site1", "statistics": statistics}), `{"success":true,"message":"OK","data":null}`},
		{send, "/harvester/report_worker_statistics", h(map[string]any{"panda_queue": "site1", "statistics": `{"user": 5}`}),
			`{"success":false,"message":"Type error: 'statistics': user must be of type dict, got int.","data":null}`},
		{get, "/harvester/get_worker_statistics", nil, `{"success":true,"message":"","data":{"site1":{"test_h":{"managed":{"MCORE":{"running":3}},` +
			`"user":{"SCORE":{"running":1,"submitted":1},"Undefined":{"ready":0}}}}}}`},
		{send, "/harvester/acquire_commands", h(map[string]any{"n_commands": 1}), `{"success":true,"message":"","data":[]}`},
		{send, "/harvester/acquire_commands", h(map[string]any{"n_commands": "many"}), `{"success":false,"message":"Type error: 'n_commands' must be of type int, got str.","data":null}`},
		{send, "/harvester/acknowledge_commands", map[string]any{"command_ids": []int{1}}, nothing},
		{send, "/harvester/acknowledge_commands", map[string]any{"command_ids": []int{}}, nothing},
		{send, "/harvester/add_sweep_command", map[string]any{"panda_queue": "site1", "status_list": []string{"submitted"}, "ce_list": []string{"ce1"},
			"submission_host_list": []string{}}, nothing},
		{send, "/harvester/add_sweep_command", map[string]any{"panda_queue": "nowhere", "status_list": []string{}, "ce_list": []string{}, "submission_host_list": []string{}},
			`{"success":false,"message":"no Harvester has workers at nowhere","data":null}`},
		{send, "/harvester/add_sweep_command", map[string]any{"panda_queue": "site1", "nobody": 1}, `{"success":false,"message":"Argument error: got an unexpected keyword argument 'nobody'","data":null}`},
	})
	c.check([]answered{
		{send, "/pilot/update_worker_status", h(map[string]any{"worker_id": "2", "status": "started", "node_id": "n"}), nothing},
		{send, "/pilot/update_worker_status", h(map[string]any{"worker_id": "999", "status": "finished"}), nothing},
		{send, "/pilot/update_worker_status", h(map[string]any{"worker_id": "none", "status": "finished"}), nothing},
	})
	old := strings.TrimSuffix(c.url, "/api/v1") + "/server/panda/updateWorkerPilotStatus"
	if _, a := post(t, old, "application/json", []byte(`{"workerID": "1", "harvesterID": "test_h", "status": "finished", "site": "site1"}`)); a["StatusCode"] != 0.0 {
		t.Errorf("the old way: %v", a)
	}
	var said string
	if err := w.db.QueryRow(t.Context(), "SELECT string_agg(pilot_status, ' ' ORDER BY worker_id) FROM harvester_workers").Scan(&said); err != nil || said != "finished started" {
		t.Errorf("pilots said %q, %v", said, err)
	}
	var commands []map[string]any
	c.data(send, "/harvester/acquire_commands", h(map[string]any{"n_commands": 10}), &commands)
	if len(commands) != 1 {
		t.Fatalf("%v, want one command", commands)
	}
	id, at := commands[0]["command_id"].(float64), commands[0]["creation_date"].(string)
	if _, err := time.Parse("2006-01-02T15:04:05", at); err != nil {
		t.Error(err)
	}
	want := map[string]any{"command_id": id, "creation_date": at, "command": "KILL_WORKERS", "ack_requested": 0.0, "params": map[string]any{
		"computingSite": []any{"site1"}, "status": []any{"submitted"}, "computingElement": []any{"ce1"}, "submissionHost": []any{}}}
	if diff := cmp.Diff(want, commands[0]); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
	c.check([]answered{{send, "/harvester/acquire_commands", h(map[string]any{"n_commands": 10}), `{"success":true,"message":"","data":[]}`},
		{send, "/harvester/acknowledge_commands", map[string]any{"command_ids": []int64{int64(id)}}, nothing}})
	var host, user, version, fields string
	err := w.db.QueryRow(t.Context(), `SELECT h.host, h.user_name, h.metadata->>'sw_version', w.fields::text FROM harvesters h
		JOIN harvester_workers w ON w.harvester_id = h.id AND w.worker_id = 1`).Scan(&host, &user, &version, &fields)
	if err != nil || host != "127.0.0.1" || user != "alice" || version != "0.6" || !strings.Contains(fields, `"diagMessage": "ab"`) {
		t.Errorf("%v: %s, %s, %s, %s", err, host, user, version, fields)
	}
}

// pullN pulls single cores at a queue until there are no more, and returns how many.
func (w *world) pullN(queue string) (n int) {
	w.t.Helper()
	for {
		reply, err := w.dispatcher.Pull(w.t.Context(), dispatcher.PullRequest{Queue: queue, Pilot: "p", Slot: job.Slot{Cores: 1}, Max: 50})
		if err != nil {
			return n
		}
		n += len(reply.Leases)
	}
}

// A Harvester's target slots cap a share at a queue, until a date.
func TestAddTargetSlots(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	w.submit(20, 1, "true")
	w.until("all jobs are ready", func() bool {
		n := int64(0)
		for _, count := range w.dispatcher.Counts() {
			n += count.N
		}
		return n == 20
	})
	const path = "/harvester/add_target_slots"
	slots := func(queue string, n any, more map[string]any) map[string]any {
		args := map[string]any{"panda_queue": queue, "slots": n}
		for name, v := range more {
			args[name] = v
		}
		return args
	}
	c.check([]answered{
		{send, path, slots("test_queue", 0, nil), `{"success":true,"message":"set numSlots=0 for PQ=test_queue gshare=None resource=None; there is no such queue yet","data":null}`},
		{send, path, slots("LOCAL_TEST", 3, map[string]any{"global_share": "Prod", "expiration_date": "2"}), `{"success":true,"message":"set numSlots=3 for PQ=LOCAL_TEST gshare=Prod resource=None","data":null}`},
		{send, path, slots("LOCAL_TEST", "5", map[string]any{"resource_type": "MCORE", "expiration_date": "02-NOV-94 00:02:18"}),
			`{"success":false,"message":"Argument error: 'expiration_date': 02-NOV-94 00:02:18 is over","data":null}`},
		{send, path, slots("LOCAL_TEST", 5, map[string]any{"expiration_date": "0"}), `{"success":false,"message":"Argument error: 'expiration_date': 0 days: expected 1 or more","data":null}`},
		{send, path, slots("LOCAL_TEST", 5, map[string]any{"resource_type": "HUGE"}), `{"success":false,"message":"Argument error: 'resource_type' is HUGE, expected one of SCORE, MCORE, SCORE_HIMEM, MCORE_HIMEM","data":null}`},
		{send, path, slots("LOCAL_TEST", 5, map[string]any{"global_share": "Nobody"}), `{"success":false,"message":"Argument error: 'global_share': no share is called Nobody","data":null}`},
		{send, path, slots("LOCAL_TEST", -2, nil), `{"success":false,"message":"Argument error: 'slots' is -2, expected 0 or more, or -1 for no cap","data":null}`},
		{send, path, slots("LOCAL_TEST", 5, map[string]any{"mode": "high"}), `{"success":false,"message":"Argument error: 'mode' is high, expected cap or floor","data":null}`},
		{send, path, slots("LOCAL_TEST", "few", nil), `{"success":false,"message":"Type error: 'slots' must be of type int, got str.","data":null}`},
		{send, path, map[string]any{"slots": 5}, `{"success":false,"message":"Argument error: missing a required argument: 'panda_queue'","data":null}`},
	})
	if n := w.pullN("LOCAL_TEST"); n != 3 {
		t.Fatalf("%d jobs were given, want 3", n)
	}
	var until time.Time
	if err := w.db.QueryRow(t.Context(), "SELECT expires_at FROM target_slots WHERE queue = 'LOCAL_TEST'").Scan(&until); err != nil || time.Until(until) < 47*time.Hour {
		t.Errorf("it ends %v, %v; want in two days", until, err)
	}
	c.check([]answered{{send, path, slots("LOCAL_TEST", -1, map[string]any{"global_share": "Prod"}), `{"success":true,"message":"set numSlots=-1 for PQ=LOCAL_TEST gshare=Prod resource=None","data":null}`}})
	w.until("the others are given", func() bool { return w.pullN("LOCAL_TEST") == 17 })
}

// targets are the target slots of a queue, in words.
func (w *world) targets(queue string) string {
	var all []string
	for _, q := range w.dispatcher.Queues() {
		for _, t := range q.TargetSlots {
			if word := map[bool]string{true: "floor", false: "cap"}[t.Floor]; q.Name == queue {
				all = append(all, fmt.Sprintf("%s %d %s", t.Share, t.Slots, word))
			}
		}
	}
	return strings.Join(all, ", ")
}

// They end by themselves at their date, as a cap and as a floor.
func TestTargetSlotsEnd(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	soon := time.Now().UTC().Add(4 * time.Second).Truncate(time.Second).Format(time.DateTime)
	for _, mode := range []string{"cap", "floor"} {
		c.data(send, "/harvester/add_target_slots", map[string]any{"panda_queue": "OTHER", "slots": 4, "global_share": "Prod", "mode": mode, "expiration_date": soon}, new(any))
	}
	w.until("both are known", func() bool { return strings.Count(w.targets("OTHER"), "Prod 4 ") == 2 })
	w.until("both are over", func() bool { return w.targets("OTHER") == "" })
	if now := time.Now().UTC().Format(time.DateTime); now < soon {
		t.Errorf("they ended at %s, before %s", now, soon)
	}
}

// As a floor they let a share's jobs come first at the queue, until so many run there, or until the date.
func TestAddTargetFloor(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	w.submit(30, 1, "true")
	_, err := w.generator.Submissions().Submit(t.Context(), generator.SubmitRequest{Spec: spec.Spec{Name: "ana", User: "bob", Share: "User", Count: 30, Command: []string{"true"}}})
	if err != nil {
		t.Fatal(err)
	}
	w.until("all jobs are ready", func() bool {
		n := int64(0)
		for _, count := range w.dispatcher.Counts() {
			n += count.N
		}
		return n == 60
	})
	const path = "/harvester/add_target_slots"
	floor := func(n int) map[string]any {
		return map[string]any{"panda_queue": "LOCAL_TEST", "slots": n, "global_share": "User", "mode": "floor", "expiration_date": "1"}
	}
	users := func(n int) (of int) { // grants to User among the next
		t.Helper()
		for range n {
			reply, err := w.dispatcher.Pull(t.Context(), dispatcher.PullRequest{Queue: "LOCAL_TEST", Pilot: "p", Slot: job.Slot{Cores: 1}, Max: 1})
			if err != nil {
				t.Fatal(err)
			}
			if reply.Leases[0].Share == "User" {
				of++
			}
		}
		return of
	}
	c.check([]answered{{send, path, floor(6), `{"success":true,"message":"set numSlots=6 for PQ=LOCAL_TEST gshare=User resource=None as a floor","data":null}`}})
	w.until("the floor is known", func() bool { return w.targets("LOCAL_TEST") == "User 6 floor" })
	if n := users(6); n != 6 {
		t.Errorf("%d of the first six are of the share with the floor", n)
	}
	if n := users(6); n != 0 {
		t.Errorf("%d of the next six are: it has more than its weight already", n)
	}
	c.check([]answered{{send, path, floor(-1), `{"success":true,"message":"set numSlots=-1 for PQ=LOCAL_TEST gshare=User resource=None as a floor","data":null}`}})
}
