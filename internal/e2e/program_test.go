package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) {
	code := pgtest.Run(m)
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// built is the program under test, built once at the first need, unless DIVVY_TEST_PROGRAM names it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func binary(t testing.TB) string {
	t.Helper()
	if file := os.Getenv("DIVVY_TEST_PROGRAM"); file != "" {
		return file
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "divvy-e2e-"); built.err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(built.dir, "divvy"), "./cmd/divvy")
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "divvy")
}

// text is output that is read while it is written.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

// tail is the end of it, for a failure's message.
func (x *text) tail() string {
	s := x.String()
	if len(s) > 2000 {
		s = "…" + s[len(s)-2000:]
	}
	return s
}

// program is a divvy that runs.
type program struct {
	name  string
	cmd   *exec.Cmd
	out   text
	log   text
	ended chan struct{}
	err   error // how it ended; read after ended
}

// environment is ours without what would steer divvy or its PostgreSQL.
func environment(extra ...string) (env []string) {
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "DIVVY_") || strings.HasPrefix(kv, "DIVVY_PGBIN=") {
			env = append(env, kv)
		}
	}
	return append(env, extra...)
}

// start runs divvy with these arguments. It is killed at the end of the test, or when the test's process dies.
func start(t testing.TB, env []string, args ...string) *program {
	t.Helper()
	return startOf(t, binary(t), env, args...)
}

// startOf is start of a divvy that was built in another way.
func startOf(t testing.TB, file string, env []string, args ...string) *program {
	t.Helper()
	p := &program{name: args[0], cmd: exec.Command(file, args...), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.SysProcAttr = env, diesWithUs()
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread must outlive the child, see diesWithUs
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		keepLog(t, p)
	})
	return p
}

// keepLog keeps the log of a program whose test failed where -artifacts asks for it.
func keepLog(t testing.TB, p *program) {
	if !t.Failed() {
		return
	}
	file := filepath.Join(t.ArtifactDir(), fmt.Sprintf("%s-%d.log", p.name, p.cmd.Process.Pid))
	if err := os.WriteFile(file, []byte(p.log.String()), 0o600); err != nil {
		t.Log(err)
	}
	t.Logf("log of %s (pid %d), all of it with -artifacts:\n%s", p.name, p.cmd.Process.Pid, p.log.tail())
}

// says waits for a line of the log and returns the last group of the pattern.
func (p *program) says(t testing.TB, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var found []string
	eventually(t, time.Minute, "the log says "+pattern, func() bool {
		select {
		case <-p.ended:
			found = re.FindStringSubmatch(p.log.String())
			if found == nil {
				t.Fatalf("%s ended (%v) without saying %s:\n%s", p.name, p.err, pattern, p.log.tail())
			}
		default:
			found = re.FindStringSubmatch(p.log.String())
		}
		return found != nil
	})
	return found[len(found)-1]
}

// end sends a signal and returns how the program ended.
func (p *program) end(t testing.TB, sig syscall.Signal) error {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
		return p.err
	case <-time.After(45 * time.Second):
		t.Fatalf("%s does not end:\n%s", p.name, p.log.tail())
		return nil
	}
}

// over says whether the program has ended.
func (p *program) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// stops is end with SIGTERM: in order, with exit code 0.
func (p *program) stops(t testing.TB) {
	t.Helper()
	if err := p.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("%s: SIGTERM: %v:\n%s", p.name, err, p.log.tail())
	}
}

// daemon is a divvy serve that serves.
type daemon struct {
	*program
	client *client.Client
}

// serve starts a daemon on the database and waits until it serves. It has few connections, as each costs a process.
func serve(t testing.TB, dsn string, args ...string) *daemon {
	t.Helper()
	args = append([]string{"serve", "--database", dsn, "--listen", "127.0.0.1:0", "--connections", "6"}, args...)
	p := start(t, environment(), args...)
	return &daemon{p, clientOf(t, p.says(t, `msg=serving url=(\S+)`))}
}

// clientOf calls a daemon once a call: the tests repeat calls themselves, and count.
func clientOf(t testing.TB, url string, with ...func(*client.Config)) *client.Client {
	t.Helper()
	config := client.Config{URL: url, Patience: -1, Timeout: 20 * time.Second}
	for _, w := range with {
		w(&config)
	}
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// eventually polls until the condition holds, less often the longer that takes: looks are work for what is looked at.
func eventually(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	rest := 10 * time.Millisecond
	for deadline := time.Now().Add(within); !holds(); rest = min(rest*5/4, 100*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(rest)
	}
}
