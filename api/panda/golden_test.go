package panda

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/panda/wire"
)

// exchange is a request that the real pilot made, and what it was answered then.
type exchange struct {
	name   string
	path   string
	body   map[string]any
	answer map[string]any
}

// recorded reads the exchanges of one scenario, in order.
func recorded(t *testing.T, scenario string) (all []exchange) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "pilot3-wire", scenario+"-*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no exchanges of %s: %v", scenario, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		x := exchange{name: filepath.Base(f)}
		text := string(b)
		x.path, _, _ = strings.Cut(text[strings.Index(text, "> POST ")+len("> POST "):], " ")
		_, rest, _ := strings.Cut(text, "decoded:\n")
		said, answered, _ := strings.Cut(rest, "\n\n< 200\n")
		_, answered, _ = strings.Cut(answered, "<\n")
		for text, into := range map[string]*map[string]any{said: &x.body, answered: &x.answer} {
			d := json.NewDecoder(strings.NewReader(text))
			if err := d.Decode(into); err != nil {
				t.Fatalf("%s: %v in %q", f, err, text)
			}
		}
		all = append(all, x)
	}
	return all
}

// replay sends the recorded requests of a scenario for a job of ours, packed as they were on the wire. Answers must say
// what they said then; before is called ahead of each update with its number, after behind it.
func replay(t *testing.T, w *world, scenario string, before, after func(n int, job int64)) (job int64) {
	t.Helper()
	for n, x := range recorded(t, scenario) {
		if n > 0 {
			x.body["jobId"] = json.Number(cutFloat(job)).String()
			before(n, job)
		}
		b, err := json.Marshal(x.body)
		if err != nil {
			t.Fatal(err)
		}
		status, got := post(t, w.url+x.path, "application/json", pack(t, b))
		if status != 200 {
			t.Fatalf("%s: %d %v", x.name, status, got)
		}
		if n == 0 {
			job = int64(got["PandaID"].(float64))
			checkJob(t, x, got)
			continue
		}
		if diff := cmp.Diff(x.answer, got); diff != "" {
			t.Errorf("%s: %s", x.name, diff)
		}
		after(n, job)
	}
	return job
}

func cutFloat(n int64) string { b, _ := json.Marshal(n); return string(b) }

// checkJob holds a job against the recorded one that a pilot ran: the same keys but for those that only some jobs have,
// of the same kinds.
func checkJob(t *testing.T, x exchange, got map[string]any) {
	t.Helper()
	for _, key := range []string{"StatusCode", "PandaID", "taskID", "attemptNr", "transformation", "jobPars"} {
		then, _ := json.Marshal(x.answer[key])
		now, _ := json.Marshal(got[key])
		if len(now) == 0 || then[0] == '"' != (now[0] == '"') {
			t.Errorf("%s: %s is %s, was %s", x.name, key, now, then)
		}
	}
	if got["StatusCode"] != 0.0 || got["attemptNr"] != 1.0 || !strings.HasSuffix(HideKeys(got["transformation"].(string)), "/trf/.../runShell") ||
		!strings.HasPrefix(got["transformation"].(string), "http://127.0.0.1:") {
		t.Errorf("%s: %v", x.name, got)
	}
	for key := range got {
		if _, known := x.answer[key]; !known && !strings.Contains(" coreCount jobName prodSourceLabel processingType workingGroup prodUserID resource_type swRelease homepackage cmtConfig ", " "+key+" ") {
			t.Errorf("%s: a job has %s", x.name, key)
		}
	}
}

// settled checks what is left when a scenario is over: the job's state, one attempt that was given out, began and ended,
// with what all its updates say of the pilot; and nothing held. Then its last two requests come once more, as they do when
// their answers get lost: the last word is heard as before, a heartbeat is told to stop, and nothing changes.
func settled(t *testing.T, w *world, scenario string, job int64, state string) {
	t.Helper()
	j := w.job(job)
	if j.State != state || j.EndedAt == nil || len(j.Attempts) != 1 {
		t.Fatalf("%+v", j)
	}
	a := j.Attempts[0]
	if a.Attempt != 1 || a.Queue != "LOCAL_TEST" || a.Node != "vm" || a.StartedAt == nil || a.EndedAt == nil {
		t.Errorf("%+v", a)
	}
	for key, want := range map[string]any{"node": "vm", "siteName": "LOCAL_TEST", "schedulerID": "unknown", "coreCount": 1.0,
		"pilotID": "http://localhost/batchlogs/mock.out|PR|3.11.5.1", "cpuConsumptionUnit": "s+AMD EPYC 1024 KB 2-Core Processor 1-Socket+AVX2"} {
		if a.Report[key] != want {
			t.Errorf("%s is %v, want %v", key, a.Report[key], want)
		}
	}
	w.until("nothing is held", func() bool {
		for _, q := range w.dispatcher.Queues() {
			if q.HeldCores != 0 || q.HeldJobs != 0 {
				return false
			}
		}
		return true
	})
	all := recorded(t, scenario)
	for n, want := range map[int]string{len(all) - 2: wire.Killed, len(all) - 1: wire.NoCommand} {
		x := all[n]
		x.body["jobId"] = cutFloat(job)
		b, err := json.Marshal(x.body)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := post(t, w.url+x.path, "application/json", pack(t, b)); got["StatusCode"] != 0.0 || got["command"] != want || len(got) != 2 {
			t.Errorf("%s, once more: %v", x.name, got)
		}
	}
	if diff := cmp.Diff(j, w.job(job)); diff != "" {
		t.Errorf("said twice, it changes something: %s", diff)
	}
}

// The requests of the real pilot, replayed: what each is answered, and what it does.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	nothing := func(int, int64) {}
	state := func(states ...string) func(int, int64) {
		return func(n int, job int64) {
			if got := w.attempt(job).State; got != states[n-1] {
				t.Errorf("after update %d the attempt is %s, want %s", n, got, states[n-1])
			}
		}
	}
	t.Run("simple", func(t *testing.T) {
		w.submit(1, 1, "sh", "-c", "echo hello; sleep 5")
		job := replay(t, w, "simple", nothing, state("starting", "running", "finished"))
		settled(t, w, "simple", job, "finished")
		a := w.attempt(job)
		if a.ExitCode == nil || *a.ExitCode != 0 || a.Message != "" || a.Queue != "LOCAL_TEST" || a.Node != "vm" {
			t.Errorf("%+v", a)
		}
		for key, want := range map[string]any{"pilotTiming": "0|0|5|0|0|0", "pilotErrorCode": 0.0, "transExitCode": 0.0, "meanCoreCount": 1.0, "coreCount": 1.0,
			"pilotID": "http://localhost/batchlogs/mock.out|PR|3.11.5.1", "startTime": "2026-11-21T02:59:35.391Z", "endTime": "2026-11-21T02:59:41.805Z", "state": "finished"} {
			if a.Report[key] != want {
				t.Errorf("%s is %v, want %v", key, a.Report[key], want)
			}
		}
	})
	t.Run("fail7", func(t *testing.T) {
		w.submit(1, 1, "sh", "-c", "echo oops >&2; exit 7")
		job := replay(t, w, "fail7", nothing, state("starting", "running", "failed"))
		settled(t, w, "fail7", job, "failed")
		a := w.attempt(job)
		if a.ExitCode == nil || *a.ExitCode != 7 || a.Message != "pilot 1305: Failed to execute payload" || w.job(job).State != "failed" {
			t.Errorf("%+v", a)
		}
		if a.Report["pilotErrorCode"] != 1305.0 || a.Report["pilotErrorDiag"] != "Failed to execute payload" {
			t.Errorf("%v", a.Report)
		}
		if log, err := w.dispatcher.JobLog(context.Background(), job, 1); err != nil || !strings.Contains(log, "get_cpu_model") {
			t.Errorf("log %q %v", log, err)
		}
	})
	t.Run("output", func(t *testing.T) {
		w.submit(1, 1, "sh", "-c", "echo result > out.1001.txt")
		job := replay(t, w, "output", nothing, state("starting", "running", "finished"))
		settled(t, w, "output", job, "finished")
		a := w.attempt(job)
		want := map[string]any{"guid": "999E6678-A448-44D5-B26A-D76876A5C75D", "fsize": 7.0, "adler32": "0bcc02aa", "surl": "file://localhost/scratch", "endpoint": "MOCK_DISK"}
		if diff := cmp.Diff(want, a.Outputs["out.1001.txt"]); diff != "" || len(a.Outputs) != 2 {
			t.Errorf("%s in %v", diff, a.Outputs)
		}
	})
	t.Run("kill", func(t *testing.T) {
		w.submit(1, 3, "sh", "-c", "echo start; sleep 300; echo end")
		killAt := func(n int, job int64) {
			if n == 3 {
				if _, err := w.dispatcher.KillJob(context.Background(), job); err != nil {
					t.Error(err)
				}
			}
		}
		job := replay(t, w, "kill", killAt, state("starting", "running", "running", "failed"))
		settled(t, w, "kill", job, "cancelled")
		if got := w.job(job); got.State != "cancelled" || len(got.Attempts) != 1 || got.Attempts[0].Report["pilotErrorCode"] != 1144.0 {
			t.Errorf("%+v", got)
		}
	})
}
