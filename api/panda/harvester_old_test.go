package panda

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// form makes a call of the old API as Harvesters do, and returns the body of the answer.
func (c caller) form(name string, args map[string]string) string {
	c.t.Helper()
	values := url.Values{}
	for k, v := range args {
		values.Set(k, v)
	}
	r, err := http.NewRequest(http.MethodPost, strings.TrimSuffix(c.url, "/api/v1")+"/server/panda/"+name, strings.NewReader(values.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: status %d, %v: %s", name, resp.StatusCode, err, b)
	}
	return string(b)
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What a Harvester up to 2025 says and asks, with forms, and what it reads out of the answers.
func TestOldHarvester(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	w.submit(2, 1, "true")
	w.until("the jobs are ready", func() bool { return len(w.dispatcher.Counts()) == 1 && w.dispatcher.Counts()[0].N == 2 })
	workers := jsonOf(t, []any{aWorker(map[string]any{"workerID": 41, "computingSite": "LOCAL_TEST"}), aWorker(map[string]any{"workerID": 42, "computingSite": "LOCAL_TEST", "status": "idle"})})
	dialogs := `[{"diagID": 1, "moduleName": "m", "identifier": "i", "creationTime": "2026-01-02 03:04:05.678901", "messageLevel": "INFO", "diagMessage": "hello"}]`
	type fields = map[string]string
	for _, call := range []struct {
		name string
		args fields
		want string
	}{
		{"harvesterIsAlive", fields{"harvesterID": "h", "data": `{"startTime": "datetime/2026-01-02 03:04:05.5", "sw_version": "0.5"}`}, `[true,"succeeded"]`},
		{"harvesterIsAlive", fields{"harvesterID": "h"}, `[true,"succeeded"]`},
		{"harvesterIsAlive", fields{}, `[false,"Argument error: missing a required argument: 'harvester_id'"]`},
		{"get_max_worker_id", fields{"harvester_id": "h"}, `0`},
		{"updateWorkers", fields{"harvesterID": "h", "workers": workers}, `[true,[true,true]]`},
		{"updateWorkers", fields{"harvesterID": "h", "workers": `[1`}, `[false,"workers[0]: Type error: it must be of type dict"]`},
		{"get_max_worker_id", fields{"harvester_id": "h"}, `42`},
		{"addHarvesterDialogs", fields{"harvesterID": "h", "dialogs": dialogs}, `[true,""]`},
		{"updateServiceMetrics", fields{"harvesterID": "h", "metrics": `[["2026-01-02 03:04:05.678901", "host", "{\"rss_mib\": 2737.36}"]]`}, `[true,[true]]`},
		{"reportWorkerStats_jobtype", fields{"harvesterID": "h", "siteName": "LOCAL_TEST", "paramsList": `{"managed": {"SCORE": {"running": 3, "to_submit": 2}}}`}, `[true,"OK"]`},
		{"reportWorkerStats_jobtype", fields{"harvesterID": "h", "siteName": "LOCAL_TEST", "paramsList": `{"managed": 1}`},
			`[false,"Type error: 'statistics': managed must be of type dict, got int."]`},
		{"getWorkerStats", nil, `{"LOCAL_TEST":{"h":{"managed":{"SCORE":{"running":3,"to_submit":2}}}}}`},
		{"getCommands", fields{"harvester_id": "h", "n_commands": "10"}, `{"Commands":[],"Returns":0,"StatusCode":0}`},
		{"getCommands", fields{"harvester_id": "h"}, `{"StatusCode":30,"errorDialog":"Argument error: missing a required argument: 'n_commands'"}`},
		{"sweepPQ", fields{"panda_queue": `"LOCAL_TEST"`, "status_list": `["submitted"]`, "ce_list": `"ALL"`, "submission_host_list": `["h1"]`}, `[true,"OK"]`},
		{"ackCommands", fields{"command_ids": `[1, 2]`}, `{"Returns":0,"StatusCode":0}`},
		{"setNumSlotsForWP", fields{"pandaQueueName": "LOCAL_TEST", "numSlots": "1500", "gshare": "Prod", "validPeriod": "2"}, `[0,"set numSlots=1500 for PQ=LOCAL_TEST gshare=Prod resource=None"]`},
		{"setNumSlotsForWP", fields{"pandaQueueName": "LOCAL_TEST", "numSlots": "many"}, `[1,"Type error: 'slots' must be of type int, got str."]`},
		{"getJobStatisticsPerSite", nil, "(dVLOCAL_TEST\n(dVactivated\nI2\nsVassigned\nI0\nsVrunning\nI0\nssVOTHER\n(dVactivated\nI2\nsVassigned\nI0\nsVrunning\nI0\nss."},
		{"getJobStatisticsPerSiteResource", fields{"timeWindow": "60"}, `{"LOCAL_TEST":{"SCORE":{"activated":2,"assigned":0,"failed":0,"finished":0,"running":0}},` +
			`"OTHER":{"SCORE":{"activated":2,"assigned":0,"failed":0,"finished":0,"running":0}}}`},
		{"get_job_statistics_per_site_label_resource", nil, `{"LOCAL_TEST":{"Prod":{"SCORE":{"activated":2,"assigned":0,"failed":0,"finished":0,"running":0}}},` +
			`"OTHER":{"Prod":{"SCORE":{"activated":2,"assigned":0,"failed":0,"finished":0,"running":0}}}}`},
	} {
		if got := c.form(call.name, call.args); got != call.want {
			t.Errorf("%s %v\n got %q\nwant %q", call.name, call.args, got, call.want)
		}
	}
	var got struct {
		StatusCode int
		Commands   []struct {
			ID      int64          `json:"command_id"`
			Command string         `json:"command"`
			Params  map[string]any `json:"params"`
		}
	}
	if err := json.Unmarshal([]byte(c.form("getCommands", fields{"harvester_id": "h", "n_commands": "10"})), &got); err != nil || len(got.Commands) != 1 ||
		got.Commands[0].Command != "KILL_WORKERS" || !cmp.Equal(got.Commands[0].Params, map[string]any{
		"computingSite": []any{"LOCAL_TEST"}, "status": []any{"submitted"}, "computingElement": "ALL", "submissionHost": []any{"h1"}}) {
		t.Errorf("%v: %+v", err, got)
	}
}

// One call is about so many jobs, of either generation; nothing is done of a longer one.
func TestMostJobsOfACall(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	old, new, ids := make([]any, maxJobs+1), make([]any, maxJobs+1), make([]any, maxJobs+1)
	for i := range ids {
		old[i], new[i] = map[string]any{"jobId": i, "state": "running"}, map[string]any{"job_id": i, "job_status": "running"}
		ids[i] = i
	}
	words := strings.Trim(jsonOf(t, ids), "[]")
	const many = ": 1001 items, expected at most 1000: send the others in another call"
	for got, want := range map[string]string{
		c.form("updateJobsInBulk", map[string]string{"jobList": jsonOf(t, old)}):       `[false,"jobList` + many + `"]`,
		c.form("getStatus", map[string]string{"ids": words}):                           `{"StatusCode":30,"errorDialog":"ids` + many + `"}`,
		c.raw(send, "/pilot/update_jobs_bulk", map[string]any{"job_list": new}):        `{"success":false,"message":"job_list` + many + `","data":[]}`,
		c.raw(get, "/pilot/get_job_status", map[string]any{"job_ids": jsonOf(t, ids)}): `{"success":false,"message":"job_ids` + many + `","data":null}`,
	} {
		if got != want {
			t.Errorf(" got %.200s\nwant %s", got, want)
		}
	}
	if got := c.form("getStatus", map[string]string{"ids": words[:strings.LastIndex(words, ",")]}); !strings.HasPrefix(got, `{"StatusCode":0,`) {
		t.Errorf("%.200s", got)
	}
}

// Harvesters of the time when the API changed send the arguments of a GET as a form, and call it JSON.
func TestGetWithForm(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	r, err := http.NewRequest(http.MethodGet, c.url+"/harvester/get_current_worker_id", strings.NewReader("harvester_id=h"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if _, got := ask(t, r); !cmp.Equal(got, map[string]any{"success": true, "message": "", "data": 0.0}) {
		t.Errorf("%v", got)
	}
}

// mustHave are the fields of a job that a Harvester does not go on without.
var mustHave = strings.Fields("PandaID taskID attemptNr jobsetID currentPriority inFiles GUID fsize checksum scopeIn realDatasetsIn ddmEndPointIn" +
	" outFiles scopeOut realDatasets ddmEndPointOut logFile logGUID scopeLog")

// A Harvester gets jobs itself, says how they are, and asks how they stand.
func TestHarvesterGetsJobs(t *testing.T) {
	for _, generation := range []string{"old", "new"} {
		t.Run(generation, func(t *testing.T) {
			w := newWorld(t)
			c := w.caller()
			w.submit(3, 1, "true")
			w.until("the jobs are ready", func() bool { return len(w.dispatcher.Counts()) == 1 && w.dispatcher.Counts()[0].N == 3 })
			var body string
			if generation == "old" {
				body = c.form("getJob", map[string]string{"siteName": "LOCAL_TEST", "node": "n", "prodSourceLabel": "managed", "computingElement": "LOCAL_TEST", "nJobs": "5", "schedulerID": "harvester-h"})
			} else {
				var data json.RawMessage
				c.data(send, "/pilot/acquire_jobs", map[string]any{"site_name": "LOCAL_TEST", "node": "n", "prod_source_label": "managed", "n_jobs": 5, "scheduler_id": "harvester-h"}, &data)
				body = string(data)
			}
			var got struct {
				StatusCode int
				Jobs       []map[string]any
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Jobs) != 3 {
				t.Fatalf("%v in %s", err, body)
			}
			for _, name := range mustHave {
				if _, there := got.Jobs[0][name]; !there {
					t.Errorf("a job lacks %s", name)
				}
			}
			w.reportInBulk(c, got.Jobs)
		})
	}
}

// reportInBulk starts all of three jobs, then ends two of them.
func (w *world) reportInBulk(c caller, jobs []map[string]any) {
	w.t.Helper()
	update := func(states ...string) string {
		var list []any
		for i, state := range states {
			list = append(list, map[string]any{"jobId": jobs[i]["PandaID"], "attemptNr": 1, "state": state, "siteName": "LOCAL_TEST", "jobSubStatus": nil,
				"startTime": "2026-01-02 03:04:05", "metaData": `{"a": 1}`})
		}
		return c.form("updateJobsInBulk", map[string]string{"jobList": jsonOf(w.t, list), "harvester_id": "h"})
	}
	const one = `{"type":"json","content":"{\"StatusCode\":0,\"command\":\"NULL\"}"}`
	if got, want := update("starting", "starting", "starting"), "[true,["+one+","+one+","+one+"]]"; got != want {
		w.t.Fatalf("%s, want %s", got, want)
	}
	if got, want := update("finished", "failed"), "[true,["+one+","+one+"]]"; got != want {
		w.t.Errorf("%s, want %s", got, want)
	}
	w.dispatcher.Settle() // rules have the last word on the one that failed
	ids := fmt.Sprintf("%.0f,%.0f,%.0f,999", jobs[0]["PandaID"], jobs[1]["PandaID"], jobs[2]["PandaID"])
	want := `{"Returns":0,"StatusCode":0,"data":[{"command":null,"status":"finished"},{"command":null,"status":"failed"},{"command":null,"status":"starting"},{"command":null,"status":null}]}`
	if got := c.form("checkJobStatus", map[string]string{"ids": ids}); got != want {
		w.t.Errorf("%s, want %s", got, want)
	}
	if at := w.attempt(int64(jobs[0]["PandaID"].(float64))).Report["startTime"]; at != "2026-01-02T03:04:05Z" {
		w.t.Errorf("it started at %v", at)
	}
	for list, want := range map[string]string{"x": `[false,"Type error: 'jobList' must be a list as JSON."]`, `[{"jobId": 1}]`: `[false,"jobList[0]: expected a jobId and a state"]`} {
		if got := c.form("updateJobsInBulk", map[string]string{"jobList": list}); got != want {
			w.t.Errorf("%s, want %s", got, want)
		}
	}
}
