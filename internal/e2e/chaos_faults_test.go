//go:build chaos

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/chaos"
)

// fault is something that goes wrong while pilots work.
type fault struct {
	name    string
	what    string // for docs/faults.csv
	short   bool   // part of the short form
	daemons int    // 0: two
	pilots  int    // 0: 24
	jobs    int    // 0: 1500; more where so many would be done before it is over
	vanish  int    // pilots that die or are cut off, at the most; 0: a few
	courier bool   // pilots talk to daemons by way of couriers
	follow  bool   // pilots go to the leader that answers name; else they stay on the wires between them and daemons
	own     bool   // the database is harmed, so it is nobody else's
	small   bool   // the database has a disk of its own, a small one
	moves   bool   // the database is elsewhere afterwards
	leaping bool   // daemons have a clock that can be set
	leaps   bool   // the database's clock is set
	file    string // of the program that daemons are at first; empty: the one under test
	strike  func(*testing.T, *chaosPlay)
}

var faults = []fault{
	{name: "daemon-killed", what: "SIGKILL of the daemon that decides; later another one starts in its place", short: true, jobs: 4000, strike: func(t *testing.T, c *chaosPlay) {
		was := c.deciding(t)
		was.kill(t)
		c.heal()
		c.reach(t, 500)
		c.start(t, was)
	}},
	{name: "daemons-killed", what: "SIGKILL of all daemons and their generators; 1000 pilots come back at once", short: true, pilots: 1000, jobs: 6000, follow: true, strike: func(t *testing.T, c *chaosPlay) {
		for _, l := range c.links {
			l.kill(t)
		}
		for _, l := range c.links {
			c.start(t, l)
		}
	}},
	{name: "daemon-paused", what: "SIGSTOP of the daemon that decides, until another one does and past its leases; SIGCONT", short: true, follow: true, strike: func(t *testing.T, c *chaosPlay) {
		pid := c.deciding(t).cmd.Process.Pid
		c.signal(t, pid, syscall.SIGSTOP)
		c.awaitOther(t, pid)
		c.wait(t, leaseTTL)
		c.signal(t, pid, syscall.SIGCONT)
	}},
	{name: "pilots-lost", what: "a pilot dies at one pull in fifty, or is cut off and comes back when its leases ran out", short: true, vanish: 400, strike: func(t *testing.T, c *chaosPlay) {
		c.reach(t, 500)
	}},
	{name: "backends-ended", what: "pg_terminate_backend of all backends, five times", short: true, strike: func(t *testing.T, c *chaosPlay) {
		for range 5 {
			admin(t, c.dsn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
			c.wait(t, 200*time.Millisecond)
		}
	}},
	{name: "backend-killed", what: "SIGKILL of a backend: PostgreSQL recovers from its log", own: true, strike: func(t *testing.T, c *chaosPlay) {
		c.signal(t, c.backend(t), syscall.SIGKILL)
	}},
	{name: "postmaster-killed", what: "SIGKILL of the postmaster", short: true, own: true, strike: func(t *testing.T, c *chaosPlay) {
		c.killPostmaster(t)
	}},
	{name: "database-paused", what: "SIGSTOP of all backends for four seconds", own: true, strike: func(t *testing.T, c *chaosPlay) {
		pids := c.backends(t)
		for _, pid := range pids {
			c.signal(t, pid, syscall.SIGSTOP)
		}
		c.wait(t, 4*time.Second)
		for _, pid := range pids {
			c.signal(t, pid, syscall.SIGCONT)
		}
	}},
	{name: "statements-timed-out", what: "statement_timeout 2 ms for two seconds", short: true, strike: func(t *testing.T, c *chaosPlay) {
		c.everywhere(t, "SET statement_timeout = '2ms'")
		c.wait(t, 2*time.Second)
		c.everywhere(t, "RESET statement_timeout")
	}},
	{name: "table-locked", what: "a foreign lock on the log for twelve seconds", strike: func(t *testing.T, c *chaosPlay) {
		admin(t, c.dsn, "BEGIN; LOCK TABLE batches IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(12); COMMIT")
	}},
	{name: "standby-gone", what: "the synchronous standby is gone for twelve seconds, then the primary for good; the standby is promoted", own: true, moves: true, jobs: 6000, strike: failOverUnsure},
	{name: "disk-full", what: "no space left for the database, for three seconds", short: true, small: true, strike: diskFull},
	{name: "database-cut", what: "connections daemons–PostgreSQL reset, ten times", short: true, strike: func(t *testing.T, c *chaosPlay) {
		c.cut(t, 10, func(l *link) *chaos.Wire { return l.db })
	}},
	{name: "database-slow", what: "100 to 200 ms more on each packet daemons–PostgreSQL, for four seconds", strike: func(t *testing.T, c *chaosPlay) {
		c.slow(t, 100*time.Millisecond, func(l *link) *chaos.Wire { return l.db })
	}},
	{name: "database-swallowed", what: "nothing passes between the daemon that decides and PostgreSQL, for eight seconds", short: true, strike: func(t *testing.T, c *chaosPlay) {
		c.swallow(t, 8*time.Second, c.deciding(t).db)
	}},
	{name: "database-away", what: "nothing passes between all daemons and PostgreSQL, for four seconds", short: true, strike: func(t *testing.T, c *chaosPlay) {
		c.swallow(t, 4*time.Second, c.links[0].db, c.links[1].db)
	}},
	{name: "pilots-cut", what: "connections pilots–daemons reset, forty times", short: true, strike: func(t *testing.T, c *chaosPlay) {
		c.cut(t, 40, func(l *link) *chaos.Wire { return l.front })
	}},
	{name: "pilots-slow", what: "100 to 200 ms more on each packet pilots–daemons, for four seconds", strike: func(t *testing.T, c *chaosPlay) {
		c.slow(t, 100*time.Millisecond, func(l *link) *chaos.Wire { return l.front })
	}},
	{name: "pilots-swallowed", what: "nothing passes between pilots and one daemon, for six seconds", strike: func(t *testing.T, c *chaosPlay) {
		c.swallow(t, 6*time.Second, c.links[0].front)
	}},
	{name: "daemons-cut", what: "connections daemon–daemon reset, twenty times", follow: true, strike: func(t *testing.T, c *chaosPlay) {
		c.cut(t, 20, func(l *link) *chaos.Wire { return l.relay })
	}},
	{name: "daemons-swallowed", what: "nothing passes between three daemons, for six seconds", daemons: 3, strike: func(t *testing.T, c *chaosPlay) {
		c.swallow(t, 6*time.Second, c.links[0].relay, c.links[1].relay, c.links[2].relay)
	}},
	{name: "daemon-clock", what: "the clocks of daemons leap by ±5 min, 3 h, −26 h, one by one and together", leaping: true, strike: func(t *testing.T, c *chaosPlay) {
		c.leap(t)
	}},
	{name: "requests-twice", what: "requests of pilots doubled, overtaken, late by up to 0.6 s, answers lost", short: true, courier: true, strike: func(t *testing.T, c *chaosPlay) {
		for _, l := range c.links {
			l.courier.Unreliable.Store(true)
		}
		c.reach(t, 700)
		for _, l := range c.links {
			l.courier.Unreliable.Store(false)
			t.Logf("%d requests said twice, %d answers kept back", l.courier.Twice.Load(), l.courier.Forgotten.Load())
			if l.courier.Twice.Load() == 0 || l.courier.Forgotten.Load() == 0 {
				t.Error("the courier was reliable")
			}
		}
	}},
}

// wait lets a fault last.
func (c *chaosPlay) wait(t *testing.T, d time.Duration) {
	t.Helper()
	if !pause(t.Context(), d) {
		t.Fatal(t.Context().Err())
	}
}

func (c *chaosPlay) signal(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

// cut resets the connections of a kind of wire n times.
func (c *chaosPlay) cut(t *testing.T, n int, of func(*link) *chaos.Wire) {
	t.Helper()
	rng, cut := rand.New(rand.NewPCG(c.seed, 3e9)), 0
	for range n {
		for _, l := range c.links {
			cut += of(l).Reset()
		}
		c.wait(t, time.Duration(20+rng.IntN(100))*time.Millisecond)
	}
	if t.Logf("%d connections reset", cut); cut == 0 {
		t.Error("there was nothing to reset")
	}
}

// slow delays what goes over a kind of wire.
func (c *chaosPlay) slow(t *testing.T, by time.Duration, of func(*link) *chaos.Wire) {
	t.Helper()
	for _, l := range c.links {
		of(l).Delay(by, by)
	}
	c.wait(t, 4*time.Second)
	for _, l := range c.links {
		of(l).Heal()
	}
}

// swallow makes black holes of wires for a time.
func (c *chaosPlay) swallow(t *testing.T, d time.Duration, wires ...*chaos.Wire) {
	t.Helper()
	for _, w := range wires {
		w.Swallow()
	}
	c.wait(t, d)
	for _, w := range wires {
		w.Heal()
	}
}

// everywhere changes a setting of the database for all sessions, old and new.
func (c *chaosPlay) everywhere(t *testing.T, change string) {
	t.Helper()
	admin(t, c.cluster.DSN(), fmt.Sprintf("ALTER DATABASE %s %s", c.name, change))
	admin(t, c.cluster.DSN(), fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", c.name))
}

// backends are the processes of the daemons' connections.
func (c *chaosPlay) backends(t *testing.T) (pids []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'divvy%' ORDER BY state = 'active' DESC")
	if pids, err = pgx.CollectRows(rows, pgx.RowTo[int]); err != nil || len(pids) == 0 {
		t.Fatalf("backends: %v, %v", pids, err)
	}
	return pids
}

func (c *chaosPlay) backend(t *testing.T) int { t.Helper(); return c.backends(t)[0] }

// diskFull fills the file system of the database to the last block.
func diskFull(t *testing.T, c *chaosPlay) {
	ballast := filepath.Join(c.disk, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	var filling sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	filling.Go(func() { // again and again: PostgreSQL frees and takes
		block := make([]byte, 64<<10)
		for ctx.Err() == nil {
			if _, err := file.Write(block); err != nil {
				pause(ctx, 10*time.Millisecond)
			}
		}
	})
	c.wait(t, 3*time.Second)
	cancel()
	filling.Wait()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(c.disk, &fs); err != nil || fs.Bavail > 1024 {
		t.Errorf("%d blocks are free, %v: the disk was not full", fs.Bavail, err)
	}
	if err := file.Close(); err != nil {
		t.Log(err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
}

// smallDisk mounts a file system of memory. Only root may, and not in every container.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "divvy-disk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	err = syscall.Mount("none", dir, "tmpfs", 0, "size=400m,mode=0755")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("SKIPPED: no file system may be mounted here, so no disk was full. It takes root with CAP_SYS_ADMIN")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
