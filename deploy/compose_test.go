//go:build deploy

// Package deploy has only a test, behind the tag deploy: the images build, and docker-compose.yml makes a site
// that works.
package deploy

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain finds an engine as .ci/run does: the one that answers, or one made by ../shared/tools/containers.
func TestMain(m *testing.M) {
	if exec.Command("docker", "version").Run() != nil {
		makeEngine()
	}
	os.Exit(m.Run())
}

const containers = "../../shared/tools/containers"

// makeEngine starts an engine, if this machine has what it takes, and puts it into the environment.
func makeEngine() {
	out, err := exec.Command(filepath.Join(containers, "engine.sh"), "start").Output()
	if err != nil {
		return
	}
	for line := range strings.Lines(string(out)) {
		if key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "="); ok {
			_ = os.Setenv(key, os.ExpandEnv(value))
		}
	}
	images := []string{"base-images.sh", "static=gcr.io/distroless/static-debian12:nonroot", "busybox=busybox:1.37"}
	if whole() {
		images = append(images, "golang=golang:1.26")
	}
	for _, command := range [][]string{{"postgres-image.sh", "postgres:17-alpine"}, images} {
		cmd := exec.Command(filepath.Join(containers, command[0]), command[1:]...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "deploy:", command[0], err)
		}
	}
}

// project is a compose project of one test.
type project struct {
	t     *testing.T
	name  string
	files []string
	env   []string
	ask   string // the daemon whose published port the test asks
}

// up builds the images and starts a project with a name, a port and image tags of its own. In the end nothing
// of it is left.
func up(t *testing.T, files []string, env ...string) *project {
	t.Helper()
	if out, err := exec.Command("docker", "version").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no Docker engine can be had: %v\n%s", err, out)
	}
	p := &project{t: t, name: "divvytest" + strings.ToLower(rand.Text()[:8]), files: files, ask: "serve"}
	p.env = append(os.Environ(), append(env, "DIVVY_PORT=0", "DIVVY_PORT_2=0", "PROMETHEUS_PORT=0", "DIVVY_SLOTS=4", "DIVVY_TAG="+p.name)...)
	if !whole() {
		p.files = append(slices.Clone(files), p.builtHere())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.compose(nil, "logs", "--no-color", "--tail", "40"))
		}
		p.compose(nil, "--profile", "cli", "--profile", "monitoring", "down", "--volumes", "--timeout", "20")
		p.docker("rmi", "divvy:"+p.name, "divvy-pilot:"+p.name)
		p.gone()
	})
	p.must("up", "--detach", "--build", "--wait", "--wait-timeout", "120")
	return p
}

func (p *project) run(stdin []byte, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = "..", p.env, bytes.NewReader(stdin)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, errors.String())
	}
	return out.String(), nil
}

// docker runs a command of the engine; an error is an error of the test.
func (p *project) docker(args ...string) string {
	p.t.Helper()
	out, err := p.run(nil, "docker", args...)
	if err != nil {
		p.t.Error(err)
	}
	return strings.TrimSpace(out)
}

func (p *project) compose(stdin []byte, args ...string) string {
	p.t.Helper()
	all := []string{"compose", "--project-name", p.name, "--progress", "quiet"}
	for _, f := range p.files {
		all = append(all, "--file", f)
	}
	out, err := p.run(stdin, "docker", append(all, args...)...)
	if err != nil {
		p.t.Error(err)
	}
	return out
}

// must is compose, and the end of the test if it fails.
func (p *project) must(args ...string) string {
	p.t.Helper()
	out := p.compose(nil, args...)
	if p.t.Failed() {
		p.t.FailNow()
	}
	return out
}

// gone checks that nothing is left of the project.
func (p *project) gone() {
	label := "label=com.docker.compose.project=" + p.name
	for _, list := range [][]string{{"ps", "--all"}, {"volume", "ls"}, {"network", "ls"}} {
		if left := p.docker(append(list, "--quiet", "--filter", label)...); left != "" {
			p.t.Errorf("left by the project: docker %s: %s", strings.Join(list, " "), left)
		}
	}
}

// task is what the test reads of one, in the API's own shape.
type task struct {
	ID    int64
	State string
	Jobs  map[string]int
}

// submit submits the example as its users do, and returns the task's id.
func (p *project) submit() int64 {
	p.t.Helper()
	spec, err := os.ReadFile("task.example.yml")
	if err != nil {
		p.t.Fatal(err)
	}
	out := p.compose(spec, "run", "--rm", "--no-TTY", "divvy", "task", "submit", "-f", "-", "-o", "json")
	var submitted struct{ Items []task }
	if err := json.Unmarshal([]byte(out), &submitted); err != nil || len(submitted.Items) != 1 {
		p.t.Fatalf("submit: %v: %s", err, out)
	}
	return submitted.Items[0].ID
}

// get asks the published port; out nil: for the status alone.
func (p *project) get(path, token string, out any) int {
	p.t.Helper()
	return p.getOf(p.url(p.ask, "8470")+path, token, out)
}

// url of a port that a service publishes.
func (p *project) url(service, port string) string {
	p.t.Helper()
	address := strings.TrimSpace(p.compose(nil, "port", service, port))
	_, published, err := net.SplitHostPort(address)
	if err != nil {
		p.t.Fatalf("published port %q: %v", address, err)
	}
	return "http://127.0.0.1:" + published
}

func (p *project) getOf(url, token string, out any) int {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Log(err)
		return 0
	}
	defer res.Body.Close()
	if out != nil && res.StatusCode == http.StatusOK {
		if err := json.NewDecoder(res.Body).Decode(out); err != nil {
			p.t.Error(err)
		}
	}
	return res.StatusCode
}

// done waits until all of the example's jobs have finished.
func (p *project) done(id int64, token string) {
	p.t.Helper()
	var got task
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if p.get("/v1/tasks/"+strconv.FormatInt(id, 10), token, &got) == http.StatusOK && got.State == "done" {
			break
		}
	}
	if got.State != "done" || got.Jobs["finished"] != 20 {
		p.t.Fatalf("the task did not get done: %+v", got)
	}
}

// exitCodes of the project's containers, by service.
func (p *project) exitCode(service string) string {
	id := strings.TrimSpace(p.compose(nil, "ps", "--all", "--quiet", service))
	return p.docker("inspect", "--format", "{{.State.ExitCode}}", id)
}

func TestCompose(t *testing.T) {
	p := up(t, []string{"docker-compose.yml"})
	for _, image := range []string{"divvy", "divvy-pilot"} {
		if user := p.docker("image", "inspect", "--format", "{{.Config.User}}", image+":"+p.name); user != "65532:65532" {
			t.Errorf("%s runs as %q", image, user)
		}
	}
	p.saysItsVersion()
	id := p.submit()
	p.done(id, "")
	if log := p.compose(nil, "run", "--rm", "divvy", "job", "logs", "1"); !strings.HasPrefix(log, "piece ") {
		t.Errorf("log of the first job: %q", log)
	}

	// The daemon that decides is stopped amid work, and the other one goes on with it.
	id = p.submit()
	p.must("stop", "serve")
	if code := p.exitCode("serve"); code != "0" {
		t.Errorf("serve stopped with exit code %s", code)
	}
	p.ask = "serve-2"
	p.done(id, "")
	p.done(p.submit(), "")

	// Daemons that are killed and started again have all they had, and the pilot comes back to them by itself.
	p.must("kill", "serve-2")
	p.must("up", "--detach", "--wait", "--wait-timeout", "120")
	p.done(id, "")
	p.done(p.submit(), "")

	// An orderly stop is one: daemon and pilot leave by themselves.
	p.must("stop", "--timeout", "60")
	for _, service := range []string{"pilot", "serve", "serve-2", "postgres"} {
		if code := p.exitCode(service); code != "0" {
			t.Errorf("%s stopped with exit code %s", service, code)
		}
	}
}

func TestComposeWithToken(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("no-secret-at-all-0123\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(token), 0o755); err != nil { // the container's user passes through
		t.Fatal(err)
	}
	p := up(t, []string{"docker-compose.yml", "deploy/docker-compose.token.yml"}, "DIVVY_TOKEN_FILE="+token)
	statuses := []int{p.get("/healthz", "", nil), p.get("/v1/tasks", "", nil), p.get("/v1/tasks", "wrong", nil), p.get("/v1/tasks", "no-secret-at-all-0123", nil)}
	if want := []int{200, 401, 401, 200}; !slices.Equal(statuses, want) {
		t.Errorf("statuses %v, want %v", statuses, want)
	}
	p.done(p.submit(), "no-secret-at-all-0123")
	p.monitored()
}
