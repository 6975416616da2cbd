package dispatcher

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/lookup"
)

// Two daemons whose steps run all the time, and the one that leads is killed while people and pilots work: each job ends once, and the tables
// are what the log says.
func TestStepsOfTwo(t *testing.T) {
	p := newPlace(t)
	first := p.start(1)
	waitFor(t, first.eye.leads)
	second := p.start(2)
	ctx := t.Context()
	const jobs = 300
	ids := p.jobs(jobs, "")
	var ended atomic.Int64
	var mu sync.Mutex
	times := map[int64]int{}
	var pilots sync.WaitGroup
	for range 4 {
		pilots.Go(func() {
			for ended.Load() < jobs-50 {
				for _, w := range []*worker{first, second} {
					l, err := w.pull(t, "n", 0.2)
					if err != nil {
						continue
					}
					for ended.Load() < jobs { // until some daemon answers
						v, err := w.Finish(ctx, FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Finished}}})
						if w = second; err != nil {
							continue
						}
						if v.Verdicts[0].Verdict == Recorded {
							mu.Lock()
							times[l.Job]++
							mu.Unlock()
							ended.Add(1)
						}
						break
					}
				}
			}
		})
	}
	waitFor(t, func() bool { return ended.Load() > 80 })
	if _, err := second.CreateClaim(ctx, OutsideClaim{Name: "disk", Queue: "q", Node: "n1"}); err != nil {
		t.Errorf("asked of one that follows: %v", err)
	}
	first.kill()
	waitFor(t, func() bool { _, err := second.KillJobs(ctx, ids[jobs-20:]); return err == nil })
	if _, err := second.DeleteClaim(ctx, "disk", false); err != nil {
		t.Error(err)
	}
	pilots.Wait()
	for id, n := range times {
		if n != 1 {
			t.Errorf("job %d ended %d times", id, n)
		}
	}
	waitFor(t, func() bool { // the tables of the daemon that is left know all
		rows, _, err := second.Reader.TaskJobs(ctx, lookup.JobFilter{Task: 1, State: "cancelled"})
		return err == nil && len(rows) == 20
	})
	waitFor(t, second.eye.leads)
	var checkpoints, samples int
	if err := p.db.QueryRow(ctx, "SELECT (SELECT count(*) FROM replay_checkpoints), (SELECT count(*) FROM share_samples)").Scan(&checkpoints, &samples); err != nil || checkpoints != 1 || samples == 0 {
		t.Errorf("%d checkpoints and %d samples, %v", checkpoints, samples, err)
	}
	second.kill()
	p.settle()
}

// Pulls wait while the tables are far behind, and go on when they have come half of the way; renewals and ends do not wait.
func TestPullsWaitForTables(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	p.jobs(2, "")
	l := w.must(t, "n")
	b := brake{bound: Behind{}.orDefault()}
	if err := b.pass(t.Context(), 0); err != nil || b.measure(fold.Lag{Batches: 20_000}) || !b.measure(fold.Lag{Batches: 20_001}) || !b.measure(fold.Lag{Batches: 10_001}) {
		t.Error("it waits at the wrong place", err)
	}
	if err := b.pass(t.Context(), 0); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "10001 batches") {
		t.Error(err)
	}
	done := make(chan error)
	go func() { done <- b.pass(t.Context(), time.Minute) }()
	if b.measure(fold.Lag{Time: 30 * time.Second}) {
		t.Error("it still waits")
	}
	if err := <-done; err != nil || !b.measure(fold.Lag{Time: time.Hour}) || b.now().lag.Time != time.Hour {
		t.Error(err)
	}
	w.brake.mu.Lock()
	w.brake.bound = Behind{Time: -1, Batches: -1}
	w.brake.mu.Unlock()
	waitFor(t, func() bool { _, err := w.pull(t, "n", 0); return errors.Is(err, ErrUnavailable) })
	if r, err := w.Renew(t.Context(), RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: l.Lease}}}); err != nil || !slices.Equal(r.Kept, []string{l.Lease}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// A time in which nothing was to be folded is none by which the tables are late: a daemon that starts after it serves at once.
func TestAPauseIsNoLag(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	p.jobs(1, "")
	w.must(t, "n")
	var lag fold.Lag
	waitFor(t, func() bool { // until what was folded last is measured before it is folded again
		tip, err := w.eye.tip(t.Context())
		if err != nil {
			return false
		}
		w.brake.mu.Lock()
		w.brake.at = &fold.Position{Seq: tip.Seq - 1, At: tip.At.Add(-time.Hour)}
		w.brake.mu.Unlock()
		lag, err = background{w.Dispatcher}.measured(t.Context())
		return err == nil && lag.Batches > 0
	})
	if lag.Time > time.Minute {
		t.Errorf("%d batches are not folded, and the tables are taken for %s late", lag.Batches, lag.Time)
	}
}

// exported are some of the metrics, of all kinds of counts. Those that are counted stay what they are; of the others some are 0 most of the time.
var exported = struct{ gauges, counted []string }{
	[]string{"divvy_site_version", "divvy_daemons", "divvy_jobs", "divvy_queue_slots", "divvy_fold_lag_batches", "divvy_fold_lag_seconds"},
	[]string{"divvy_attempts_ended_total", "divvy_queue_attempts_ended_total", "divvy_share_attempts_ended_total", "divvy_grant_seconds", "divvy_grant_batch_jobs",
		"divvy_report_batch_leases", "divvy_decide_seconds", "divvy_pull_wait_seconds", "divvy_pulls_refused_total"},
}

// What is counted and how all stands is exported.
func TestMetrics(t *testing.T) {
	p := newPlace(t)
	p.metrics = prometheus.NewPedanticRegistry()
	w := p.start(1)
	p.jobs(2, "")
	l := w.must(t, "n")
	waitFor(t, func() bool {
		_, err := w.Renew(t.Context(), RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: l.Lease, State: Running}}})
		return err == nil
	})
	waitFor(t, func() bool {
		_, err := w.Finish(t.Context(), FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Finished}}})
		return err == nil
	})
	w.must(t, "n")
	waitFor(t, func() bool { _, err := w.pull(t, "n", 0); return errors.Is(err, ErrNoJobs) })
	var missing []string
	defer func() {
		if t.Failed() {
			t.Errorf("not exported: %v", missing)
		}
	}()
	waitFor(t, func() bool {
		all, err := p.metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		shown, counted := map[string]bool{}, map[string]bool{}
		for _, f := range all {
			shown[f.GetName()] = true
			for _, m := range f.GetMetric() {
				if m.GetHistogram().GetSampleCount() > 0 || m.GetCounter().GetValue() > 0 {
					counted[f.GetName()] = true
				}
			}
		}
		missing = slices.DeleteFunc(slices.Clone(exported.gauges), func(name string) bool { return shown[name] })
		missing = append(missing, slices.DeleteFunc(slices.Clone(exported.counted), func(name string) bool { return counted[name] })...)
		return len(missing) == 0
	})
}
