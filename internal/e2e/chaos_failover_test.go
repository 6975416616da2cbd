//go:build chaos

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// standby follows the database of a play.
type standby struct {
	dir   string
	owner *syscall.Stat_t // of the server's files: it runs as that account
	cmd   *exec.Cmd
}

// standbyName is what it calls itself to the primary.
const standbyName = "standby"

// newStandby copies the server of the play and follows it.
func newStandby(t *testing.T, c *chaosPlay) *standby {
	t.Helper()
	at, err := os.Stat(c.data(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &standby{owner: at.Sys().(*syscall.Stat_t)}
	if s.dir, err = os.MkdirTemp("/tmp", "divvy-standby-"); err != nil { // the server's account may enter it
		t.Fatal(err)
	}
	t.Cleanup(func() { s.kill(t); _ = os.RemoveAll(s.dir) })
	if err := os.Chown(s.dir, int(s.owner.Uid), int(s.owner.Gid)); err != nil {
		t.Fatal(err)
	}
	copying := s.program(t, "pg_basebackup", "-d", c.cluster.DSN()+"&application_name="+standbyName, "-D", s.data(), "-R", "-X", "stream", "-c", "fast")
	if out, err := copying.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	s.start(t)
	return s
}

func (s *standby) data() string { return filepath.Join(s.dir, "data") }

func (s *standby) socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

func (s *standby) start(t *testing.T) {
	t.Helper()
	_ = os.Remove(filepath.Join(s.data(), "postmaster.pid")) // of one that was killed
	s.cmd = s.program(t, "postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "port=5432", "-c", "hot_standby=on",
		"-c", "shared_buffers=128MB", "-c", "max_connections=300", "-c", "fsync=off")
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// kill ends all of its processes at once, as when its machine goes.
func (s *standby) kill(t *testing.T) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Error(err)
	}
	_ = s.cmd.Wait() // it says that it was told to end
	s.cmd = nil
}

// program is one of the installation's as the account of the server, in a folder that this may enter.
func (s *standby) program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	file, _, err := pg.Program(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(file, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: s.owner.Uid, Gid: s.owner.Gid}
	}
	return cmd
}

// failOverUnsure has an append to the log wait for a standby that has gone, for longer than any request; then the primary goes for good
// and the standby, which lacks it, is promoted. What waited was told to nobody as done. Work that came before it was held back, so that
// grants are in it: the record will say that their jobs waited all the time.
func failOverUnsure(t *testing.T, c *chaosPlay) {
	s := newStandby(t, c)
	admin(t, c.dsn, "ALTER SYSTEM SET synchronous_standby_names = '"+standbyName+"'")
	admin(t, c.dsn, "SELECT pg_reload_conf()")
	eventually(t, 30*time.Second, "the standby is waited for", func() bool {
		return one[bool](t, c.dsn, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
	})
	c.reach(t, 200)
	grant := c.holdGrants(t)
	c.submitReady(t, unsureWork)
	c.strike()
	s.kill(t)
	grant()
	c.wait(t, 12*time.Second)
	unsure := one[int](t, c.dsn, "SELECT count(*)::int FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	appends := one[int](t, c.dsn, "SELECT count(*)::int FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%INSERT INTO batches%'")
	if t.Logf("%d commits wait for the standby, %d of them of the log", unsure, appends); appends == 0 {
		t.Error("no append waits for the standby")
	}
	stopped, now := context.WithCancel(t.Context())
	now() // without a checkpoint
	if err := c.cluster.Stop(stopped); err != nil {
		t.Error(err)
	}
	s.start(t)
	// It is not asked to wait for it: what it has yet to replay would have to wait for the snapshot of whoever waits in it.
	eventually(t, 30*time.Second, "the standby is promoted", func() bool {
		conn, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=5432 user=%s dbname=%s sslmode=disable", s.dir, c.user, c.name))
		if err != nil {
			return false
		}
		defer conn.Close(context.Background())
		follows := true
		err = conn.QueryRow(t.Context(), "SELECT CASE WHEN pg_is_in_recovery() THEN pg_promote(wait => false) ELSE false END").Scan(&follows)
		return err == nil && !follows
	})
	for _, l := range c.links {
		l.db.Target("unix", s.socket())
	}
	c.home.Target("unix", s.socket())
	c.lost = unrecorded{c.struck, wall()}
}

// unsureWork is granted when the standby has gone.
var unsureWork = work{share: "Prod/MC", user: "una", kind: "ok", priority: 900, part: 6}

// holdGrants has nothing appended to the log until the function is called.
func (c *chaosPlay) holdGrants(t *testing.T) (let func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE batches IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// submitReady submits a task, and waits until all of its jobs are there.
func (c *chaosPlay) submitReady(t *testing.T, w work) {
	t.Helper()
	before, known := c.total, maps.Clone(c.tasks)
	c.submit(t, []work{w})
	for id := range c.tasks {
		if _, ok := known[id]; !ok {
			eventually(t, 30*time.Second, "the jobs are there", func() bool {
				return one[int](t, c.dsn, fmt.Sprintf("SELECT coalesce(sum(high - low + 1), 0)::int FROM job_blocks WHERE task_id = %d", id)) == c.total-before
			})
		}
	}
}

// one is the only value of a statement's only row.
func one[T any](t *testing.T, dsn, sql string) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}
