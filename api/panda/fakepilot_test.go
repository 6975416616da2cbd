package panda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
)

// fakePilot behaves as PanDA's does, as far as a server can tell: it asks for a job, says that it starts, fetches the
// transformation, runs it with what its shlex leaves of jobPars, sends heartbeats, and says how it ended. It says no more
// than the real one: nothing of the payload's output, and the end of its own log only where the job failed. What takes the real
// one minutes takes it milliseconds.
type fakePilot struct {
	t    testing.TB
	url  string
	new  bool // speaks the new API
	form bool // repeats its getJob as a form, as after a failure
	node string
	asks map[string]any // said with its getJob besides

	beat   time.Duration      // between heartbeats while the payload runs; 0 = none
	before func(state string) // called ahead of each update
	mute   bool               // its final update is lost

	job    map[string]any
	dir    string // where its payload runs
	output string // of the payload; the pilot does not report it
	exit   int
	killed bool
}

// getJob asks for a job; false when there is none.
func (p *fakePilot) getJob() bool {
	p.t.Helper()
	if p.new {
		said := map[string]any{"site_name": "LOCAL_TEST", "computing_element": "LOCAL_TEST", "prod_source_label": "managed",
			"disk_space": 16336, "memory": 24105, "node": p.node}
		maps.Copy(said, p.asks)
		_, a := p.say("/api/v1/pilot/acquire_jobs", said)
		if a["success"] != true {
			return false
		}
		p.job = a["data"].(map[string]any)["jobs"].([]any)[0].(map[string]any)
		return true
	}
	said := map[string]any{"siteName": "LOCAL_TEST", "computingElement": "LOCAL_TEST", "prodSourceLabel": "managed", "diskSpace": 16336, "workingGroup": "",
		"cpu": 2596.122, "mem": 24105.56, "node": p.node, "allowOtherCountry": false}
	maps.Copy(said, p.asks)
	_, p.job = p.say("/server/panda/getJob", said)
	return p.job["StatusCode"] == 0.0
}

// say posts what a pilot says: gzip unsaid, or a form.
func (p *fakePilot) say(path string, what map[string]any) (int, map[string]any) {
	p.t.Helper()
	if p.form {
		values := url.Values{}
		for name, v := range what {
			values.Set(name, fmt.Sprint(v))
		}
		return post(p.t, p.url+path, "application/x-www-form-urlencoded", []byte(values.Encode()))
	}
	b, err := json.Marshal(what)
	if err != nil {
		p.t.Fatal(err)
	}
	return post(p.t, p.url+path, "application/json", pack(p.t, b))
}

// update says a state, with what else there is, and returns the command.
func (p *fakePilot) update(state string, more ...any) (command string) {
	p.t.Helper()
	if p.before != nil {
		p.before(state)
	}
	names := [...]string{"jobId", "state", "attemptNr", "siteName", "node", "startTime", "coreCount", "schedulerID", "pilotID"}
	start := any(1795231342.5137582)
	if p.new {
		names = [...]string{"job_id", "job_status", "attempt_nr", "site_name", "node", "start_time", "core_count", "scheduler_id", "pilot_id"}
		start = "2026-11-21 03:22:22"
	}
	said := map[string]any{}
	for i, v := range []any{p.job["PandaID"], state, p.job["attemptNr"], "LOCAL_TEST", p.node, start, 1, "unknown", "http://localhost/out|PR|3.11.5.1"} {
		said[names[i]] = v
	}
	for i := 0; i < len(more); i += 2 {
		said[more[i].(string)] = more[i+1]
	}
	if !p.new {
		said["jobId"] = fmt.Sprintf("%.0f", p.job["PandaID"])
		status, a := p.say("/server/panda/updateJob", said)
		if status != 200 || a["StatusCode"] != 0.0 || len(a) != 2 {
			p.t.Fatalf("%s: %d %v", state, status, a)
		}
		return a["command"].(string)
	}
	status, a := p.say("/api/v1/pilot/update_job", said)
	data, _ := a["data"].(map[string]any)
	if status != 200 || a["success"] != true || a["message"] != "" || data["StatusCode"] != 0.0 || len(data) != 2 {
		p.t.Fatalf("%s: %d %v", state, status, a)
	}
	if data["command"] == wire.NoCommand {
		if len(a) != 3 {
			p.t.Fatalf("%s: %v", state, a)
		}
		return wire.NoCommand
	}
	if a["command"] != data["command"] || len(a) != 4 {
		p.t.Fatalf("%s: %v", state, a)
	}
	return a["command"].(string) // null would stop the real one
}

// final says how it ended.
func (p *fakePilot) final() {
	p.t.Helper()
	state, code, diag := "finished", 0, ""
	switch {
	case p.killed:
		state, code, diag, p.exit = "failed", 1144, "This job was killed by panda server", 0
	case p.exit != 0:
		state, code, diag = "failed", 1305, "Failed to execute payload"
	}
	names := [...]string{"pilotErrorCode", "pilotErrorDiag", "transExitCode", "exeErrorCode", "exeErrorDiag", "pilotTiming", "maxRSS", "cpuConsumptionTime", "pilotLog"}
	if p.new {
		names = [...]string{"pilot_error_code", "pilot_error_diag", "trans_exit_code", "exe_error_code", "exe_error_diag", "pilot_timing", "max_rss", "cpu_consumption_time", "pilot_log"}
	}
	var more []any
	for i, v := range []any{code, diag, p.exit, 0, "", "0|0|1|0|0|0", 250000, 12, "- Log from pilotlog.txt -\nsaved data from \"" + p.job["transformation"].(string) + "\""} {
		if names[i] == names[8] && state == "finished" {
			continue
		}
		more = append(more, names[i], v)
	}
	if command := p.update(state, more...); command != wire.NoCommand {
		p.t.Fatalf("a final update is told %s", command)
	}
}

// run is a pilot's life with one job. false: there was none.
func (p *fakePilot) run() bool {
	p.t.Helper()
	if !p.getJob() {
		return false
	}
	if p.killed = p.update("starting") == wire.Killed; !p.killed {
		p.payload()
	}
	if !p.mute {
		p.final()
	}
	return true
}

// payload fetches the transformation and runs it.
func (p *fakePilot) payload() {
	p.t.Helper()
	trf := p.job["transformation"].(string)
	resp, err := http.Get(trf)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	script, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		p.t.Fatalf("%s: %d %v", trf, resp.StatusCode, err)
	}
	dir, err := os.MkdirTemp("", "panda")
	if err != nil {
		p.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p.dir = dir
	name := path.Base(trf)
	if err := os.WriteFile(filepath.Join(dir, name), script, 0o755); err != nil {
		p.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec ./"+name+" "+throughPilot(p.t, p.job["jobPars"].(string)))
	cmd.Dir, cmd.WaitDelay, cmd.SysProcAttr = dir, 30*time.Second, &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it alone; then SIGKILL, of the real one after 3 s, and then all
	stdout, stderr := createFile(p.t, filepath.Join(dir, "payload.stdout")), createFile(p.t, filepath.Join(dir, "payload.stderr"))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = append(os.Environ(), "PATH="+standInPath(p.t)+":"+os.Getenv("PATH"), fmt.Sprintf("PANDAID=%.0f", p.job["PandaID"]), fmt.Sprintf("PanDA_TaskID=%.0f", p.job["taskID"]))
	over := make(chan struct{})
	go func() {
		defer close(over)
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			p.exit = exit.ExitCode()
		} else if err != nil && ctx.Err() == nil {
			p.exit = 1
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // who is left of the group; none is, as a rule
		out, _ := os.ReadFile(stdout.Name())
		p.output = string(out)
	}()
	for heartbeats := 0; ; heartbeats++ {
		if p.killed = p.update("running") == wire.Killed; p.killed {
			stop()
			<-over
			return
		}
		var next <-chan time.Time
		if p.beat > 0 {
			next = time.After(p.beat)
		}
		select {
		case <-over:
			return
		case <-next:
		}
	}
}

// standInPath is a folder with the curl of fake pilots, so that tests need none.
func standInPath(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "curl"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// createFile makes a file that is closed with the test.
func createFile(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
