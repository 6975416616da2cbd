package generator

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

var allVerbs = []Verb{VerbKill, VerbPause, VerbResume, VerbRetry, VerbFinish, VerbAvalanche}

func (w *world) say1(verb Verb, id int64) (Change, error) {
	return w.Say(context.Background(), verb, id, nil)
}

// documented reads columns of the table of doc.go.
func documented(t *testing.T, columns ...Verb) map[string]map[Verb]string {
	t.Helper()
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[Verb]string{}
	var header []string
	for line := range strings.Lines(string(src)) {
		cells := strings.Fields(strings.TrimPrefix(line, "//"))
		switch {
		case !slices.ContainsFunc(columns, func(v Verb) bool { return !slices.Contains(cells, string(v)) }):
			header = cells
		case len(cells) != 1+len(header):
			header = nil
		default:
			row := map[Verb]string{}
			for _, v := range columns {
				row[v] = cells[1+slices.Index(header, string(v))]
			}
			table[cells[0]] = row
		}
	}
	return table
}

// The table in doc.go, the one in the code, and what the database holds afterwards are the same for every
// (state, verb).
func TestVerbsOfEveryState(t *testing.T) {
	w := newWorld(t)
	table := documented(t, allVerbs...)
	for _, state := range judge.States {
		for _, verb := range allVerbs {
			want, ok := table[state][verb]
			if !ok {
				t.Fatalf("doc.go does not say what %s does to a task that is %s", verb, state)
			}
			if code := next[verb][state]; code != want && !(code == "" && want == "-") {
				t.Errorf("%s, %s: doc.go says %s, the code %q", state, verb, want, code)
			}
			w.verb(t, state, verb, want)
		}
	}
}

// verb says it to a task of that state which has one job of each kind, and one piece left.
func (w *world) verb(t *testing.T, state string, verb Verb, want string) {
	t.Helper()
	task := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.MaxAttempts = 4, 1 }))
	w.exec(t, `UPDATE tasks SET state = $2, resume_state = CASE WHEN $2 = 'paused' THEN 'running' END,
		ended_at = CASE WHEN $2 IN ('done', 'finished', 'failed', 'aborted') THEN now() END,
		n_generated = 3, n_split = 3 WHERE id = $1`, task.ID, state)
	w.exec(t, `INSERT INTO task_counts (task, ready, paused, held, waiting, finished, failed, cancelled, user_name)
		VALUES ($1, 0, 0, CASE WHEN $2 IN ('done', 'finished', 'failed', 'aborted') THEN 0 ELSE 1 END, 0, 1, 1, 0, 'alice')`, task.ID, state)
	change, err := w.say1(verb, task.ID)
	after := w.task(t, task.ID)
	switch {
	case want == "-":
		var se *judge.StateError
		if !errors.As(err, &se) || se.State != state || after.State != state {
			t.Errorf("%s, %s: %+v, %v", state, verb, change, err)
		}
		return
	case err != nil:
		t.Errorf("%s, %s: %v", state, verb, err)
		return
	case want == same:
		want = state
	case want == resumed:
		want = "running"
	}
	if change.Before != state || change.After != want || after.State != want {
		t.Errorf("%s, %s: %+v, the task is %s, want %s", state, verb, change, after.State, want)
	}
	if (after.EndedAt != nil) != judge.Final(want) {
		t.Errorf("%s, %s: ended at %v", state, verb, after.EndedAt)
	}
	// Said again it changes nothing, or is refused.
	again, err := w.say1(verb, task.ID)
	if err == nil && (again.Before != again.After || again.Ready+again.Leased > 0) || err != nil && !errors.Is(err, judge.ErrState) {
		t.Errorf("%s, %s twice: %+v, %v", state, verb, again, err)
	}
}

func TestKill(t *testing.T) {
	w := newWorld(t)
	f := &fleet{db: w}
	task := w.submit(t, managed(nil))
	w.all(t)
	f.lease(t, 3)
	c, err := w.Say(context.Background(), VerbKill, task.ID, nil)
	want := Change{Task: task.ID, Verb: VerbKill, Before: "ready", After: "aborting", Ready: 7, Leased: 3}
	if d := cmp.Diff(want, c); d != "" || err != nil {
		t.Errorf("%v: %s", err, d)
	}
	if got := w.settled(t, task.ID); got.State != "aborting" || got.Jobs.Cancelled != 7 || got.Jobs.Leased != 3 {
		t.Errorf("%+v", got)
	}
	f.end(t, "failed", 3)
	if got := w.settled(t, task.ID); got.State != "aborted" || got.Jobs.Cancelled != 10 || got.Reason != "killed" {
		t.Errorf("%+v", got)
	}
	if c, err := w.Say(context.Background(), VerbRetry, task.ID, nil); c.After != "running" || c.Again != 10 || err != nil {
		t.Errorf("tried again: %+v, %v", c, err)
	}
	w.all(t)
	f.lease(t, 10)
	f.end(t, "finished", 10)
	if got := w.settled(t, task.ID); got.State != "done" || got.Jobs.Finished != 10 || got.Jobs.Cancelled != 10 {
		t.Errorf("when all of it has finished: %+v", got)
	}
	before := w.submit(t, managed(streamed))
	if c, err := w.Say(context.Background(), VerbKill, before.ID, nil); c.After != "aborted" || err != nil {
		t.Errorf("before its commit: %+v, %v", c, err)
	}
	if _, err := w.Say(context.Background(), VerbRetry, before.ID, nil); !errors.Is(err, judge.ErrState) || !strings.Contains(err.Error(), "submit it anew") {
		t.Errorf("tried again without its inputs: %v", err)
	}
	if _, err := w.Commit(context.Background(), before.ID); !errors.Is(err, judge.ErrState) {
		t.Errorf("commit after the kill: %v", err)
	}
}

func TestPauseAndResume(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	task := w.submit(t, managed(nil))
	w.all(t)
	f.lease(t, 2)
	if c, err := w.Say(ctx, VerbPause, task.ID, nil); err != nil || c.Ready != 8 || c.After != "paused" {
		t.Fatalf("pause: %+v, %v", c, err)
	}
	f.end(t, "failed", 1) // it comes back, and is held
	steps(t, w.Settle)
	if n := f.lease(t, 10); n != 0 {
		t.Errorf("%d jobs of a paused task leased", n)
	}
	if got := w.settled(t, task.ID); got.Jobs.Waiting != 9 || got.Jobs.Leased != 1 {
		t.Errorf("paused: %+v", got)
	}
	if c, err := w.Say(ctx, VerbResume, task.ID, nil); err != nil || c.Ready != 9 || c.After != "running" {
		t.Fatalf("resume: %+v, %v", c, err)
	}
	f.end(t, "finished", 1)
	f.lease(t, 9)
	f.end(t, "finished", 9)
	if got := w.settled(t, task.ID); got.State != "done" {
		t.Errorf("resumed: %+v", got)
	}
}

func TestFinishSoftly(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.mark(broker.Mark{Floor: 3, Batch: 6})
	f := &fleet{db: w}
	task := w.submit(t, managed(nil))
	w.all(t) // 6 of 10 pieces
	f.lease(t, 2)
	if c, err := w.Say(ctx, VerbFinish, task.ID, nil); err != nil || c.Ready != 4 || c.Leased != 0 || c.After != "finishing" {
		t.Fatalf("finish: %+v, %v", c, err)
	}
	w.all(t)
	f.end(t, "finished", 2)
	if got := w.settled(t, task.ID); got.State != "finished" || got.Jobs.Finished != 2 || got.Jobs.Cancelled != 4 || got.Jobs.Total != 10 {
		t.Errorf("%+v", got)
	}
	// A retry takes up everything that did not finish: the cancelled ones and those that never were jobs.
	if c, err := w.Say(ctx, VerbRetry, task.ID, nil); err != nil || c.Again != 8 {
		t.Fatalf("retry: %+v, %v", c, err)
	}
	w.drain(t, f, []int64{task.ID})
	if got := w.task(t, task.ID); got.State != "done" || got.Jobs.Finished != 10 || got.Jobs.Total != 14 {
		t.Errorf("retried: %+v", got)
	}
}

// A verb is one entry a task, however many jobs that has. A task that was killed while it was paused can be tried again.
func TestVerbsOfManyJobs(t *testing.T) {
	w := newWorld(t)
	w.mark(broker.Mark{Floor: 20_000})
	const all = 12_007
	f := &fleet{db: w}
	task := w.submit(t, managed(func(s *spec.Spec) { s.Count = all }))
	w.all(t)
	check := func(verb Verb, state string, counts view.JobCounts) {
		t.Helper()
		c, err := w.say1(verb, task.ID)
		if err != nil || c.Ready != all {
			t.Fatalf("%s: %+v, %v", verb, c, err)
		}
		if n := one[int](t, w.db, "SELECT sum(jsonb_array_length(entries)) FROM outbox"); n > 2 {
			t.Errorf("%s: %d entries", verb, n)
		}
		if got := w.settled(t, task.ID); got.State != state || got.Jobs != counts {
			t.Errorf("%s: %+v", verb, got)
		}
	}
	check(VerbPause, "paused", view.JobCounts{Total: all, Waiting: all})
	check(VerbResume, "ready", view.JobCounts{Total: all, Ready: all})
	check(VerbPause, "paused", view.JobCounts{Total: all, Waiting: all})
	check(VerbKill, "aborted", view.JobCounts{Total: all, Cancelled: all})
	if c, err := w.Say(context.Background(), VerbRetry, task.ID, nil); err != nil || c.Again != all {
		t.Fatalf("retry: %+v, %v", c, err)
	}
	w.all(t)
	if n := f.lease(t, 20_000); n != all {
		t.Errorf("%d jobs could start of a task that is tried again", n)
	}
}

func TestRetryWhenTheShareIsGone(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	task := w.submit(t, managed(func(s *spec.Spec) { s.MaxAttempts = 1 }))
	w.all(t)
	f.lease(t, 10)
	f.end(t, "failed", 10)
	steps(t, w.Settle)
	gone := strings.NewReplacer(", {name: Rep, weight: 30}", "", "{name: MC,", "{name: New,", "share: Prod/MC", "share: Test", "share: Prod/Rep", "share: Test")
	w.apply(t, gone.Replace(siteYAML))
	if c, err := w.Say(ctx, VerbRetry, task.ID, nil); err != nil || c.Again != 10 {
		t.Fatalf("retry: %+v, %v", c, err)
	}
	if got := w.task(t, task.ID); got.Share != "Test" {
		t.Errorf("share %s", got.Share)
	}
}
