//go:build chaos

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// pair is two PostgreSQL nodes under Patroni and an etcd, made by deploy/patroni/pair.
type pair struct {
	dir  string
	port int
}

// pairTimes are shorter than those that are shipped: a primary that died is replaced after ten seconds at most.
var pairTimes = []string{"PAIR_TTL=10", "PAIR_LOOP_WAIT=1", "PAIR_RETRY_TIMEOUT=4"}

// newPair starts a pair. It is removed when the test is over; the logs of one that failed are shown.
func newPair(t *testing.T) *pair {
	t.Helper()
	for _, program := range []string{"patroni", "etcd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: apt-get install --no-install-recommends patroni etcd-server", err)
		}
	}
	dir, err := os.MkdirTemp("", "divvy-pair-")
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{dir: dir, port: freePorts(t, 6)}
	t.Cleanup(func() {
		if t.Failed() {
			p.logs(t)
		}
		if out, err := p.run(context.Background(), "remove"); err != nil {
			t.Errorf("pair remove: %v\n%s", err, out)
		}
	})
	p.must(t, "start")
	return p
}

// run runs a verb of the script.
func (p *pair) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "../../deploy/patroni/pair", args...)
	cmd.Env = append(os.Environ(), append(pairTimes, "PAIR_DIR="+p.dir, fmt.Sprint("PAIR_PORT=", p.port), "PAIR_PGBIN="+os.Getenv("DIVVY_PGBIN"))...)
	// In files: what it starts in the background would hold pipes open.
	out, err := os.CreateTemp("", "divvy-pair-out-")
	if err != nil {
		return "", err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	failed := cmd.Run()
	text, err := os.ReadFile(out.Name())
	return strings.TrimSpace(string(text)), errors.Join(failed, err)
}

func (p *pair) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.run(t.Context(), args...)
	if err != nil {
		t.Fatalf("pair %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// primary is 1 or 2.
func (p *pair) primary(t *testing.T) string { t.Helper(); return p.must(t, "primary") }

// standby is the other one.
func (p *pair) standby(t *testing.T) string {
	t.Helper()
	if p.primary(t) == "1" {
		return "2"
	}
	return "1"
}

// database makes one and returns its DSN, which names both hosts.
func (p *pair) database(t *testing.T, name string) string {
	t.Helper()
	p.must(t, "psql", "-d", "postgres", "-c", "CREATE DATABASE "+name+" OWNER divvy")
	u, err := url.Parse(p.must(t, "dsn"))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	// A standby has what was committed on its disk, and shows it a moment later.
	for _, host := range strings.Split(u.Host, ",") {
		one := url.URL{Scheme: u.Scheme, User: u.User, Host: host, Path: u.Path, RawQuery: "sslmode=disable"}
		eventually(t, time.Minute, "the database is at "+host, func() bool {
			conn, err := pgx.Connect(t.Context(), one.String())
			return err == nil && conn.Close(t.Context()) == nil
		})
	}
	return u.String()
}

func (p *pair) logs(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(p.dir, "*.log"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		t.Logf("%s:\n…%s", filepath.Base(f), text[max(0, len(text)-4000):])
	}
}

// freePorts finds n ports in a row that nobody listens on.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for first := 25000 + os.Getpid()%4000; first < 32000; first += n {
		free := true
		for port := first; free && port < first+n; port++ {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if free = err == nil; free {
				_ = l.Close()
			}
		}
		if free {
			return first
		}
	}
	t.Fatal("no ports are free")
	return 0
}

// answer is one of a probe: which node committed a transaction of its, and when.
type answer struct {
	at   int64
	port int
}

// probe is a plain client with the same DSN: it connects, writes, and notes when that was answered.
type probe struct {
	dsn    string
	cancel context.CancelFunc
	over   chan struct{}

	mu      sync.Mutex
	answers []answer
	last    error
}

func startProbe(t *testing.T, dsn string) *probe {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &probe{dsn: dsn, cancel: cancel, over: make(chan struct{})}
	go func() {
		defer close(p.over)
		for pause(ctx, 20*time.Millisecond) {
			port, err := within(ctx, 5*time.Second, p.write)
			if ctx.Err() == nil {
				p.note(port, err)
			}
		}
	}()
	return p
}

func (p *probe) note(port int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.last = err
		return
	}
	p.answers = append(p.answers, answer{wall(), port})
}

// write commits something that the log has, and no table.
func (p *probe) write(ctx context.Context) (port int, err error) {
	conn, err := pgx.Connect(ctx, p.dsn)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "SELECT inet_server_port() FROM pg_logical_emit_message(true, 'probe', 'x')").Scan(&port)
	return port, err
}

// seen is the longest time between two answers and when that was over; how many times the node changed; and when the
// last answer was.
func (p *probe) seen() (gap time.Duration, end int64, changes int, last int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, b := range p.answers {
		if last = b.at; i == 0 {
			continue
		}
		a := p.answers[i-1]
		if a.port != b.port {
			changes++
		}
		if d := time.Duration(b.at - a.at); d > gap {
			gap, end = d, b.at
		}
	}
	return gap, end, changes, last
}

func (p *probe) stop() { p.cancel(); <-p.over }
