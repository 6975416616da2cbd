package panda

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
)

// What pilots of either generation report is kept on the job under the names that users know: in descriptions, in the
// attempt that job show has, and in report views, where the query of docs/examples/panda.sql finds it.
func TestReportsAreKept(t *testing.T) {
	w := newWorld(t)
	c := w.caller()
	task := w.submit(2, 1, "true")
	var jobs []int64
	for range 2 {
		_, job := post(t, w.url+"/server/panda/getJob", "application/json", []byte(`{"siteName":"LOCAL_TEST","prodSourceLabel":"managed","node":"wn1"}`))
		jobs = append(jobs, int64(job["PandaID"].(float64)))
	}
	old := map[string]any{"jobId": jobs[0], "attemptNr": 1, "state": "finished", "node": "wn1", "startTime": 1.7e9, "endTime": 1.7e9 + 60, "timestamp": "x",
		"transExitCode": "0", "exeErrorCode": 0, "jobMetrics": "nEvents=1000 dbTime=3", "pilotTiming": "1|2|3|4|5", "coreCount": "1", "cpuConsumptionTime": "57", "cpuConsumptionUnit": "s",
		"maxRSS": 204800, "avgRSS": "102400", "maxPSS": 204000, "totRBYTES": 12, "nEvents": 1000, "schedulerID": "H-1", "batchID": "b7",
		"xml":      `{"out.root":{"guid":"G","fsize":2000,"adler32":"0000abcd","surl":"s","endpoint":"E"},"log.tgz":{"guid":"L","fsize":"48"}}`,
		"metaData": `{"exitCode":0,"resource":{"cpu":5}}`}
	if status, a := post(t, w.url+"/server/panda/updateJob", "application/json", asJSON(t, old)); status != 200 || a["StatusCode"] != 0.0 {
		t.Fatalf("%d %v", status, a)
	}
	var heard any
	c.data(send, "/pilot/update_job", map[string]any{"job_id": jobs[1], "attempt_nr": 1, "job_status": "failed", "node": "wn2", "trans_exit_code": 65, "exe_error_code": 65,
		"exe_error_diag": "payload died", "pilot_error_code": 1305, "pilot_error_diag": "Failed to execute payload", "job_metrics": "nEvents=7", "max_rss": 102400,
		"cpu_consumption_time": 3, "job_output_report": map[string]any{"part.root": map[string]any{"fsize": 5}}, "meta_data": "not JSON"}, &heard)

	w.dispatcher.Settle()
	var d []map[string]any
	c.data(get, "/job/get_description", map[string]any{"job_ids": jobs}, &d)
	for i, want := range []map[string]any{
		{"jobStatus": "finished", "jobMetrics": "nEvents=1000 dbTime=3", "transExitCode": "0", "pilotErrorCode": 0.0, "exeErrorCode": 0.0, "pilotTiming": "1|2|3|4|5", "maxRSS": 204800.0,
			"avgRSS": 102400.0, "cpuConsumptionTime": 57.0, "cpuConsumptionUnit": "s", "nEvents": 1000.0, "batchID": "b7", "schedulerID": "H-1", "nOutputDataFiles": 2.0, "modificationHost": "wn1"},
		{"jobStatus": "failed", "jobMetrics": "nEvents=7", "transExitCode": "65", "pilotErrorCode": 1305.0, "pilotErrorDiag": "Failed to execute payload", "exeErrorCode": 65.0,
			"exeErrorDiag": "payload died", "maxRSS": 102400.0, "nOutputDataFiles": 1.0, "modificationHost": "wn2"},
	} {
		for name := range want {
			if d[i][name] != want[name] {
				t.Errorf("job %d: %s is %v, want %v", i, name, d[i][name], want[name])
			}
		}
	}
	files, _ := d[0]["Files"].([]any)
	if len(files) != 2 || files[1].(map[string]any)["checksum"] != "ad:0000abcd" || files[1].(map[string]any)["GUID"] != "G" || files[0].(map[string]any)["lfn"] != "log.tgz" {
		t.Errorf("%v", files)
	}
	row, err := w.dispatcher.Job(context.Background(), jobs[0]) // what job show shows
	if err != nil {
		t.Fatal(err)
	}
	at := row.Attempts[0]
	if diff := cmp.Diff(asValue(t, map[string]any{"exitCode": 0, "resource": map[string]any{"cpu": 5}}), asValue(t, at.Report["metaData"])); diff != "" ||
		at.Usage.CPUSeconds != 57 || at.Outputs["out.root"] == nil || at.Report["startTime"] != "2023-11-14T22:13:20Z" {
		t.Errorf("%s %+v", diff, at)
	}
	var meta map[string]any
	c.data(get, "/job/get_metadata_for_analysis_jobs", map[string]any{"task_id": task.ID}, &meta)
	if len(meta) != 1 {
		t.Errorf("%v", meta)
	}

	query, err := os.ReadFile("../../docs/examples/panda.sql")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := w.db.Query(context.Background(), "SELECT coalesce(json_agg(q), '[]') FROM ("+strings.TrimSuffix(strings.TrimSpace(string(query)), ";")+") q")
	if err != nil {
		t.Fatal(err)
	}
	body, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"share": "Prod", "outcome": "failed", "trans_exit_code": "65", "exe_error_code": "65", "attempts": 1.0, "cpu_s": 3.0, "max_rss_mib": 100.0, "events": 7.0, "output_bytes": 5.0},
		{"share": "Prod", "outcome": "finished", "trans_exit_code": "0", "exe_error_code": "0", "attempts": 1.0, "cpu_s": 57.0, "max_rss_mib": 200.0, "events": 1000.0, "output_bytes": 2048.0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a pilot of PanDA says too much of is cut; its job runs, and its result counts.
func TestReportsThatAreTooMuch(t *testing.T) {
	w := newWorld(t)
	w.submit(1, 1, "true")
	ask := map[string]any{"siteName": "LOCAL_TEST", "prodSourceLabel": "managed", "node": strings.Repeat("n", 6000), "worker_id": strings.Repeat("7", 6000)}
	_, job := post(t, w.url+"/server/panda/getJob", "application/json", asJSON(t, ask))
	id := int64(job["PandaID"].(float64))
	for _, state := range []string{"running", "finished"} {
		said := map[string]any{"jobId": id, "attemptNr": 1, "state": state, "cpuConsumptionTime": 1e20, "maxRSS": 1e300}
		if status, a := post(t, w.url+"/server/panda/updateJob", "application/json", asJSON(t, said)); status != 200 || a["StatusCode"] != 0.0 {
			t.Fatalf("%s: %d %v", state, status, a)
		}
	}
	row := w.job(id) // the usage of its hour has it too
	if at := row.Attempts[0]; row.State != "finished" || len(at.Node) != 200 || len(at.Pilot) != 200 || at.Usage != (dispatcher.Usage{CPUSeconds: 1e9, MemoryMB: 1e9}) {
		t.Errorf("%+v", row)
	}
}
