package generator

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
)

func (w *world) reassign(t *testing.T, share string, running bool, ids ...int64) Reassigned {
	t.Helper()
	r, err := w.Reassign(context.Background(), ReassignRequest{Share: share, Tasks: ids, Running: running})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sharesOf counts a task's live jobs by share and state.
func (w *world) sharesOf(t *testing.T, task int64) string {
	t.Helper()
	return jobs[string](t, w, `SELECT coalesce(string_agg(x, ' ' ORDER BY x), '') FROM (
		SELECT s.path || ':' || CASE WHEN j.leased THEN 'leased' ELSE j.state END || '=' || count(*) AS x
		FROM live_jobs j JOIN shares s ON s.id = j.share_id
		WHERE j.task_id = $1 GROUP BY s.path, j.leased, j.state) y`, task)
}

func TestReassign(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	cfg.Mark = broker.Mark{Floor: 6, Batch: 6}
	w.generateBy(cfg)
	running := w.submit(t, managed(nil)).ID
	steps(t, w.Settle)
	if _, err := w.Generate(context.Background()); err != nil {
		t.Fatal(err)
	}
	f := &fleet{db: w}
	if n := f.lease(t, 4); n != 4 {
		t.Fatalf("%d leased", n)
	}
	steps(t, w.Settle)
	over := w.submit(t, managed(func(s *spec.Spec) { s.Share = "Test" })).ID
	if _, err := w.Say(context.Background(), VerbKill, over, nil); err != nil {
		t.Fatal(err)
	}
	r := w.reassign(t, "Prod/Rep", false, running, over, 999, running)
	want := []TaskReassigned{
		{Task: running, From: "Prod/MC", Moved: true, Pieces: 4, Ready: 2, Stay: 4,
			Why: "4 leased jobs stay charged to the share that they started under until they end, and if they fail they are ready in the new one; with running they go too"},
		{Task: over, From: "Test", Why: "it is over (aborted): what has ended stays where it was"},
		{Task: 999, Why: WhyNoTask},
	}
	if d := cmp.Diff(want, r.Tasks); d != "" {
		t.Error(d)
	}
	if got := w.sharesOf(t, running); got != "Prod/MC:leased=4 Prod/Rep:ready=2" {
		t.Errorf("jobs %s", got)
	}
	again := w.reassign(t, "Prod/Rep", false, running).Tasks[0]
	if again.Moved || !strings.HasPrefix(again.Why, "4 leased jobs stay") {
		t.Errorf("again: %+v", again)
	}
	if got := w.reassign(t, "Prod/Rep", true, running).Tasks[0]; got.Leased != 4 || !got.Moved || got.Stay != 0 || got.Why != "" {
		t.Errorf("with running: %+v", got)
	}
	w.fold(t)
	if got := w.reassign(t, "Prod/Rep", true, running).Tasks[0]; got.Moved || got.Why != "it is in Prod/Rep already" {
		t.Errorf("with running, again: %+v", got)
	}
	w.all(t)
	if got := w.sharesOf(t, running); got != "Prod/Rep:leased=4 Prod/Rep:ready=6" {
		t.Errorf("jobs %s", got)
	}
	if task := w.task(t, running); task.Share != "Prod/Rep" || task.JobShare != "" || task.TaggedBy.Verdict != "explicit" {
		t.Errorf("%+v", task)
	}
	steps(t, w.Settle)
	w.recount(t)
}

func TestReassignRefuses(t *testing.T) {
	w := newWorld(t)
	id := w.submit(t, managed(nil)).ID
	for share, want := range map[string]string{
		"Prod/Rap": `share: there is no share "Prod/Rap" (did you mean "Prod/Rep"?)`,
		"Prod":     `share: "Prod" is not a leaf (jobs belong to leaves, as below Prod/MC, Prod/Rep)`,
	} {
		_, err := w.Reassign(context.Background(), ReassignRequest{Share: share, Tasks: []int64{id}})
		if !errors.Is(err, spec.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", share, err)
		}
	}
	if _, err := w.Reassign(context.Background(), ReassignRequest{Share: "Test"}); !errors.Is(err, spec.ErrInvalid) {
		t.Error(err)
	}
	if got := w.task(t, id); got.Share != "Prod/MC" {
		t.Errorf("moved to %s", got.Share)
	}
}

// A task that no rule matched is ready once it has a share; a paused one stays paused, and comes back in the new share.
func TestReassignIdleTasks(t *testing.T) {
	w := newWorld(t)
	w.apply(t, strings.Replace(siteYAML, "on_no_match: reject", "on_no_match: hold", 1))
	held := w.submit(t, managed(func(s *spec.Spec) { s.Label = "odd" })).ID
	paused := w.submit(t, managed(nil)).ID
	w.all(t)
	if _, err := w.Say(context.Background(), VerbPause, paused, nil); err != nil {
		t.Fatal(err)
	}
	w.fold(t)
	r := w.reassign(t, "Test", false, held, paused)
	want := []TaskReassigned{{Task: held, Moved: true, Pieces: 10}, {Task: paused, From: "Prod/MC", Moved: true, Waiting: 10}}
	if d := cmp.Diff(want, r.Tasks); d != "" {
		t.Error(d)
	}
	if a, b := w.task(t, held), w.task(t, paused); a.State != "ready" || b.State != "paused" {
		t.Errorf("states %s, %s", a.State, b.State)
	}
	if _, err := w.Say(context.Background(), VerbResume, paused, nil); err != nil {
		t.Fatal(err)
	}
	w.all(t)
	if a, b := w.sharesOf(t, held), w.sharesOf(t, paused); a != "Test:ready=10" || b != a {
		t.Errorf("jobs %s, %s", a, b)
	}
	steps(t, w.Settle)
	w.recount(t)
}

// Tasks go to and fro while generators make jobs and pilots run them; in the end all is done, and counts are right.
func TestReassignUnderLoad(t *testing.T) {
	w := newWorld(t)
	d := w.dispatch(t)
	cfg := w.config()
	cfg.Stock, cfg.Mark = d.Stock, broker.Mark{Floor: 50, Batch: 40}
	w.generateBy(cfg)
	ctx, stop := context.WithCancel(context.Background())
	var loops, pilots sync.WaitGroup
	for _, step := range []func(context.Context) (int, error){w.Generate, w.Generator.Settle, w.Sweep} {
		loops.Go(func() { tick(ctx, t, step) })
	}
	ids := []int64{w.submit(t, managed(func(s *spec.Spec) { s.Count = 300 })).ID, w.submit(t, managed(func(s *spec.Spec) { s.Share, s.Count = "Test", 300 })).ID}
	for _, name := range []string{"p1", "p2", "p3", "p4"} {
		pilots.Go(func() { pilot(ctx, t, d, name) })
	}
	deadline, moves := time.Now().Add(2*time.Minute), 0
	for over := false; !over; moves++ {
		w.reassign(t, []string{"Prod/Rep", "Test", "Prod/MC"}[moves%3], moves%2 == 0, ids...)
		d.Settle()
		over = judge.Final(w.task(t, ids[0]).State) && judge.Final(w.task(t, ids[1]).State)
		if time.Now().After(deadline) {
			t.Fatalf("not over: %+v %+v", w.task(t, ids[0]), w.task(t, ids[1]))
		}
	}
	stop()
	pilots.Wait()
	loops.Wait()
	steps(t, w.Settle)
	w.recount(t)
	for _, id := range ids {
		if task := w.task(t, id); task.Jobs.Finished+task.Jobs.Failed < 300 {
			t.Errorf("%+v", task.Jobs)
		}
	}
	if n := one[int](t, w.db, "SELECT count(*) FROM share_counts WHERE held <> 0 OR held_units <> 0 OR ready < 0"); n != 0 {
		t.Errorf("%d sums of held units are left", n)
	}
	t.Logf("%d rounds of moves", moves)
}
