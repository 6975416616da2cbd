package pg_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// stateDir is a folder that the server's account may enter, unlike that of t.TempDir.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "divvy-state-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func startCluster(t *testing.T, cfg pg.ClusterConfig) *pg.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := pg.StartCluster(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, c) })
	return c
}

func stop(t *testing.T, c *pg.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// exec runs one statement on a connection of its own.
func run(dsn, sql string) (text string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	for rows.Next() {
		text = string(rows.RawValues()[0])
	}
	return text, rows.Err()
}

func must(t *testing.T, dsn, sql string) string {
	t.Helper()
	text, err := run(dsn, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// eventually polls until cond holds.
func eventually(t *testing.T, within time.Duration, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// ownerProcess starts a process that owns the cluster in dir.
func ownerProcess(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "owner true\n" {
		t.Fatalf("owner process says %q", line)
	}
	return cmd
}

func dataDir(t *testing.T, dir string) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(dir, "postgres-*", "data"))
	if len(found) != 1 {
		t.Fatalf("data folders in %s: %v; want one", dir, found)
	}
	return found[0]
}

func postmaster(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dataDir(t, dir), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestClusterKeepsItsData(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	c := startCluster(t, clusterConfig(dir))
	must(t, c.DSN(), "CREATE TABLE kept AS SELECT 42 AS x")
	if got := must(t, c.DSN(), "SELECT current_setting('listen_addresses') || current_setting('jit')"); got != "off" {
		t.Errorf("listen_addresses and jit are %q, want nothing and off", got)
	}
	stop(t, c)
	if _, err := run(c.DSN(), "SELECT 1"); !pg.IsUnavailable(err) {
		t.Errorf("after Stop: %v; want an unavailable server", err)
	}
	again := startCluster(t, clusterConfig(dir))
	if got := must(t, again.DSN(), "SELECT x::text FROM kept"); got != "42" {
		t.Errorf("kept %q, want 42", got)
	}
	major, _, _ := strings.Cut(must(t, again.DSN(), "SHOW server_version"), ".")
	if want := filepath.Join(dir, "postgres-"+major, "data"); dataDir(t, dir) != want {
		t.Errorf("data are in %s, want %s", dataDir(t, dir), want)
	}
}

func TestClusterLongStatePath(t *testing.T) {
	dir := filepath.Join(stateDir(t), strings.Repeat("long/", 25))
	c := startCluster(t, clusterConfig(dir))
	must(t, c.DSN(), "SELECT 1")
}

func TestClusterManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	clusters := make([]*pg.Cluster, 4)
	var all sync.WaitGroup
	for i := range clusters {
		all.Go(func() {
			c, err := pg.StartCluster(t.Context(), clusterConfig(dir))
			if err != nil {
				t.Error(err)
				return
			}
			clusters[i] = c
			if _, err := run(c.DSN(), "SELECT 1"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var owner *pg.Cluster
	for _, c := range clusters {
		if c != nil && c.Owner() {
			if owner != nil {
				t.Error("two owners")
			}
			owner = c
		}
	}
	if owner == nil {
		t.Fatal("no owner")
	}
	stop(t, owner)
	eventually(t, 5*time.Second, "another one takes over from the owner that stopped", func() bool {
		_, err := run(owner.DSN(), "SELECT 1")
		return err == nil
	})
	for _, c := range clusters {
		if c != nil {
			stop(t, c)
		}
	}
}

// Two seconds are the promise. What a busy machine makes of it once is no fault; what is slow is so each time.
func TestClusterTakenOverFromAKilledOwner(t *testing.T) {
	var took []time.Duration
	for range 3 {
		if took = append(took, takeOver(t)); took[len(took)-1] <= 2*time.Second {
			return
		}
	}
	t.Errorf("taken over after %v, want ≤ 2s", took)
}

// takeOver kills the owner of a server beside another one, and says after how long the other one's answers.
func takeOver(t *testing.T) time.Duration {
	t.Helper()
	dir := stateDir(t)
	owner := ownerProcess(t, dir)
	c := startCluster(t, clusterConfig(dir))
	if c.Owner() {
		t.Fatal("attached cluster says that it owns the server")
	}
	must(t, c.DSN(), "CREATE TABLE kept AS SELECT 42 AS x")
	before := postmaster(t, dir)
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	eventually(t, 10*time.Second, "the server answers again", func() bool {
		got, err := run(c.DSN(), "SELECT x::text FROM kept")
		return err == nil && got == "42" && c.Owner() && postmaster(t, dir) != before
	})
	return time.Since(killed)
}

func TestClusterStopsWithAKilledOwner(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	owner := ownerProcess(t, dir)
	pid := postmaster(t, dir)
	owner.Process.Kill()
	owner.Wait()
	eventually(t, 10*time.Second, "postgres ends by itself, cleanly", func() bool {
		_, err := os.Stat(filepath.Join(dataDir(t, dir), "postmaster.pid"))
		return os.IsNotExist(err)
	})
	eventually(t, 10*time.Second, "its process is gone", func() bool {
		_, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
		return err != nil
	})
	log, _ := os.ReadFile(filepath.Join(filepath.Dir(dataDir(t, dir)), "server.log"))
	if !strings.Contains(string(log), "database system is shut down") {
		t.Errorf("no clean stop in the log:\n%s", log)
	}
	startCluster(t, clusterConfig(dir))
}

// The next start succeeds at once: while the old server still goes away, and when nothing could end cleanly.
func TestClusterStartsRightAfterSIGKILL(t *testing.T) {
	t.Parallel()
	for _, postmasterToo := range []bool{false, true} {
		dir := stateDir(t)
		owner := ownerProcess(t, dir)
		if postmasterToo {
			pid := postmaster(t, dir)
			owner.Process.Signal(syscall.SIGSTOP) // it must not start another one in between
			syscall.Kill(pid, syscall.SIGKILL)
		}
		owner.Process.Kill()
		c := startCluster(t, clusterConfig(dir))
		must(t, c.DSN(), "SELECT 1")
		if !c.Owner() {
			t.Error("not the owner")
		}
	}
}

func TestClusterRestartsAKilledPostmaster(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	c := startCluster(t, clusterConfig(dir))
	must(t, c.DSN(), "CREATE TABLE kept AS SELECT 42 AS x")
	before := postmaster(t, dir)
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "the server runs again", func() bool {
		got, err := run(c.DSN(), "SELECT x::text FROM kept")
		return err == nil && got == "42"
	})
}

// A lock file of a dead server may name a process that has nothing to do with it.
func TestClusterStalePidOfAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	c := startCluster(t, clusterConfig(dir))
	pid := postmaster(t, dir)
	var st syscall.Stat_t
	if err := syscall.Stat(dataDir(t, dir), &st); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(dataDir(t, dir), "postmaster.pid")
	text, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, c)
	other := exec.Command("sleep", "100")
	other.Dir = "/"
	if os.Geteuid() == 0 {
		other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: st.Uid, Gid: st.Gid}}
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	text = []byte(strings.Replace(string(text), strconv.Itoa(pid), strconv.Itoa(other.Process.Pid), 1))
	if err := os.WriteFile(lock, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(lock, int(st.Uid), int(st.Gid)); err != nil {
		t.Fatal(err)
	}
	startCluster(t, clusterConfig(dir))
}

// A socket in our folder that leads to a server of another data folder is refused, and so is a folder that
// others may enter.
func TestClusterNeverAttachesToAnUnknownServer(t *testing.T) {
	t.Parallel()
	dirA, dirB := stateDir(t), stateDir(t)
	startCluster(t, clusterConfig(dirA))
	b := startCluster(t, clusterConfig(dirB))
	stop(t, b)
	baseA, baseB := filepath.Dir(dataDir(t, dirA)), filepath.Dir(dataDir(t, dirB))
	if err := os.Link(filepath.Join(baseA, "run", ".s.PGSQL.5432"), filepath.Join(baseB, "run", ".s.PGSQL.5432")); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Open(filepath.Join(baseB, "owner"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	refused := func(want string) {
		t.Helper()
		var err error
		for within := 2 * time.Second; within < 20*time.Second; within *= 2 { // a busy machine may not get to asking
			ctx, cancel := context.WithTimeout(t.Context(), within)
			_, err = pg.StartCluster(ctx, clusterConfig(dirB))
			cancel()
			if err == nil || strings.Contains(err.Error(), want) {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	refused("not ours")
	if err := os.Chmod(filepath.Join(baseB, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	refused("mode 0700")
}

func TestClusterEphemeralLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", stateDir(t))
	c := startCluster(t, pg.ClusterConfig{Ephemeral: true, NoFsync: true, Settings: map[string]string{"shared_buffers": "32MB"}})
	must(t, c.DSN(), "SELECT 1")
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 1 {
		t.Fatalf("%d entries in the temporary folder, want 1", len(left))
	}
	stop(t, c)
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
		t.Fatalf("left behind: %v", left)
	}
}

// What is kept of a cluster is the beginning of others, and stays as it is.
func TestClusterFromOneThatWasKept(t *testing.T) {
	t.Parallel()
	kept := t.TempDir()
	first := startCluster(t, pg.ClusterConfig{StateDir: stateDir(t), NoFsync: true})
	must(t, first.DSN(), "CREATE TABLE said AS SELECT 'first' AS word")
	if err := first.Keep(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c := startCluster(t, pg.ClusterConfig{Ephemeral: true, NoFsync: true, From: kept})
		if word := must(t, c.DSN(), "UPDATE said SET word = word || ', and more' RETURNING word"); word != "first, and more" {
			t.Errorf("it begins with %q, want what was kept", word)
		}
		if err := c.Keep(t.Context(), t.TempDir()); err == nil {
			t.Error("an ephemeral cluster is kept: it is stopped without a checkpoint")
		}
	}
	fresh := startCluster(t, pg.ClusterConfig{Ephemeral: true, NoFsync: true, From: t.TempDir()})
	if n := must(t, fresh.DSN(), "SELECT count(*)::text FROM pg_class WHERE relname = 'said'"); n != "0" {
		t.Errorf("%s tables, of a folder in which nothing was kept", n)
	}
}

// Data that may be lost is in memory where 4 GiB of it are free, unless somebody has said where.
func TestClusterInMemory(t *testing.T) {
	folder := func(noFsync bool) string {
		c := startCluster(t, pg.ClusterConfig{Ephemeral: true, NoFsync: noFsync, Settings: map[string]string{"shared_buffers": "32MB"}})
		defer stop(t, c)
		return must(t, c.DSN(), "SHOW data_directory")
	}
	t.Setenv("TMPDIR", "")
	var st syscall.Statfs_t
	much := syscall.Statfs("/dev/shm", &st) == nil && st.Bavail*uint64(st.Bsize) >= 4<<30
	if got := folder(true); strings.HasPrefix(got, "/dev/shm/") != much {
		t.Errorf("without fsync: %s; much memory: %v", got, much)
	}
	if got := folder(false); strings.HasPrefix(got, "/dev/shm/") {
		t.Errorf("with fsync: %s", got)
	}
	t.Setenv("TMPDIR", stateDir(t))
	if got := folder(true); !strings.HasPrefix(got, os.TempDir()) {
		t.Errorf("with TMPDIR=%s: %s", os.TempDir(), got)
	}
}

func TestClusterStateBelowAClosedFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root runs the server as somebody else")
	}
	_, err := pg.StartCluster(t.Context(), clusterConfig(filepath.Join(t.TempDir(), "state")))
	if err == nil || !strings.Contains(err.Error(), "--state-dir") {
		t.Fatalf("error %v, want one that names --state-dir", err)
	}
}

func TestClusterWithoutBinaries(t *testing.T) {
	t.Setenv("DIVVY_PGBIN", t.TempDir())
	_, err := pg.StartCluster(t.Context(), clusterConfig(stateDir(t)))
	if err == nil || !strings.Contains(err.Error(), "DIVVY_PGBIN") {
		t.Fatalf("error %v, want one that names DIVVY_PGBIN", err)
	}
}
