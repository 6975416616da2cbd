//go:build python

package e2e

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

const pythonSite = `
shares: [{name: Analysis}]
queues: [{name: HERE, slots: 8}]
on_no_match: Analysis
`

// TestPython installs api/python without a network, and runs its tests, the page and the examples against a daemon and a pilot.
func TestPython(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "site.yml")
	if err := os.WriteFile(site, []byte(pythonSite), 0o600); err != nil {
		t.Fatal(err)
	}
	d := serve(t, pgtest.DSN(t), "--site", site, "--lease-renew", "5s") // a job that is killed hears of it at its renewal
	start(t, environment(), "pilot", "--server", d.client.URL(), "--queue", "HERE", "--slots", "8", "--work-dir", filepath.Join(dir, "work"))

	env := environment("DIVVY_SERVER="+d.client.URL(), "DIVVY_VERSION=v1.2.3", "PYTHONDONTWRITEBYTECODE=1")
	run := func(where, program string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = where, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	copied, python := filepath.Join(dir, "python"), filepath.Join(dir, "venv/bin/python")
	run(".", "cp", "-rL", "../../api/python", copied) // pip leaves files where it builds
	run(dir, "/usr/bin/python3", "-m", "venv", "--system-site-packages", "venv")
	run(dir, python, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", copied)
	said := run(dir, python, "-c", `import divvy, importlib.metadata as m
print(m.version("divvy"), [f.name for f in m.files("divvy") if f.name in ("LICENSE", "py.typed")], divvy.Client().run("echo hello")[0].log())`)
	if said != "1.2.3 ['LICENSE', 'py.typed'] hello\n\n" && said != "1.2.3 ['py.typed', 'LICENSE'] hello\n\n" {
		t.Errorf("installed: %q", said)
	}
	out := run("../../api/python", python, "-m", "unittest", "discover", "-v", "-t", ".", "-s", "tests")
	if !strings.Contains(out, "test_futures") || strings.Contains(out, "needs a daemon") {
		t.Errorf("tests against the daemon did not run:\n%s", out)
	}
}

// TestPythonReceiver runs the receiver of docs/howto/webhooks.md. It is told of a task, and takes nothing that is not signed.
func TestPythonReceiver(t *testing.T) {
	page, err := os.ReadFile("../../docs/howto/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	if program == nil {
		t.Fatal("the page has no receiver")
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0") // for a free port
	if err != nil {
		t.Fatal(err)
	}
	address := lis.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	_ = lis.Close()
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	secret := file("secret", "c2VjcmV0IG9mIGEgdGVzdA==\n")
	p := startOf(t, "/usr/bin/python3", environment(), file("receiver.py", string(program[1])), secret, port)
	eventually(t, time.Minute, "the receiver takes a forged message", func() bool {
		resp, err := http.Post("http://"+address, "application/json", strings.NewReader("{}")) //nolint:noctx // it ends with the test
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusUnauthorized
	})
	d := serve(t, pgtest.DSN(t), "--site", file("site.yml", pythonSite+"webhooks: [{name: r, url: 'http://"+address+"', secret_file: "+secret+"}]\n"))
	eventually(t, time.Minute, "the receiver is told of a task", func() bool { // of one that ended after the daemon has read who is to be told
		task, err := d.client.Tasks().Submit(t.Context(), wire.TaskSpec{Name: "x", User: "alice", Label: "user", Count: 1, Command: []string{"true"}}, "")
		if err == nil {
			_, err = d.client.Tasks().Kill(t.Context(), task.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(p.out.String(), `"type":"task.aborted"`)
	})
	if said := p.out.String(); !strings.Contains(said, `"user":"alice"`) || !strings.HasPrefix(said, "forged\n") {
		t.Error(said)
	}
}
