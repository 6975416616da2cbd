//go:build chaos

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pg"
)

// What docs/howto/back-up.md says of backups, really done: a base backup and a dump under load, archived WAL, more load, and back
// to a moment in between.
func TestRestore(t *testing.T) {
	r := newRestore(t)
	d := r.serve(t, r.cluster.DSN())
	apply(t, d.client, killsSite)
	first := r.submit(t, d, 2000)
	r.load(t, d, 60, func() {
		r.run(t, "pg_basebackup", "-d", r.cluster.DSN(), "-D", r.path("backup"), "-X", "none", "-c", "fast")
		r.run(t, "pg_dump", "-d", r.cluster.DSN(), "-Fc", "-f", r.path("dump"))
	})
	kept, again := r.pull(t, d), r.pull(t, d)
	if _, err := d.client.Renew(t.Context(), wire.RenewRequest{Pilot: "p", Leases: []wire.Renewal{{Lease: kept.Lease}, {Lease: again.Lease}}}); err != nil {
		t.Fatal(err)
	}
	point := one[string](t, r.cluster.DSN(), "SELECT clock_timestamp()::text")

	// What the restored database does not know of.
	before := r.finished(t, r.cluster.DSN())
	r.finish(t, d, again, "recorded")
	after := r.submit(t, d, 100)
	r.load(t, d, 60, func() {})
	unknown := r.pull(t, d)
	ids := one[int64](t, r.cluster.DSN(), "SELECT max(id) FROM jobs")
	r.archived(t)
	since := r.finished(t, r.cluster.DSN()) - before
	d.stops(t)

	restored := r.recover(t, point)
	t.Run("point in time", func(t *testing.T) {
		d := r.serve(t, restored.DSN())
		d.says(t, "restored, copied or failed over")
		r.healthy(t, restored.DSN())
		if n := r.finished(t, restored.DSN()); n != before {
			t.Errorf("%d jobs have finished at the point, want %d", n, before)
		}
		reply, err := d.client.Renew(t.Context(), wire.RenewRequest{Pilot: "p", Leases: []wire.Renewal{{Lease: kept.Lease}, {Lease: unknown.Lease}}})
		if err != nil || !slices.Equal(reply.Kept, []string{kept.Lease}) || !slices.Equal(reply.Lost, []string{unknown.Lease}) {
			t.Errorf("renewals: %+v, %v", reply, err)
		}
		r.finish(t, d, kept, "recorded")
		r.finish(t, d, again, "recorded") // it ended after the point, and is in force again
		r.finish(t, d, unknown, "lease_lost")
		if _, err := d.client.Tasks().Get(t.Context(), after); !client.IsCode(err, "no_task") {
			t.Errorf("the task of after the point: %v", err)
		}
		second := r.submit(t, d, 50)
		if second <= after {
			t.Errorf("task %d is another one than the task %d of after the point, with no greater id", second, after)
		}
		r.complete(t, d, first, second)
		if !one[bool](t, restored.DSN(), fmt.Sprintf("SELECT coalesce(min(low) > %d, false) FROM job_blocks WHERE task_id = %d", ids, second)) {
			t.Errorf("ids of jobs are given a second time: up to %d were, before the restore", ids)
		}
		r.once(t, restored.DSN(), 2050)
		r.healthy(t, restored.DSN())
		t.Logf("%d jobs that had finished after the point ran a second time", since)
		d.stops(t)
	})
	t.Run("dump", func(t *testing.T) {
		admin(t, restored.DSN(), "CREATE DATABASE dumped")
		dsn := strings.Replace(restored.DSN(), "/divvy?", "/dumped?", 1)
		r.run(t, "pg_restore", "-d", dsn, "--exit-on-error", r.path("dump"))
		d := r.serve(t, dsn)
		d.says(t, "restored, copied or failed over")
		r.healthy(t, dsn)
		r.complete(t, d, first)
		r.once(t, dsn, 2000)
		r.healthy(t, dsn)
		d.stops(t)
	})
}

// restoring is the play of TestRestore.
type restoring struct {
	dir     string
	cluster *pg.Cluster
}

func newRestore(t *testing.T) *restoring {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "divvy-restore-") // the server's account may enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &restoring{dir: dir}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(r.path("archive"), 0o755), os.Chmod(r.path("archive"), 0o777)); err != nil {
		t.Fatal(err)
	}
	r.cluster = r.start(t, "state", map[string]string{"archive_mode": "on", "archive_command": fmt.Sprintf("test ! -f %[1]s/%%f && cp %%p %[1]s/%%f", r.path("archive"))})
	return r
}

func (r *restoring) path(name string) string { return filepath.Join(r.dir, name) }

// start starts a server in a folder. Nobody is let in before recovery is over.
func (r *restoring) start(t *testing.T, name string, settings map[string]string) *pg.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	own := map[string]string{"shared_buffers": "128MB", "hot_standby": "off", "archive_timeout": "0"}
	maps.Copy(own, settings)
	c, err := pg.StartCluster(ctx, pg.ClusterConfig{StateDir: r.path(name), Log: slog.New(slog.DiscardHandler), Settings: own})
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, c)
	return c
}

// recover makes a server of the base backup and the archive, as it was at a moment.
func (r *restoring) recover(t *testing.T, point string) *pg.Cluster {
	t.Helper()
	was, err := filepath.Glob(r.path("state/postgres-*/data"))
	if err != nil || len(was) != 1 {
		t.Fatal(was, err)
	}
	data := strings.Replace(was[0], "/state/", "/restored/", 1)
	if err := errors.Join(os.MkdirAll(filepath.Dir(data), 0o755), os.Rename(r.path("backup"), data), os.Chmod(data, 0o700)); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(file, "restore_command = 'cp %s/%%f %%p'\nrecovery_target_time = '%s'\nrecovery_target_action = promote\n", r.path("archive"), point)
	if err := errors.Join(err, file.Close(), os.WriteFile(filepath.Join(data, "recovery.signal"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	owner, err := os.Stat(was[0])
	if err != nil {
		t.Fatal(err)
	}
	who := owner.Sys().(*syscall.Stat_t)
	err = filepath.WalkDir(data, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(who.Uid), int(who.Gid)))
	})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c := r.start(t, "restored", nil)
	t.Logf("back at %s after %v", point, time.Since(began).Round(time.Millisecond))
	return c
}

// archived waits until all WAL so far is in the archive.
func (r *restoring) archived(t *testing.T) {
	t.Helper()
	last := one[string](t, r.cluster.DSN(), "SELECT pg_walfile_name(pg_switch_wal())")
	eventually(t, time.Minute, "WAL is archived", func() bool {
		_, err := os.Stat(filepath.Join(r.path("archive"), last))
		return err == nil && one[bool](t, r.cluster.DSN(), "SELECT coalesce(last_archived_wal >= '"+last+"', false) FROM pg_stat_archiver")
	})
}

func (r *restoring) run(t *testing.T, program string, args ...string) {
	t.Helper()
	file, _, err := pg.Program(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if out, err := exec.CommandContext(t.Context(), file, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	t.Logf("%s took %v", program, time.Since(began).Round(time.Millisecond))
}

// finished counts jobs that have finished by the log, which is exact at every moment.
func (r *restoring) finished(t *testing.T, dsn string) int {
	t.Helper()
	return one[int](t, dsn, "SELECT count(*)::int FROM report.ledger WHERE kind = 'ended' AND outcome = 'f'")
}

// once checks that all jobs have finished, each with one attempt.
func (r *restoring) once(t *testing.T, dsn string, jobs int) {
	t.Helper()
	got := one[string](t, dsn, `SELECT format('%s finished, %s attempts, %s leases', (SELECT count(*) FROM report.jobs WHERE state = 'finished'),
		(SELECT count(*) FROM report.attempts WHERE outcome = 'finished'), (SELECT count(*) FROM report.leases))`)
	if want := fmt.Sprintf("%d finished, %[1]d attempts, 0 leases", jobs); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func (r *restoring) serve(t *testing.T, dsn string) *daemon {
	t.Helper()
	return serve(t, dsn, "--lease-first", "15s", "--lease-ttl", "3m", "--lease-renew", "2s", "--connections", "8")
}

func (r *restoring) submit(t *testing.T, d *daemon, n int64) int64 {
	t.Helper()
	task, err := d.client.Tasks().Submit(t.Context(), wire.TaskSpec{Name: "t", User: "ann", Share: "Prod/MC", Count: n, Command: []string{"job"},
		Requirements: wire.TaskRequirements{Cores: 1}}, fmt.Sprint(n))
	if err != nil {
		t.Fatal(err)
	}
	return task.ID
}

// pull takes one job.
func (r *restoring) pull(t *testing.T, d *daemon) wire.Lease {
	t.Helper()
	reply, err := d.client.Pull(t.Context(), onePull)
	if err != nil {
		t.Fatal(err)
	}
	return reply.Leases[0]
}

var onePull = wire.PullRequest{Queue: "BIG", Pilot: "p", Slot: wire.Slot{Cores: 1}, Max: 1, WaitS: 10}

func (r *restoring) finish(t *testing.T, d *daemon, l wire.Lease, want string) {
	t.Helper()
	reply, err := d.client.Finish(t.Context(), wire.FinishRequest{Pilot: "p", Results: []wire.Result{{Lease: l.Lease, Outcome: "finished"}}})
	if err != nil || reply.Verdicts[0].Verdict != want {
		t.Errorf("finish of job %d: %+v, %v; want %s", l.Job, reply, err, want)
	}
}

// load runs jobs one by one at four pilots until beside has returned and n more have finished.
func (r *restoring) load(t *testing.T, d *daemon, n int, beside func()) {
	t.Helper()
	var pilots sync.WaitGroup
	var mu sync.Mutex
	done, over := 0, false
	for range 4 {
		pilots.Go(func() {
			for {
				reply, err := d.client.Pull(t.Context(), onePull)
				if err != nil {
					t.Error(err)
					return
				}
				pause(t.Context(), 30*time.Millisecond) // it takes its time, so that work is left
				r.finish(t, d, reply.Leases[0], "recorded")
				mu.Lock()
				done++
				end := over && done >= n
				mu.Unlock()
				if end {
					return
				}
			}
		})
	}
	beside()
	mu.Lock()
	over, done = true, 0
	mu.Unlock()
	pilots.Wait()
}

// complete runs all that there is until the tasks are over.
func (r *restoring) complete(t *testing.T, d *daemon, tasks ...int64) {
	t.Helper()
	eventually(t, 2*time.Minute, "the tasks are over", func() bool {
		reply, err := d.client.Pull(t.Context(), wire.PullRequest{Queue: "BIG", Pilot: "p", Slot: wire.Slot{Cores: 32}, Max: 32})
		if err != nil && !errors.Is(err, client.ErrNoJobs) {
			t.Fatal(err)
		}
		for _, l := range reply.Leases {
			r.finish(t, d, l, "recorded")
		}
		return !slices.ContainsFunc(tasks, func(id int64) bool {
			task, err := d.client.Tasks().Get(t.Context(), id)
			return err != nil || task.EndedAt == nil
		})
	})
}

// healthy has the doctor look at everything, when the daemons of before are given up.
func (r *restoring) healthy(t *testing.T, dsn string) {
	t.Helper()
	eventually(t, time.Minute, "the daemons of before are closed", func() bool {
		return one[bool](t, dsn, "SELECT count(*) = 1 FROM daemons WHERE closed_at IS NULL")
	})
	cmd := exec.CommandContext(t.Context(), binary(t), "doctor", "--database", dsn, "--deep", "-o", "json", "--connections", "8")
	cmd.Env = environment()
	out, err := cmd.Output()
	var report struct {
		Findings []struct{ Check, Level, Found string }
	}
	if json.Unmarshal(out, &report) != nil || len(report.Findings) == 0 {
		t.Fatalf("doctor: %v\n%s", err, out)
	}
	for _, f := range report.Findings {
		if f.Level != "ok" {
			t.Errorf("doctor: %s %s: %s", f.Level, f.Check, f.Found)
		}
	}
}
