package generator

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

// limited gives the site of tests limits.
func (w *world) limit(t tb, limits string) { w.apply(t, siteYAML+"limits: "+limits+"\n") }

// throttled runs Throttle until it rests, with what it needs of Settle.
func (w *world) throttled(t tb) {
	t.Helper()
	steps(t, w.Settle)
	steps(t, w.Throttle)
}

func (w *world) states(t tb, tasks ...view.Task) string {
	t.Helper()
	var all []string
	for _, one := range tasks {
		all = append(all, w.task(t, one.ID).State)
	}
	return strings.Join(all, " ")
}

// gauge is what a metric without labels says.
func gauge(t tb, m prometheus.Collector) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(m)
	families, err := reg.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("%v, %v", families, err)
	}
	return families[0].Metric[0].Gauge.GetValue()
}

func TestTasksWaitForALimit(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	w.limit(t, `[{user: "*", max_active_tasks: 1}]`)
	a := w.submit(t, managed(nil))
	b := w.submit(t, managed(func(s *spec.Spec) { s.Priority = 5 }))
	c := w.submit(t, managed(func(s *spec.Spec) { s.User = "bob" }))
	if got := w.states(t, a, b, c); got != "throttled throttled throttled" {
		t.Fatalf("before anybody is let in: %s", got)
	}
	if n := steps(t, w.Generate); n != 0 {
		t.Fatalf("%d jobs of throttled tasks", n)
	}
	w.throttled(t)
	if got := w.states(t, a, b, c); got != "throttled ready ready" {
		t.Fatalf("the first by priority is let in, and others have limits of their own: %s", got)
	}
	if n := gauge(t, w.Generator.metrics.throttled); n != 1 {
		t.Errorf("the metric says that %v tasks are throttled", n)
	}
	if why := w.task(t, a.ID).Reason; why != "user alice: 1 task of 1 active (limits[0] of the site: max_active_tasks)" {
		t.Errorf("reason: %s", why)
	}
	w.all(t)
	f.lease(t, 20)
	steps(t, w.Settle)
	// A paused task makes room, and has to wait for its own turn again; jobs that were held come back with it.
	if _, err := w.Say(ctx, VerbPause, b.ID, nil); err != nil {
		t.Fatal(err)
	}
	w.throttled(t)
	if ch, err := w.Say(ctx, VerbResume, b.ID, nil); err != nil || ch.After != "throttled" {
		t.Fatalf("resume: %+v, %v", ch, err)
	}
	w.throttled(t)
	if got := w.states(t, a, b, c); got != "ready throttled running" {
		t.Fatalf("resumed: %s", got)
	}
	// One that waits for its turn is paused too, or it would be let in while all others of its user are.
	if ch, err := w.Say(ctx, VerbPause, b.ID, nil); err != nil || ch.After != "paused" || w.task(t, b.ID).Reason != "" {
		t.Fatalf("paused: %+v, %v, %s", ch, err, w.task(t, b.ID).Reason)
	}
	if _, err := w.Say(ctx, VerbKill, a.ID, nil); err != nil {
		t.Fatal(err)
	}
	w.throttled(t)
	if got := w.states(t, a, b, c); got != "aborted paused running" {
		t.Fatalf("after the kill: %s", got)
	}
	if ch, err := w.Say(ctx, VerbResume, b.ID, nil); err != nil || ch.After != "throttled" {
		t.Fatalf("resume: %+v, %v", ch, err)
	}
	w.throttled(t)
	if got := w.states(t, a, b, c); got != "aborted running running" {
		t.Fatalf("resumed again: %s", got)
	}
	if n := gauge(t, w.Generator.metrics.throttled); n != 0 {
		t.Errorf("the metric says that %v tasks are throttled", n)
	}
	w.drain(t, f, []int64{b.ID, c.ID})
	w.recount(t)
	if got := w.states(t, b, c); got != "done done" {
		t.Errorf("in the end: %s", got)
	}
}

func TestJobsWaitForALimit(t *testing.T) {
	w := newWorld(t)
	f := &fleet{db: w}
	w.limit(t, `[{share: Prod, max_ready_jobs: 6, max_held_units: 8}]`)
	a := w.submit(t, managed(nil))
	b := w.submit(t, managed(func(s *spec.Spec) { s.Campaign, s.Requirements.Cores = "x", 2 }))
	most := 0
	for range 100 {
		w.throttled(t)
		w.all(t)
		ready := jobs[int](t, w, "SELECT count(*) FROM live_jobs WHERE NOT leased")
		units := jobs[int](t, w, "SELECT coalesce(sum(s.cores), 0) FROM live_jobs j JOIN shapes s ON s.id = j.shape_id")
		if ready > 6 || units > 8 {
			t.Fatalf("%d ready jobs, %d units", ready, units)
		}
		most = max(most, units)
		if units == 0 {
			break
		}
		f.lease(t, 3)
		f.end(t, "finished", 2)
	}
	if got := w.states(t, a, b); got != "done done" || most < 7 {
		t.Errorf("%s, %d units at the most", got, most)
	}
	w.recount(t)
}

// A limit that is new leaves what runs alone; one that goes lets everything in.
func TestLimitsComeAndGo(t *testing.T) {
	w := newWorld(t)
	a := w.submit(t, managed(nil))
	b := w.submit(t, managed(nil))
	w.all(t)
	w.limit(t, `[{label: managed, max_active_tasks: 1, max_held_units: 3}]`)
	c := w.submit(t, managed(nil))
	w.throttled(t)
	if got := w.states(t, a, b, c); got != "ready ready throttled" {
		t.Fatalf("tasks that are active stay: %s", got)
	}
	d := w.submit(t, managed(nil)) // the limit goes before anybody has seen it
	w.apply(t, siteYAML)
	w.throttled(t)
	if got := w.states(t, a, b, c, d); got != "ready ready ready ready" {
		t.Fatalf("without limits: %s", got)
	}
	if n := one[int](t, w.db, "SELECT count(*) FROM tasks WHERE quota IS NOT NULL OR limited IS NOT NULL OR reason <> ''"); n != 0 {
		t.Errorf("%d tasks still know of limits", n)
	}
}

func TestStreamedAndRetriedTasksWait(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	w.limit(t, `[{user: alice, max_active_tasks: 1}]`)
	s := w.submit(t, managed(streamed))
	if _, err := w.AddInputs(ctx, s.ID, 0, strings.NewReader("\"a\"\n")); err != nil {
		t.Fatal(err)
	}
	a := w.submit(t, managed(func(s *spec.Spec) { s.MaxAttempts = 1 }))
	w.throttled(t)
	if got, err := w.Commit(ctx, s.ID); err != nil || got.State != "throttled" {
		t.Fatalf("commit: %+v, %v", got, err)
	}
	w.all(t)
	f.lease(t, 10)
	f.end(t, "failed", 10)
	w.throttled(t)
	if got := w.states(t, s, a); got != "ready failed" {
		t.Fatalf("%s", got)
	}
	if ch, err := w.Say(ctx, VerbRetry, a.ID, nil); err != nil || ch.After != "throttled" || ch.Again != 10 {
		t.Fatalf("retry: %+v, %v", ch, err)
	}
	w.throttled(t)
	if got := w.states(t, s, a); got != "ready throttled" {
		t.Errorf("%s", got)
	}
}

// Of a task that says so, only so many jobs are there at once, on a site without limits, and of a retried one too.
func TestMaxRunning(t *testing.T) {
	w := newWorld(t)
	f := &fleet{db: w}
	other := w.submit(t, managed(func(s *spec.Spec) { s.Count = 4 }))
	task := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.MaxRunning, s.MaxAttempts = 5, 2, 1 }))
	made := func(of view.Task) int {
		return one[int](t, w.db, "SELECT n_generated FROM tasks WHERE id = $1", of.ID)
	}
	w.all(t)
	if a, b := made(task), made(other); a != 2 || b != 4 {
		t.Fatalf("%d and %d jobs at first, not 2 and 4", a, b)
	}
	w.throttled(t)
	if why := w.task(t, task.ID).Reason; why != "max_running of the task: 2 jobs ready or running at once" {
		t.Errorf("reason: %q", why)
	}
	for _, want := range []int{4, 5, 5} {
		f.lease(t, 20)
		f.end(t, "failed", 20)
		w.throttled(t)
		steps(t, w.Generate)
		if n := made(task); n != want {
			t.Fatalf("%d jobs, not %d", n, want)
		}
	}
	if _, err := w.Say(context.Background(), VerbRetry, task.ID, nil); err != nil {
		t.Fatal(err)
	}
	steps(t, w.Generate)
	if n := made(task); n != 7 {
		t.Fatalf("%d jobs after a retry, not 7", n)
	}
}
