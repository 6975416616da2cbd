package serve

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/pilot"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// After a task has run, what a daemon exports is as Prometheus wants it, and says what has happened.
func TestMetricsOfADaemon(t *testing.T) {
	t.Parallel()
	d, cl := startDaemon(t, func(c *config.Config) { c.ShareMetrics = "queues" })
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		gone <- pilot.Run(ctx, pilot.Config{Client: cl, Queue: "LOCAL", Slots: 2, Payload: payload.Config{WorkDir: t.TempDir()}})
	}()
	task, err := cl.Tasks().Submit(t.Context(), servetest.Hello(10), "")
	if err != nil {
		t.Fatal(err)
	}
	servetest.Eventually(t, time.Minute, func() (bool, string) {
		now, err := cl.Tasks().Get(t.Context(), task.ID)
		return err == nil && now.State == "done", "the task is " + now.State
	})
	leave()
	if err := <-gone; err != nil {
		t.Error(err)
	}
	step(t, d, "count")
	step(t, d, "survey")
	complaints, err := testutil.GatherAndLint(d.watch.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range complaints {
		t.Errorf("%s: %s", c.Metric, c.Text)
	}
	sums, err := cl.Daemon().Figures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"divvy_grant_batch_jobs_sum": 10, "divvy_attempts_ended_total": 10, "divvy_jobs_generated_total": 10, "divvy_tasks_submitted_total": 1,
		"divvy_daemon_decides": 1, "divvy_daemons": 1, "divvy_site_version": 1, "divvy_fairness_jain_index": 1, "divvy_leases_expired_total": 0,
		"divvy_build_info": 1, "divvy_job_wait_seconds_count": 10, "divvy_pool_max_connections": float64(d.cfg.Database.Connections), "divvy_shares_starving": 0,
	} {
		if got, ok := sums[name]; got != want || !ok {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"divvy_pull_wait_seconds_count", "divvy_decide_seconds_count", "divvy_sql_seconds_count", "divvy_report_batch_leases_sum",
		"divvy_pool_acquires_total", "divvy_queue_slots", "divvy_step_runs_total"} {
		if sums[name] <= 0 {
			t.Errorf("%s is %v", name, sums[name])
		}
	}
	for name, least := range map[string]int{"divvy_lock_wait_seconds": 12, "divvy_step_errors_total": 10, "divvy_pulls_refused_total": 1} { // 0 has a line too
		if n, err := testutil.GatherAndCount(d.watch.registry, name); err != nil || n < least {
			t.Errorf("%s has %d lines, want %d at least (%v)", name, n, least, err)
		}
	}
	statements(t, d)
}

// step runs a step of the dispatcher.
func step(t *testing.T, d *Daemon, name string) {
	t.Helper()
	for _, s := range d.dispatcher.Steps() {
		if s.Name != name {
			continue
		}
		if _, err := s.Run(t.Context()); err != nil {
			t.Fatal(name, err)
		}
		return
	}
	t.Fatal("no step " + name)
}

// statements looks at how the time of SQL is told apart: by the files of it, and what is left is little.
func statements(t *testing.T, d *Daemon) {
	t.Helper()
	families, err := d.watch.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range families {
		if f.GetName() != "divvy_sql_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			seen[m.GetLabel()[0].GetValue()] = true
		}
	}
	for _, want := range []string{"ledger/append", "ledger/read", "fold/position", "link/beat", "begin", "commit"} {
		if !seen[want] {
			t.Errorf("no time of %s; there are %v", want, seen)
		}
	}
	for name := range seen {
		if strings.ContainsAny(name, " @$") {
			t.Errorf("the text of a statement is a label: %s", name)
		}
	}
}

// Shares have lines as the configuration says.
func TestShareMetrics(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]int{"none": 0, "top": 1, "all": 1} {
		d, cl := startDaemon(t, func(c *config.Config) { c.ShareMetrics = setting })
		step(t, d, "survey")
		if _, err := cl.Daemon().Figures(t.Context()); err != nil {
			t.Fatal(err)
		}
		n, err := testutil.GatherAndCount(d.watch.registry, "divvy_share_target_units")
		if err != nil || n > 0 != (want > 0) {
			t.Errorf("%s: %d lines, %v", setting, n, err)
		}
	}
}

// Figures add up the series of a metric.
func TestFigures(t *testing.T) {
	t.Parallel()
	_, cl := startDaemon(t, nil)
	got, err := cl.Daemon().Figures(t.Context())
	if err != nil || got["divvy_pool_connections"] < 1 {
		t.Errorf("%v %v", got, err)
	}
	var none wire.LogLevels
	if none.String() != "" {
		t.Errorf("%q", none)
	}
}
