package generator

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
)

// halvesOf writes the jobs of a task that are live or have finished: index, inputs, events, attempts.
func (w *world) halvesOf(t *testing.T, id int64) string {
	t.Helper()
	return jobs[string](t, w, `SELECT coalesce(string_agg(concat_ws(' ', CASE WHEN idx < 1000000000000 THEN idx::text ELSE '+' || idx - 1000000000000 END,
			array_to_string(inputs, ','), first_event || '+' || n_events, attempt || '/' || max_attempts, nullif(state, 'ready')), '; ' ORDER BY idx), '')
		FROM (SELECT task_id, idx, inputs, first_event, n_events, attempt, max_attempts, state FROM live_jobs
			UNION ALL SELECT task_id, idx, inputs, first_event, n_events, attempt, max_attempts, state FROM over_jobs) j WHERE task_id = $1`, id)
}

// splitAll has every ready job fail once so that it is split, or would be.
func (w *world) splitAll(t *testing.T, f *fleet, id int64) {
	t.Helper()
	f.lease(t, 1000)
	w.settled(t, id)
	f.end(t, splitSmaller, 1000)
	w.settled(t, id)
	steps(t, w.Sweep)
	w.settled(t, id)
}

// Both halves have the attempts that are left, the rest is cut as if nothing had happened, and what fails in the end is tried again in the
// pieces that there are then.
func TestPiecesAreSplit(t *testing.T) {
	w := newWorld(t)
	w.mark(broker.Mark{Floor: 2, Batch: 2})
	f := &fleet{db: w}
	task := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.Events, s.MaxAttempts = 0, &spec.Events{Total: 19, PerJob: 5}, 3 }))
	steps(t, w.Generate)
	w.splitAll(t, f, task.ID)
	if got, want := w.halvesOf(t, task.ID), "0 0+3 2/3; 1 5+3 2/3; +0 3+2 1/2; +1 8+2 1/2"; got != want {
		t.Fatalf("once: %s, want %s", got, want)
	}
	if got := w.task(t, task.ID); got.State != "running" || got.Pieces != 6 || got.Jobs.Total != 6 || got.Jobs.Ready != 4 {
		t.Errorf("once: %+v", got)
	}
	w.splitAll(t, f, task.ID)
	want := "0 0+2 3/3; 1 5+2 3/3; +0 3+1 2/2; +1 8+1 2/2; +2 2+1 1/1; +3 7+1 1/1; +4 4+1 1/1; +5 9+1 1/1"
	if got := w.halvesOf(t, task.ID); got != want {
		t.Fatalf("twice: %s, want %s", got, want)
	}
	f.lease(t, 8)
	f.end(t, "failed", 8)
	w.settled(t, task.ID)
	for range 3 {
		steps(t, w.Generate)
		f.lease(t, 8)
		f.end(t, "finished", 8)
		w.settled(t, task.ID)
	}
	got := w.task(t, task.ID)
	if got.State != "finished" || got.Pieces != 10 || got.Jobs.Finished != 2 || got.Jobs.Failed != 8 {
		t.Fatalf("%+v", got)
	}
	if c, err := w.Say(context.Background(), VerbRetry, task.ID, nil); err != nil || c.Again != 8 {
		t.Fatalf("%+v, %v", c, err)
	}
	for range 8 {
		steps(t, w.Generate)
		f.lease(t, 8)
		f.end(t, "finished", 8)
		w.settled(t, task.ID)
	}
	if got := w.task(t, task.ID); got.State != "done" || got.Jobs.Finished != 10 {
		t.Errorf("%+v", got)
	}
	w.recount(t)
}

// What can be split, and what is tried again whole; the attempt says why.
func TestWhatIsSplit(t *testing.T) {
	w := splitWorld(t)
	f := &fleet{db: w}
	ctx := context.Background()
	for name, c := range map[string]struct {
		change func(*spec.Spec)
		verb   Verb
		want   string
		why    string
	}{
		"inputs":        {change: func(s *spec.Spec) { s.Inputs, s.PerJob = spec.Named("a", "b", "c"), 3 }, want: "0 a,b 2/3; +0 c 1/2"},
		"one input":     {change: func(s *spec.Spec) { s.Inputs = spec.Named("a") }, want: "0 a 2/3", why: "it has one input"},
		"one event":     {change: func(s *spec.Spec) { s.Events = &spec.Events{Total: 1, PerJob: 1} }, want: "0 0+1 2/3", why: "it has one event"},
		"count":         {change: func(s *spec.Spec) { s.Count = 1 }, want: "0 2/3", why: "is split by count"},
		"matrix":        {change: func(s *spec.Spec) { s.Matrix = []job.Axis{{Name: "a", Values: []string{"x"}}} }, want: "0 2/3", why: "is split by matrix"},
		"bytes":         {change: func(s *spec.Spec) { s.Inputs, s.Split = sized(5, 5), &spec.Split{By: "bytes", PerJob: 10} }, want: "0 0 2/3; +0 1 1/2"},
		"shared inputs": {change: func(s *spec.Spec) { s.Inputs, s.Split = eventful(5), &spec.Split{By: "events", PerJob: 9} }, want: "0 0 0+3 2/3; +0 0 3+2 1/2"},
		"inputs that say their events": {change: func(s *spec.Spec) { s.Inputs, s.Split = eventful(5, 7, 0, 1), &spec.Split{PerJob: 9} },
			want: "0 0,1 0+12 2/3; +0 2,3 0+1 1/2"},
		"fit": {change: func(s *spec.Spec) {
			s.Events, s.Split = &spec.Events{Total: 9}, &spec.Split{Fit: true, CPUPerEvent: 1, Efficiency: 1}
		}, want: "0 0+5 2/3; +0 5+4 1/2"},
		"scout": {change: func(s *spec.Spec) { s.Events, s.Scout = &spec.Events{Total: 9, PerJob: 9}, 1 }, want: "0 0+9 2/3", why: "scouts measure"},
		"paused": {change: func(s *spec.Spec) { s.Events = &spec.Events{Total: 9, PerJob: 9} }, verb: VerbPause,
			want: "0 0+5 2/3 waiting; +0 5+4 1/2 waiting"},
		"finishing": {change: func(s *spec.Spec) { s.Events = &spec.Events{Total: 9, PerJob: 9} }, verb: VerbFinish, want: "0 0+9 1/3 cancelled"},
		"killed":    {change: func(s *spec.Spec) { s.Events = &spec.Events{Total: 9, PerJob: 9} }, verb: VerbKill, want: "0 0+9 1/3 cancelled"},
	} {
		task := w.submit(t, splitting(c.change))
		steps(t, w.Generate)
		f.lease(t, 1)
		w.exec(t, "INSERT INTO judgements (job_id, attempt, note) SELECT job, attempt, 'rule r: split_smaller' FROM held")
		f.end(t, splitSmaller, 1)
		w.settled(t, task.ID)
		if c.verb != "" {
			if _, err := w.say1(c.verb, task.ID); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			steps(t, w.Sweep)
			w.settled(t, task.ID)
		}
		if got := w.halvesOf(t, task.ID); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		judged := one[string](t, w.db, "SELECT n.note FROM judgements n JOIN made_jobs m ON m.id = n.job_id WHERE m.task_id = $1", task.ID)
		want := "rule r: split_smaller: not split, since " + c.why
		if strings.Contains(c.want, "+0 ") && strings.Contains(c.want, ";") {
			want = fmt.Sprintf("rule r: split_smaller: the second half of its piece is job %d",
				jobs[int64](t, w, "SELECT max(id) FROM live_jobs WHERE task_id = $1", task.ID))
		} else if c.why == "" {
			want = "rule r: split_smaller"
		}
		if !strings.HasPrefix(judged, want) && !strings.Contains(judged, c.why) || c.why == "" && judged != want {
			t.Errorf("%s: judged %q, want %q", name, judged, want)
		}
		if left := one[int](t, w.db, "SELECT count(*) FROM splittings"); left != 0 {
			t.Errorf("%s: %d jobs wait on", name, left)
		}
		if _, err := w.Say(ctx, VerbKill, task.ID, nil); err != nil && c.verb == "" {
			t.Error(err)
		}
	}
}

// What counts as soon as it is over, whatever way, counts once: a piece that is split when it is tried again gives no other job to
// who waited for it.
func TestSplitOfWhatHadCounted(t *testing.T) {
	w := newWorld(t)
	f := &fleet{db: w}
	a := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.Events, s.MaxAttempts = 0, &spec.Events{Total: 8, PerJob: 4}, 1 }))
	b := w.submit(t, needing(func(s *spec.Spec) { s.Count, s.Events, s.Share = 0, &spec.Events{Total: 8, PerJob: 8}, "Prod/Rep" }, spec.Need{Task: a.ID, Per: spec.PerInput, When: spec.WhenAny}))
	both := w.submit(t, needing(func(s *spec.Spec) { s.Count, s.Events, s.Share = 0, &spec.Events{Total: 8, PerJob: 4}, "Prod/Rep" }, spec.Need{Task: a.ID, Per: spec.PerInput, When: spec.WhenAny}))
	w.turn(t)
	f.lease(t, 2)
	f.end(t, "failed", 1)
	w.turn(t)
	f.end(t, "failed", 1)
	steps(t, w.Settle) // before Chain sees that it is over
	attempts := 3
	if _, err := w.Say(context.Background(), VerbRetry, a.ID, &spec.Changes{MaxAttempts: &attempts}); err != nil {
		t.Fatal(err)
	}
	w.fold(t)
	w.exec(t, "UPDATE idle_ranges SET place = 99 WHERE task <> $1", a.ID) // later
	steps(t, w.Generate)
	f.lease(t, 2)
	f.end(t, splitSmaller, 2)
	steps(t, w.Sweep)
	w.finishAll(t, f, []int64{a.ID, b.ID, both.ID})
	for id, want := range map[int64]string{b.ID: "0 0+8 1/3 finished", both.ID: "0 0+4 1/3 finished; 1 4+4 1/3 finished"} {
		if got := w.halvesOf(t, id); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
