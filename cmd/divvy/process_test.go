package main

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// process is a divvy of its own.
type process struct {
	cmd   *exec.Cmd
	mu    sync.Mutex
	log   strings.Builder
	ended chan error
}

func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], args...), ended: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), runAsDivvy+"=1")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
		}
		p.ended <- p.cmd.Wait()
	}()
	return p
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// says waits for a line of the log and returns the first group of the pattern.
func (p *process) says(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var found []string
	servetest.Eventually(t, 2*time.Minute, func() (bool, string) {
		found = re.FindStringSubmatch(p.text())
		return found != nil, "the log does not say " + pattern + ":\n" + p.text()
	})
	return found[len(found)-1]
}

func (p *process) end(t *testing.T, sig syscall.Signal) error {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		return err
	case <-time.After(2 * time.Minute):
		t.Fatalf("it does not end:\n%s", p.text())
		return nil
	}
}

// SIGHUP applies nothing and says so; SIGTERM stops in order with exit code 0.
func TestSignals(t *testing.T) {
	t.Parallel()
	p := startProcess(t, "serve", "--database", pgtest.DSN(t), "--listen", "127.0.0.1:0", "--site", "servetest/site.yml", "--pprof", "127.0.0.1:0")
	url := p.says(t, `msg=serving url=(\S+)`)
	if o := divvy(t, "status", "--server", url); o.code != fail.OK || !strings.Contains(o.out, "8 units") {
		t.Errorf("status: %+v", o)
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.says(t, "SIGHUP: nothing was read or applied.*divvy apply")
	p.says(t, "msg=profiles url=http://127.0.0.1:")
	if err := p.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v:\n%s", err, p.text())
	}
	if log := p.text(); !strings.Contains(log, "msg=stopped") || strings.Contains(log, "level=ERROR") {
		t.Errorf("the log of the stop:\n%s", log)
	}
	if o := divvy(t, "status", "--server", url); o.code != fail.Failed {
		t.Errorf("it still answers: %+v", o)
	}
}

// A private cluster from nothing: start, stop, start again on the same data.
func TestPrivateClusterKeepsItsData(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: two starts of a private cluster")
	}
	dir, err := os.MkdirTemp("", "divvy-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // as root the server runs as another user
		t.Fatal(err)
	}
	for i, want := range []string{"first site applied", "site file not applied"} {
		p := startProcess(t, "serve", "--state-dir", dir, "--listen", "127.0.0.1:0", "--site", "servetest/site.yml")
		p.says(t, want)
		p.says(t, "msg=serving")
		if err := p.end(t, syscall.SIGTERM); err != nil {
			t.Errorf("run %d ended with %v:\n%s", i+1, err, p.text())
		}
	}
}
