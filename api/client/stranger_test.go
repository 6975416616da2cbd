package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStranger builds and runs a program of another module that imports the client. Its module cache is empty and nothing
// is downloaded, so that the build fails as soon as the client or the wire needs more than the standard library.
func TestStranger(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	dir := t.TempDir()
	divvy, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err = os.CopyFS(dir, os.DirFS("testdata/stranger")); err != nil {
		t.Fatal(err)
	}
	mod := fmt.Sprintf("module example.com/stranger\n\ngo 1.26.0\n\nrequire github.com/divvyhq/divvy v0.0.0\n\nreplace github.com/divvyhq/divvy => %q\n", divvy)
	if err = os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", "stranger", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOMODCACHE="+t.TempDir(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "stranger"), oneJob(t)).CombinedOutput()
	if want := "job 4711: piece 0\nverdict: recorded\n"; err != nil || string(out) != want {
		t.Errorf("%v, %q, want %q", err, out, want)
	}
}

// oneJob serves a job with the answers of docs/http-api.md, and returns its URL.
func oneJob(t *testing.T) string {
	answers := map[string]string{
		"/v1/pulls": `{"leases": [{"lease": "dW5pcXVl", "job": 4711, "attempt": 1, "task": 3, "share": "Production/MC",
			"command": ["sh", "-c", "echo piece 0"], "env": {}, "cores": 1, "memory_mb": 2000, "disk_mb": 1000, "walltime_s": 7200, "expires_in_s": 90}],
			"renew_after_s": 30}`,
		"/v1/leases/finish": `{"verdicts": [{"lease": "dW5pcXVl", "verdict": "recorded", "job_state": "finished"}]}`,
	}
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		ended := strings.Contains(string(body), `"lease":"dW5pcXVl","outcome":"finished","exit_code":0`) && strings.Contains(string(body), `"log_tail":"piece 0\n"`)
		if err != nil || (r.URL.Path == "/v1/leases/finish") != ended {
			t.Errorf("%s: %s, %v", r.URL.Path, body, err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}))
	t.Cleanup(daemon.Close)
	return daemon.URL
}
