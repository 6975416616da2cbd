package panda

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/dispatcher"
)

// standIn is the curl of fake pilots: the program of this test under that name. It does what runShell asks of the real one.
func standIn() int {
	config, _ := os.ReadFile("/dev/fd/5")
	found := regexp.MustCompile(`(?m)^url = "(.*)"$`).FindSubmatch(config)
	if found == nil {
		return 3
	}
	resp, err := http.Post(string(found[1]), "text/plain", os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 7
	}
	resp.Body.Close()
	fmt.Print(resp.StatusCode)
	return 0
}

// toolbox is a folder with the programs that a worker node has, and no others: links to them.
func toolbox(t testing.TB, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append(programs, "sh", "env", "sed", "tail", "head", "wc", "sleep", "seq") {
		path, err := exec.LookPath(strings.Replace(name, "sleep", "true", 1)) // runShell's pause before it tries again
		if name == "stand-in" {
			name = "curl"
			path, err = os.Executable()
		}
		if err != nil {
			t.Skipf("this host has no %s", name)
		}
		if name == "python3" { // may be a shim that needs more programs
			out, err := exec.Command(path, "-c", "import sys; print(sys.executable)").Output()
			if err != nil {
				t.Fatal(err)
			}
			path = strings.TrimSpace(string(out))
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The end of what a payload wrote reaches job logs, of jobs that finished, failed and were killed, though the pilot says nothing of
// it; and the key that it came by stands nowhere.
func TestPayloadOutput(t *testing.T) {
	each(t, func(t *testing.T, w *world, pilot func() *fakePilot) {
		long := `seq 20000; echo oops >&2; `
		for _, c := range []struct{ command, state string }{
			{long, "finished"}, {long + "exit 7", "failed"}, {long + "trap 'echo told >&2; exit' TERM; while :; do sleep 0.1; done", "cancelled"},
		} {
			w.submit(1, 1, "sh", "-c", c.command)
			p := pilot()
			if c.state == "cancelled" {
				p.beat = 10 * time.Millisecond
				p.before = func(string) {
					if out, _ := os.ReadFile(filepath.Join(p.dir, "payload.stderr")); len(out) > 0 && !p.killed {
						if _, err := w.dispatcher.KillJob(context.Background(), p.id()); err != nil {
							t.Error(err)
						}
						p.before = nil
					}
				}
			}
			if !p.run() {
				t.Fatal(p.job)
			}
			j := w.job(p.id())
			log, err := w.dispatcher.JobLog(context.Background(), p.id(), 1)
			if err != nil || j.State != c.state {
				t.Fatalf("%s: %v %+v", c.state, err, j)
			}
			stdout, rest, _ := strings.Cut(strings.TrimPrefix(log, "--- stdout\n"), "\n--- stderr\n")
			if len(stdout) != 64<<10-1 || !strings.HasSuffix(stdout, "\n19999\n20000") || !strings.HasPrefix(rest, "oops\n") {
				t.Errorf("%s: %d bytes of stdout, and %q", c.state, len(stdout), rest)
			}
			if strings.Contains(rest, "told\n") != (c.state == "cancelled") {
				t.Errorf("%s: the payload says %q", c.state, rest)
			}
			if of := "--- pilot\n- Log from pilotlog.txt"; strings.Contains(rest, of) != (c.state != "finished") {
				t.Errorf("%s: %q", c.state, rest)
			}
			told, _ := json.Marshal(j)
			key := strings.Split(p.job["transformation"].(string), "/")[4]
			if len(key) != 38 || strings.Contains(log+string(told), key) {
				t.Errorf("the key %s stands in %s %s", key, rest, told)
			}
		}
	})
}

// Output is brought by what the node has, once for each attempt, and a daemon that is away for a moment is asked again. The payload's
// exit code stays what it is.
func TestBringsOutput(t *testing.T) {
	var got atomic.Value
	busy := atomic.Int64{} // the status of the first answer; 0 = none
	server := func(w http.ResponseWriter, r *http.Request) {
		if status := busy.Swap(0); status != 0 {
			w.WriteHeader(int(status))
			return
		}
		b, _ := io.ReadAll(r.Body)
		got.Store(r.URL.Path + " " + string(b))
		w.WriteHeader(http.StatusNoContent)
	}
	plain, secure := httptest.NewServer(http.HandlerFunc(server)), httptest.NewTLSServer(http.HandlerFunc(server))
	defer plain.Close()
	defer secure.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url      string
		programs []string
		busy     int64
	}{
		"stand-in": {plain.URL, []string{"stand-in"}, 0},
		"too many": {plain.URL, []string{"stand-in"}, http.StatusTooManyRequests},
		"too slow": {plain.URL, []string{"stand-in"}, http.StatusRequestTimeout},
		"curl":     {plain.URL, []string{"curl"}, http.StatusServiceUnavailable},
		"python":   {plain.URL, []string{"python3"}, 0},
		"tls":      {secure.URL, []string{"curl", "python3"}, 0}, // curl does not know this authority
	} {
		t.Run(name, func(t *testing.T) {
			path := toolbox(t, c.programs...)
			busy.Store(c.busy)
			got.Store("")
			out, errs, code := runPayload(t, c.url, "echo out; printf err >&2; exit 3", "PATH="+path, "X509_USER_PROXY="+ca)
			if want := "/trf/K/log --- stdout\nout\n--- stderr\nerr"; !strings.HasPrefix(got.Load().(string), want) || code != 3 || out != "out\n" || !strings.HasPrefix(errs, "err") {
				t.Errorf("brought %q, exit code %d, %q %q", got.Load(), code, out, errs)
			}
		})
	}
	t.Run("nothing to say", func(t *testing.T) {
		got.Store("none")
		if _, errs, code := runPayload(t, plain.URL, "exit 4", "PATH="+toolbox(t, "stand-in")); got.Load() != "none" || code != 4 || errs != "" {
			t.Errorf("brought %q, exit code %d, %q", got.Load(), code, errs)
		}
	})
	t.Run("by nothing", func(t *testing.T) {
		if _, errs, code := runPayload(t, plain.URL, "echo out", "PATH="+toolbox(t)); code != 0 || !strings.Contains(errs, "could not be brought") || strings.Contains(errs, "/K/") {
			t.Errorf("exit code %d, %q", code, errs)
		}
	})
}

// A payload that goes on when its pilot stops it has brought its output before the pilot kills it, and so has one that reads from
// stdin.
func TestBringsOutputWhenStopped(t *testing.T) {
	got := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- string(b)
	}))
	defer server.Close()
	path, slept := toolbox(t, "stand-in"), filepath.Join(t.TempDir(), "slept")
	sleep := filepath.Join(path, "sleep") // takes no fractions
	if err := errors.Join(os.Remove(sleep), os.WriteFile(sleep, []byte("#!/bin/sh\ncase $1 in *.*) exit 1 ;; esac\necho $1 >> "+slept+"\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd, stdout, _ := payloadCommand(t, server.URL, `trap '' TERM; read word; echo $word; exec tail -f /dev/null`, "PATH="+path)
	cmd.Stdin, cmd.SysProcAttr = strings.NewReader("said\n"), &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if out, _ := os.ReadFile(stdout); string(out) == "said\n" {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the payload says %q", out)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case log := <-got:
		if log != "said\n" {
			t.Errorf("brought %q", log)
		}
		if waited, _ := os.ReadFile(slept); string(waited) != "1\n1\n" {
			t.Errorf("it was given %q seconds of the pilot's three", waited)
		}
	case <-time.After(30 * time.Second):
		t.Error("nothing is brought")
	}
}

// runPayload runs shell code by a runShell that brings its output below url, with the files that a pilot has for it.
func runPayload(t *testing.T, url, code string, env ...string) (out, errs string, exit int) {
	t.Helper()
	cmd, stdout, stderr := payloadCommand(t, url, code, env...)
	_ = cmd.Run() // its exit code is looked at
	a, _ := os.ReadFile(stdout)
	b, _ := os.ReadFile(stderr)
	return string(a), string(b), cmd.ProcessState.ExitCode()
}

// payloadCommand is what runPayload runs.
func payloadCommand(t *testing.T, url, code string, env ...string) (cmd *exec.Cmd, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	script := strings.Replace(string(runShell), string(noLog), "\ndivvy_log='"+url+"/trf/K/log'\n", 1)
	if err := os.WriteFile(filepath.Join(dir, taskspec.RunShellName), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command("./"+taskspec.RunShellName, "-c", code)
	cmd.Dir, cmd.Env = dir, env
	stdout, stderr = filepath.Join(dir, "1"), filepath.Join(dir, "2")
	cmd.Stdout, cmd.Stderr = createFile(t, stdout), createFile(t, stderr)
	return cmd, stdout, stderr
}

// Whoever has no good key brings nothing, and too much is refused.
func TestPayloadLogRefusals(t *testing.T) {
	w := newWorld(t)
	w.submit(1, 1, "true")
	p := &fakePilot{t: t, url: w.url, node: "n"}
	if !p.getJob() {
		t.Fatal(p.job)
	}
	good := strings.TrimSuffix(p.job["transformation"].(string), taskspec.RunShellName) + logName
	for _, c := range []struct {
		url, body string
		want      int
	}{
		{w.url + "/trf/" + strings.Repeat("A", 38) + "/log", "x", 404},
		{w.url + "/trf/short/log", "x", 404},
		{good, strings.Repeat("x", dispatcher.MaxPayloadLog+1), 413},
		{good, "x", 204},
		{good, "x", 204},
	} {
		resp, err := http.Post(c.url, "text/plain", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", HideKeys(c.url), resp.StatusCode, c.want)
		}
	}
}
