package house_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// The commands of docs/quick-start.md, as they stand there, in a folder of their own. Only the port and the
// state folder come from the environment.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: starts a daemon and a pilot")
	}
	var blocks []string
	for _, m := range shellBlock.FindAllStringSubmatch(read(t, "docs/quick-start.md"), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 6 {
		t.Fatalf("%d blocks of commands; this test knows demo, daemon, pilot, work, change, end", len(blocks))
	}
	figures := figuresOf(t)
	sh := newShell(t)
	stopServe := sh.background(blocks[1])
	sh.eventually("divvy status", func() bool { _, err := sh.try("./divvy status"); return err == nil })
	stopPilot := sh.background(blocks[2])

	submit, watch, found := strings.Cut(blocks[3], "./divvy shares show --watch")
	if !found {
		t.Fatal("the page does not watch the shares")
	}
	if out := sh.run(submit); !strings.Contains(out, "Production") || !strings.Contains(out, "Analysis") {
		t.Errorf("the tasks got no shares:\n%s", out)
	}
	sh.eventually("the first figures of the page", func() bool { return sh.shows(figures[:2]) })
	stopWatch := sh.background("exec ./divvy shares show --watch >watched")
	sh.eventually("shares show --watch shows the shares", func() bool {
		seen, _ := os.ReadFile(filepath.Join(sh.dir, "watched"))
		return bytes.Contains(seen, []byte("Analysis"))
	})
	stopWatch()
	sh.eventually("job 1 finished", func() bool { return sh.state("job", 1) == "finished" })
	_, rest, _ := strings.Cut(watch, "\n")
	if out := sh.run(rest); !strings.Contains(out, "plots") || !strings.Contains(out, "piece 0\n") {
		t.Errorf("task list, job list, job logs:\n%s", out)
	}
	if out := sh.run(blocks[4]); !strings.Contains(out, "version 2") {
		t.Errorf("apply:\n%s", out)
	}
	sh.eventually("the figures behind the change", func() bool { return sh.shows(figures[2:]) })
	if out := sh.run(blocks[5]); !strings.Contains(out, "version 3") {
		t.Errorf("rollback and kill:\n%s", out)
	}
	sh.eventually("the tasks aborted", func() bool { return sh.state("task", 1) == "aborted" && sh.state("task", 2) == "aborted" })
	stopPilot()
	stopServe()
}

// figure is a share in a table of the page: what must come out.
type figure struct{ share, weight, target, held string }

var figureLine = regexp.MustCompile(`(?m)^[├└]─ (\w+) +(\d+) +(\d+) +(\d+)$`)

// figuresOf are those of the page: two shares before the change of the site, and two after it.
func figuresOf(t *testing.T) (all []figure) {
	t.Helper()
	for _, m := range figureLine.FindAllStringSubmatch(read(t, "docs/quick-start.md"), -1) {
		all = append(all, figure{m[1], m[2], m[3], m[4]})
	}
	if len(all) != 4 {
		t.Fatalf("%d figures on the page, want two shares twice", len(all))
	}
	return all
}

// shows says whether divvy shares show prints these figures at this moment.
func (sh *shell) shows(want []figure) bool {
	out, err := sh.try("./divvy shares show")
	for _, f := range want {
		line := regexp.MustCompile(fmt.Sprintf(`─ %s +%s +%s +%s `, f.share, f.weight, f.target, f.held))
		if err != nil || !line.MatchString(out) {
			return false
		}
	}
	return true
}

// shell runs commands in a folder that looks like a clone in which nothing was built.
type shell struct {
	t    *testing.T
	dir  string
	port string
	env  []string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	// Not t.TempDir: its path is too long for a unix socket, and closed to the user who runs PostgreSQL.
	dir, err := os.MkdirTemp("", "dq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	editor := filepath.Join(dir, "editor")
	for _, err := range []error{
		os.Chmod(dir, 0o755),
		os.Symlink(filepath.Join(repository, "deploy"), filepath.Join(dir, "deploy")),
		os.Symlink(filepath.Join(repository, "docs"), filepath.Join(dir, "docs")),
		os.WriteFile(editor, []byte("#!/bin/sh\nsed -i '/Analysis/s/weight: 1/weight: 3/' \"$1\"\n"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	port := freePort(t)
	sh := &shell{t: t, dir: dir, port: port}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "DIVVY_") || strings.HasPrefix(e, "DIVVY_PGBIN=") {
			sh.env = append(sh.env, e)
		}
	}
	sh.env = append(sh.env, "EDITOR="+editor, "NO_COLOR=1", "DIVVY_STATE_DIR="+filepath.Join(dir, "state"),
		"DIVVY_LISTEN=127.0.0.1:"+port, "DIVVY_SERVER=http://127.0.0.1:"+port)
	return sh
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// built is where the program is, once somebody has needed it, unless DIVVY_TEST_PROGRAM names it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func program(t *testing.T) string {
	t.Helper()
	if file := os.Getenv("DIVVY_TEST_PROGRAM"); file != "" {
		return file
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "dq"); built.err != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-C", root, "-o", filepath.Join(built.dir, "divvy"), "./cmd/divvy").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "divvy")
}

func (sh *shell) command(script string) *exec.Cmd {
	// The one command that needs the whole clone; it is run once for all pages.
	if build := "go build -o divvy ./cmd/divvy"; strings.Contains(script, build) {
		script = strings.ReplaceAll(script, build, fmt.Sprintf("cp '%s' divvy", program(sh.t)))
	}
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir, cmd.Env = sh.dir, sh.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (sh *shell) try(script string) (string, error) {
	out, err := sh.command(script).CombinedOutput()
	return string(out), err
}

// run runs commands to their end; a failure ends the test.
func (sh *shell) run(script string) string {
	sh.t.Helper()
	out, err := sh.try(script)
	if err != nil {
		sh.t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return out
}

// background runs commands of which the last one stays, until the returned function interrupts it, as Ctrl-C
// does, and checks that it went well.
func (sh *shell) background(script string) (stop func()) {
	sh.t.Helper()
	cmd := sh.command(script)
	out, err := os.CreateTemp(sh.dir, "output")
	if err != nil {
		sh.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		sh.t.Fatal(err)
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
			killer := time.AfterFunc(40*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
			defer killer.Stop()
			if err := cmd.Wait(); err != nil {
				said, _ := os.ReadFile(out.Name())
				sh.t.Errorf("%v\n%s\n%s", err, script, said)
			}
		})
	}
	sh.t.Cleanup(stop)
	return stop
}

// state is the state of a task or job.
func (sh *shell) state(what string, id int) string {
	out, err := sh.command(fmt.Sprintf("./divvy %s show %d -o json", what, id)).Output()
	if err != nil {
		return err.Error()
	}
	var of struct{ State string }
	_ = json.Unmarshal(out, &of)
	return of.State
}

func (sh *shell) eventually(what string, ok func() bool) {
	sh.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if ok() {
			return
		}
	}
	sh.t.Fatalf("not within three minutes: %s", what)
}
