//go:build chaos

package e2e

import (
	"context"
	bits "encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// clockFile names, in the environment of a leaping program, a file of eight bytes: seconds that its clock is ahead.
const clockFile = "DIVVY_CHAOS_CLOCK"

// leapingTime is compiled into the package time of a leaping program. Only the time of day leaps; the monotonic clock goes on,
// as it does when somebody sets the clock of a machine.
const leapingTime = `//go:build linux

package time

import (
	"syscall"
	"unsafe"
)

var leap *int64

func init() {
	name, ok := syscall.Getenv("` + clockFile + `")
	if !ok {
		return
	}
	fd, err := syscall.Open(name, syscall.O_RDONLY, 0)
	if err != nil {
		panic("` + clockFile + `: " + err.Error())
	}
	b, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("` + clockFile + `: " + err.Error())
	}
	leap = (*int64)(unsafe.Pointer(&b[0]))
}

func leapt(sec int64) int64 {
	if leap == nil {
		return sec
	}
	return sec + *leap
}
`

// leaping is the program under test, built with that.
var leaping struct {
	once sync.Once
	err  error
}

// leapingBinary builds divvy with a package time of which the clock can be set. Nothing else can: programs of Go ask the
// kernel by themselves, so that a library in front of libc does not reach them.
func leapingBinary(t *testing.T) string {
	t.Helper()
	_ = binary(t) // which makes the folder
	file := filepath.Join(built.dir, "divvy-leaping")
	leaping.once.Do(func() { leaping.err = buildLeaping(file) })
	if leaping.err != nil {
		t.Fatal(leaping.err)
	}
	return file
}

func buildLeaping(file string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	std := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(std, "time.go"))
	if err != nil {
		return err
	}
	const asks = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if !strings.Contains(string(text), asks) {
		return fmt.Errorf("%s: time.Now is not what this test replaces", std)
	}
	overlay := map[string]string{}
	for name, with := range map[string]string{"time.go": strings.Replace(string(text), asks, asks+"\tsec = leapt(sec)\n", 1), "leaping_linux.go": leapingTime} {
		to := filepath.Join(filepath.Dir(file), name)
		if err := os.WriteFile(to, []byte(with), 0o600); err != nil {
			return err
		}
		overlay[filepath.Join(std, name)] = to
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".json", list, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", file+".json", "-o", file, "./cmd/divvy")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// hostClock is the clock of a leaping program.
type hostClock string

func newHostClock(t *testing.T) hostClock {
	t.Helper()
	h := hostClock(filepath.Join(t.TempDir(), "clock"))
	h.set(t, 0)
	return h
}

// set puts the clock ahead of the true one.
func (h hostClock) set(t *testing.T, by time.Duration) {
	t.Helper()
	file, err := os.OpenFile(string(h), os.O_CREATE|os.O_WRONLY, 0o600) // written in place: it is mapped
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(bits.NativeEndian.AppendUint64(nil, uint64(int64(by/time.Second)))); err != nil {
		t.Fatal(err)
	}
}

// leaps are what clocks are set to, one after the other, by how much they are ahead.
var leaps = []time.Duration{5 * time.Minute, -5 * time.Minute, 3 * time.Hour, -26 * time.Hour, 0}

// leap sets the clocks of daemons, each in its turn, then all of them.
func (c *chaosPlay) leap(t *testing.T) {
	for _, links := range [][]*link{c.links[:1], c.links[1:2], c.links} {
		for _, by := range leaps {
			for _, l := range links {
				l.clock.set(t, by)
			}
			c.wait(t, 700*time.Millisecond)
			for _, l := range links {
				if off := l.ahead(t) - by; off.Abs() > time.Minute {
					t.Errorf("the clock of a daemon is %v off what it was set to", off)
				}
			}
		}
	}
}

// ahead is how far the clock of a daemon is ahead of the true one.
func (l *link) ahead(t *testing.T) time.Duration {
	t.Helper()
	once := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := once.Get(l.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	at, err := http.ParseTime(reply.Header.Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(at)
}

// databaseClock makes servers that are started from now on, in this test, ask a file for the time. libfaketime stands in
// front of libc; what PostgreSQL waits by, the monotonic clock, is left as it is.
func databaseClock(t *testing.T) (set func(*testing.T, time.Duration)) {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if len(found) == 0 {
		t.Skip("SKIPPED: no libfaketime (apt-get install libfaketime), so this clock could not be set")
	}
	dir, err := os.MkdirTemp("", "divvy-clock-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // the server runs under another account
		t.Fatal(err)
	}
	file := filepath.Join(dir, "clock")
	set = func(t *testing.T, by time.Duration) {
		t.Helper()
		if err := os.WriteFile(file+".new", fmt.Appendf(nil, "%+d", int(by/time.Second)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	set(t, 0)
	for name, value := range map[string]string{"LD_PRELOAD": found[0], "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"} {
		t.Setenv(name, value)
	}
	return set
}

// The database's clock is what leases live by. Where it leaps they end early or late; nothing is lost or done twice. It
// ends ahead, since leases that were given while it was would not run out before the true time gets there.
func TestDatabaseClock(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("play", func(t *testing.T) {
		set := databaseClock(t)
		cluster := chaosCluster(t, "")
		t.Setenv("LD_PRELOAD", "") // of this program's other children
		fault{name: "database-clock", what: "the database's clock leaps by 10 min, 2 h, back, −1 h, 2 h", leaps: true, strike: func(t *testing.T, c *chaosPlay) {
			for _, by := range []time.Duration{10 * time.Minute, 2 * time.Hour, 0, -time.Hour, 2 * time.Hour} {
				set(t, by)
				c.awaitClock(t, by)
				c.wait(t, 2*time.Second)
			}
		}}.play(t, cluster)
	})
	goleak.VerifyNone(t, before)
}

// awaitClock waits until the database says so.
func (c *chaosPlay) awaitClock(t *testing.T, by time.Duration) {
	t.Helper()
	eventually(t, 10*time.Second, fmt.Sprintf("the database is %v ahead", by), func() bool {
		ahead := c.seconds(t) - float64(time.Now().Unix())
		return max(ahead-by.Seconds(), by.Seconds()-ahead) < 60
	})
}

// seconds is what the database's clock says.
func (c *chaosPlay) seconds(t *testing.T) (s float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := conn.QueryRow(ctx, "SELECT extract(epoch FROM clock_timestamp())::float8").Scan(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// The reference pilot under a clock that leaps: nothing that it runs is lost, killed or run twice.
func TestPilotClock(t *testing.T) {
	if os.Getenv("DIVVY_LONG") == "" {
		t.Skip("SKIPPED: builds divvy anew with a clock that can be set; DIVVY_LONG=1 does it")
	}
	dsn := pgtest.DSN(t)
	d := serve(t, dsn, "--lease-first", leaseFirst.String(), "--lease-ttl", leaseTTL.String(), "--lease-renew", leaseRenew.String())
	apply(t, d.client, "shares: [{name: A}]\nqueues: [{name: Q}]\n")
	const jobs = 120
	task, err := d.client.Tasks().Submit(t.Context(), wire.TaskSpec{Name: "clock", User: "u", Share: "A", Count: jobs, Command: []string{"sh", "-c", "sleep 0.8"}, MaxAttempts: 3}, "clock")
	if err != nil {
		t.Fatal(err)
	}
	var clocks []hostClock
	for n := range 2 {
		h := newHostClock(t)
		clocks = append(clocks, h)
		startOf(t, leapingBinary(t), environment(clockFile+"="+string(h)), "pilot", "--server", d.client.URL(), "--queue", "Q", "--slots", "4",
			"--node", fmt.Sprint("n", n), "--work-dir", filepath.Join(t.TempDir(), "w"))
	}
	ended := func() int64 {
		now, err := d.client.Tasks().Get(t.Context(), task.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now.Jobs.Finished + now.Jobs.Failed
	}
	for _, by := range leaps {
		from := ended()
		for _, h := range clocks {
			h.set(t, by)
		}
		eventually(t, time.Minute, "jobs end under the new clock", func() bool { return ended() >= from+10 })
	}
	healed := time.Now()
	at := ended()
	eventually(t, time.Minute, "jobs end after it", func() bool { return ended() > at })
	took := time.Since(healed)
	eventually(t, 2*time.Minute, "all jobs end", func() bool { return ended() == jobs })
	folded(t, dsn)
	d.stops(t)
	r := readRecord(t, dsn)
	if got := r.account(t, jobs); got["finished"] != jobs || got["attempts finished"] != jobs || got["attempts lost"]+got["attempts failed"] != 0 {
		t.Errorf("%v of %d jobs", got, jobs)
	}
	result{Fault: "pilot-clock", What: "the clocks of two pilots leap by ±5 min, 3 h, −26 h (`TestPilotClock`)", Jobs: jobs, Double: r.double(t, false), RecoveryMS: took.Milliseconds()}.note(t)
}
