package generator

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
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
	return one[string](t, w.db, `SELECT coalesce(string_agg(x, ' ' ORDER BY x), '') FROM (
		SELECT s.path || ':' || CASE WHEN l.job_id IS NULL THEN j.state ELSE 'leased' END || '=' || count(*) AS x
		FROM jobs j JOIN shares s ON s.id = j.share_id LEFT JOIN leases l ON l.job_id = j.id
		WHERE j.task_id = $1 AND coalesce(l.share_id, j.share_id) = j.share_id GROUP BY s.path, l.job_id IS NULL, j.state) y`, task)
}

func TestReassign(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	cfg.Mark = Mark{Floor: 6, Batch: 6}
	w.generateBy(cfg)
	running := w.submit(t, managed(nil)).ID
	steps(t, w.Settle)
	if _, err := w.Generate(context.Background()); err != nil {
		t.Fatal(err)
	}
	f := &fleet{db: w, lane: 1}
	if n := f.lease(t, 4); n != 4 {
		t.Fatalf("%d leased", n)
	}
	steps(t, w.Settle)
	over := w.submit(t, managed(func(s *Spec) { s.Share = "Test" })).ID
	if _, err := w.Kill(context.Background(), over); err != nil {
		t.Fatal(err)
	}
	r := w.reassign(t, "Prod/Rep", false, running, over, 999, running)
	want := []TaskReassigned{
		{Task: running, From: "Prod/MC", Moved: true, Pieces: 4, Ready: 2, Stay: 4,
			Why: "4 leased jobs stay charged to the share that they started under until they end, and if they fail they are ready there again; with running they go too"},
		{Task: over, From: "Test", Why: "it is over (aborted): what has ended stays where it was"},
		{Task: 999, Why: WhyNoTask},
	}
	if d := cmp.Diff(want, r.Tasks); d != "" || r.More {
		t.Errorf("more %v, %s", r.More, d)
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
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", share, err)
		}
	}
	if _, err := w.Reassign(context.Background(), ReassignRequest{Share: "Test"}); !errors.Is(err, ErrInvalid) {
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
	held := w.submit(t, managed(func(s *Spec) { s.Label = "odd" })).ID
	paused := w.submit(t, managed(nil)).ID
	w.all(t)
	if _, err := w.Pause(context.Background(), paused); err != nil {
		t.Fatal(err)
	}
	r := w.reassign(t, "Test", false, held, paused)
	want := []TaskReassigned{{Task: held, Moved: true, Pieces: 10}, {Task: paused, From: "Prod/MC", Moved: true, Waiting: 10}}
	if d := cmp.Diff(want, r.Tasks); d != "" {
		t.Error(d)
	}
	if a, b := w.task(t, held), w.task(t, paused); a.State != "ready" || b.State != "paused" {
		t.Errorf("states %s, %s", a.State, b.State)
	}
	if _, err := w.Resume(context.Background(), paused); err != nil {
		t.Fatal(err)
	}
	w.all(t)
	if a, b := w.sharesOf(t, held), w.sharesOf(t, paused); a != "Test:ready=10" || b != a {
		t.Errorf("jobs %s, %s", a, b)
	}
	steps(t, w.Settle)
	w.recount(t)
}

// More jobs than one request moves: it says so, and a repeat goes on.
func TestReassignGoesOn(t *testing.T) {
	w := newWorld(t)
	cfg := w.config()
	cfg.Mark = Mark{Floor: 200_000, Batch: 20_000}
	w.generateBy(cfg)
	const n = reassignBatches*reassignJobs + 10
	id := w.submit(t, managed(func(s *Spec) { s.Count = n })).ID
	other := w.submit(t, managed(func(s *Spec) { s.Count = 1 })).ID
	steps(t, w.Generate)
	first := w.reassign(t, "Test", false, id, other)
	if got := first.Tasks; !first.More || got[0].Ready != n-10 || !got[0].More || got[0].From != "Prod/MC" || !got[1].More {
		t.Errorf("%+v", first)
	}
	rest := w.reassign(t, "Test", false, id, other)
	if got := rest.Tasks; rest.More || got[0].Ready != 10 || got[1].Ready != 1 {
		t.Errorf("%+v", rest)
	}
	steps(t, w.Settle)
	w.recount(t)
}

// Tasks go to and fro while generators make jobs and pilots run them; in the end all is done, and counts are right.
func TestReassignUnderLoad(t *testing.T) {
	w := newWorld(t)
	d, err := dispatcher.Open(context.Background(), dispatcher.Config{Pool: w.db, Load: w.store.Version})
	if err != nil {
		t.Fatal(err)
	}
	cfg := w.config()
	cfg.Stock, cfg.Mark = d.Stock, Mark{Floor: 50, Batch: 40}
	w.generateBy(cfg)
	ctx, stop := context.WithCancel(context.Background())
	var loops, pilots sync.WaitGroup
	loops.Go(func() {
		if err := d.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	for _, step := range []func(context.Context) (int, error){d.Refresh, w.Generate, w.Settle, w.Sweep} {
		loops.Go(func() { tick(ctx, t, step) })
	}
	ids := []int64{w.submit(t, managed(func(s *Spec) { s.Count = 300 })).ID, w.submit(t, managed(func(s *Spec) { s.Share, s.Count = "Test", 300 })).ID}
	for _, name := range []string{"p1", "p2", "p3", "p4"} {
		pilots.Go(func() { pilot(ctx, t, d, name) })
	}
	deadline, moves := time.Now().Add(2*time.Minute), 0
	for over := false; !over; moves++ {
		w.reassign(t, []string{"Prod/Rep", "Test", "Prod/MC"}[moves%3], moves%2 == 0, ids...)
		time.Sleep(50 * time.Millisecond) // grants stand still while jobs move: let there be some between
		over = final(w.task(t, ids[0]).State) && final(w.task(t, ids[1]).State)
		if time.Now().After(deadline) {
			t.Fatalf("not over: %+v %+v", w.task(t, ids[0]), w.task(t, ids[1]))
		}
	}
	stop()
	pilots.Wait()
	loops.Wait()
	if err := d.Close(context.Background()); err != nil {
		t.Error(err)
	}
	steps(t, w.Settle)
	w.recount(t)
	for _, id := range ids {
		if task := w.task(t, id); task.Jobs.Finished+task.Jobs.Failed < 300 {
			t.Errorf("%+v", task.Jobs)
		}
	}
	if n := one[int](t, w.db, `SELECT count(*) FROM (
			SELECT share_id, queue_id, sum(held) AS held, sum(units) AS units FROM (
				SELECT share_id, queue_id, held, held_units AS units FROM counters
				UNION ALL SELECT share_id, queue_id, (after = 'l')::int * n - (before = 'l')::int * n,
					((after = 'l')::int - (before = 'l')::int) * units FROM ledger_tail_moves WHERE 'l' IN (before, after)
				UNION ALL SELECT share_id, queue_id, -1, -units FROM leases) x
			GROUP BY 1, 2 HAVING sum(held) <> 0 OR sum(units) <> 0) wrong`); n != 0 {
		t.Errorf("%d sums of held units differ from a recount", n)
	}
	t.Logf("%d rounds of moves", moves)
}
