package generator

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/split"
	"github.com/divvyhq/divvy/generator/view"
)

// measured ends n running jobs as finished, with what they took; a job of one core of power 1 takes so many CPU seconds.
func (w *world) measured(t tb, n int, cpu float64, memoryMB int64) {
	t.Helper()
	said := entry.Ended{CPUMilli: int64(min(cpu*1000, math.MaxInt64/2)), MemoryMB: memoryMB}
	(&fleet{db: w}).endAs(t, "finished", n, said, outputs(t, map[string]any{"hits": map[string]any{"size": 2e6}, "log": "x"}))
	w.exec(t, "UPDATE history SET granted_at = ended_at - interval '100 s', start_delay_ms = 40000 WHERE granted_at > ended_at - interval '90 s'")
}

// Scouts go first; the rest is cut by what they measured.
func TestScouts(t *testing.T) {
	w := splitWorld(t)
	f := &fleet{db: w}
	task := w.submit(t, splitting(func(s *spec.Spec) {
		s.Scout, s.Events, s.Split = 3, &spec.Events{Total: 10_000}, &spec.Split{Fit: true, PerJob: 10, Efficiency: 1, BaseWalltime: 50}
	}))
	if n := steps(t, w.Generate); n != 3 || task.State != "ready" || task.Scouts != 3 {
		t.Fatalf("%d jobs of %+v", n, task)
	}
	f.lease(t, 3)
	if got := w.settled(t, task.ID); got.State != "scouting" || got.Jobs.Total != 3 {
		t.Fatalf("%+v", got)
	}
	w.measured(t, 2, 5, 800)
	w.settled(t, task.ID)
	steps(t, w.Sweep)
	if got := w.task(t, task.ID); got.State != "scouting" {
		t.Fatalf("with a scout that runs: %+v", got)
	}
	w.measured(t, 1, 10, 900)
	w.settled(t, task.ID)
	steps(t, w.Sweep)
	got := w.task(t, task.ID)
	want := view.Scouted{Finished: 3, CPUPerEvent: 1, OutputPerEvent: 0.2, MemoryMB: 900, Walltime: 60, Longest: 60}
	if got.State != "running" || got.Scouted == nil || *got.Scouted != want || got.Jobs.Total != 3+3 {
		t.Fatalf("%+v, scouted %+v", got, got.Scouted)
	}
	steps(t, w.Generate)
	if jobs := w.jobsOf(t, task.ID); jobs != "- 30+3550 3600s 3000MB; - 3580+3550 3600s 3000MB; - 7130+2870 3600s 3000MB" {
		t.Error(jobs)
	}
	if n := jobs[int](t, w, "SELECT count(*) FROM live_jobs j JOIN shapes s ON s.id = j.shape_id WHERE task_id = $1 AND s.memory_mb = 1024", task.ID); n != 3 {
		t.Errorf("%d jobs have the memory that was measured", n)
	}
	f.lease(t, 10)
	f.end(t, "finished", 10)
	if got := w.settled(t, task.ID); got.State != "done" || got.Pieces != 6 {
		t.Errorf("%+v", got)
	}
	w.recount(t)
}

// A scout that waited for most of its walltime makes jobs whose walltime is enough for that.
func TestScoutsThatWait(t *testing.T) {
	run := scoutRun{Events: 10, CPUS: 20, Power: 8, WallS: 250}
	for want, split := range map[float64]*spec.Split{
		2:     nil,                                       // by CPU time alone: 20 s / 10
		180:   {},                                        // 250 s * 8 * 0.9 / 10
		100:   {Efficiency: 0.5},                         // 250 s * 8 * 0.5 / 10
		160:   {BaseWalltime: 50, Efficiency: 1},         // 200 s * 8 / 10
		2.001: {BaseWalltime: 300, CPUPerEvent: 1000000}, // shorter than what it takes whatever its size
	} {
		if got := scoutedBy([]scoutRun{run}, split).CPUPerEvent; math.Abs(got-want) > 0.01 {
			t.Errorf("%+v: %v CPU seconds an event, want %v", split, got, want)
		}
	}
	m := scoutedBy([]scoutRun{run}, &spec.Split{BaseWalltime: 50})
	s := resized(spec.Spec{Split: &spec.Split{BaseWalltime: 50}}, &m)
	if w := split.ModelOf(s.Split, 4, 2).Walltime(split.Weight{Events: 10}); math.Abs(w-250) > 0.01 {
		t.Errorf("a job like the scout is given %v s", w)
	}
}

// Jobs that are not cut by weight get the memory and the walltime of the scouts; a task that is all scouts is over with them.
func TestScoutsOfEqualJobs(t *testing.T) {
	w := splitWorld(t)
	f := &fleet{db: w}
	many := w.submit(t, splitting(func(s *spec.Spec) { s.Count, s.Scout, s.Requirements.MemoryMB = 5, 2, 4000 }))
	few := w.submit(t, splitting(func(s *spec.Spec) { s.Inputs, s.Scout = spec.Named("a", "b"), 9 }))
	if n := steps(t, w.Generate); n != 4 {
		t.Fatalf("%d jobs", n)
	}
	f.lease(t, 4)
	w.settled(t, many.ID)
	w.measured(t, 4, 1, 1000)
	w.settled(t, many.ID)
	steps(t, w.Sweep)
	if got := w.task(t, few.ID); got.State != "done" || got.Scouted == nil {
		t.Errorf("%+v", got)
	}
	steps(t, w.Generate)
	if got := jobs[string](t, w, `SELECT string_agg(j.idx || ' ' || s.memory_mb || ' ' || s.walltime_s, '; ' ORDER BY j.idx)
		FROM live_jobs j JOIN shapes s ON s.id = j.shape_id`); got != "2 1152 96; 3 1152 96; 4 1152 96" {
		t.Error(got)
	}
}

// A scout that fails all its attempts stops the task, and says why; avalanche lets it go on.
func TestScoutFails(t *testing.T) {
	w := splitWorld(t)
	f := &fleet{db: w}
	task := w.submit(t, splitting(func(s *spec.Spec) { s.Count, s.Scout, s.MaxAttempts = 5, 2, 1 }))
	steps(t, w.Generate)
	f.lease(t, 2)
	w.settled(t, task.ID)
	f.endAs(t, "failed", 1, entry.Ended{ExitCode: 3}, ledger.Text{Reason: "no such file"})
	w.settled(t, task.ID)
	steps(t, w.Sweep)
	got := w.task(t, task.ID)
	if got.State != "exhausted" || !strings.Contains(got.Reason, "failed, the last time at attempt 1: exit code 3: no such file") {
		t.Fatalf("%+v", got)
	}
	f.end(t, "finished", 1)
	if got := w.settled(t, task.ID); got.State != "exhausted" || steps(t, w.Generate) != 0 {
		t.Fatalf("%+v", got)
	}
	if c, err := w.Say(context.Background(), VerbAvalanche, task.ID, nil); err != nil || c.After != "running" {
		t.Fatalf("%+v, %v", c, err)
	}
	if n := steps(t, w.Generate); n != 3 {
		t.Fatalf("%d jobs", n)
	}
	f.lease(t, 3)
	f.end(t, "finished", 3)
	if got := w.settled(t, task.ID); got.State != "finished" || got.Jobs.Finished != 4 || got.Reason != "" {
		t.Errorf("%+v", got)
	}
	if _, err := w.Say(context.Background(), VerbRetry, task.ID, nil); err != nil {
		t.Fatal(err)
	}
	steps(t, w.Generate)
	f.lease(t, 1)
	f.end(t, "finished", 1)
	if got := w.settled(t, task.ID); got.State != "done" {
		t.Errorf("%+v", got)
	}
	w.recount(t)
}

// What a pilot says of sizes and CPU time may be more than a sum holds: the task goes on by what is left of it.
func TestScoutsThatSayTooMuch(t *testing.T) {
	w := splitWorld(t)
	task := w.submit(t, splitting(func(s *spec.Spec) {
		s.Scout, s.Events, s.Split = 2, &spec.Events{Total: 1000}, &spec.Split{Fit: true, PerJob: 10}
	}))
	steps(t, w.Generate)
	(&fleet{db: w}).lease(t, 2)
	w.measured(t, 2, 1e308, 800)
	w.exec(t, "UPDATE history SET units = 1000000")
	w.exec(t, `UPDATE attempt_texts SET outputs = '{"a": {"size": 1e308}, "b": {"size": 1e308}, "c": {"size": 1e400}, "d": {"size": -1e400}}'`)
	w.settled(t, task.ID)
	steps(t, w.Sweep)
	got := w.task(t, task.ID)
	if got.Scouted == nil || got.Scouted.Finished != 2 || got.Scouted.OutputPerEvent != 3e8 {
		t.Fatalf("%+v, scouted %+v", got, got.Scouted)
	}
}
