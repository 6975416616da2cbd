package generator

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

func (w *world) settled(t tb, id int64) view.Task {
	t.Helper()
	steps(t, w.Settle)
	w.recount(t)
	return w.task(t, id)
}

func (w *world) all(t tb) {
	t.Helper()
	steps(t, w.Generate)
	steps(t, w.Settle)
	steps(t, w.Sweep)
	steps(t, w.Settle)
}

func TestLifeOfATask(t *testing.T) {
	w := newWorld(t)
	f := &fleet{db: w}
	task := w.submit(t, managed(func(s *spec.Spec) { s.MaxAttempts = 1 }))
	w.all(t)
	if got := w.settled(t, task.ID); got.State != "ready" || got.Jobs.Ready != 10 || got.StartedAt != nil {
		t.Errorf("generated: %+v", got)
	}
	f.lease(t, 4)
	if got := w.settled(t, task.ID); got.State != "running" || got.Jobs.Leased != 4 || got.Jobs.Ready != 6 || got.StartedAt == nil {
		t.Errorf("leased: %+v", got)
	}
	f.end(t, "finished", 3)
	f.end(t, "failed", 1)
	if got := w.settled(t, task.ID); got.State != "running" || got.Jobs.Finished != 3 || got.Jobs.Failed != 1 || got.EndedAt != nil {
		t.Errorf("some ended: %+v", got)
	}
	f.lease(t, 6)
	f.end(t, "finished", 6)
	if got := w.settled(t, task.ID); got.State != "finished" || got.Jobs.Finished != 9 || got.EndedAt == nil {
		t.Errorf("over: %+v", got)
	}
	// The failed piece is tried again, and fails, and again.
	for round, outcome := range []string{"failed", "finished"} {
		c, err := w.Say(context.Background(), VerbRetry, task.ID, nil)
		if err != nil || c.Again != 1 || c.After != "running" {
			t.Fatalf("retry: %+v, %v", c, err)
		}
		w.all(t)
		if f.lease(t, 5) != 1 || f.end(t, outcome, 5) != 1 {
			t.Fatal("want one job tried again")
		}
		got := w.settled(t, task.ID)
		if want := []string{"finished", "done"}[round]; got.State != want || got.Jobs.Total != int64(11+round) || got.EndedAt == nil {
			t.Errorf("after retry %d: %+v", round, got)
		}
	}
	chain := jobs[int](t, w, `SELECT count(*) FROM over_jobs a JOIN over_jobs b ON b.retry_of = a.id JOIN over_jobs c ON c.retry_of = b.id
		WHERE a.idx = b.idx AND b.idx = c.idx`)
	if chain != 1 {
		t.Errorf("%d chains of three attempts at one piece", chain)
	}
	if _, err := w.Say(context.Background(), VerbRetry, task.ID, nil); !errors.Is(err, judge.ErrState) {
		t.Errorf("retry of a task that is done: %v", err)
	}
}

func TestAllFailed(t *testing.T) {
	w := newWorld(t)
	f := &fleet{db: w}
	task := w.submit(t, managed(func(s *spec.Spec) { s.MaxAttempts = 2 }))
	w.all(t)
	for f.lease(t, 100) > 0 {
		f.end(t, "failed", 100)
	}
	if got := w.settled(t, task.ID); got.State != "failed" || got.Jobs.Failed != 10 {
		t.Errorf("%+v", got)
	}
	if n := jobs[int](t, w, "SELECT count(*) FROM over_jobs WHERE attempt = 2"); n != 10 {
		t.Errorf("%d jobs were tried twice", n)
	}
}

// Each move counts once, however many daemons settle at once.
func TestConcurrentSettle(t *testing.T) {
	w := newWorld(t)
	w.mark(broker.Mark{Floor: 2000})
	task := w.submit(t, managed(func(s *spec.Spec) { s.Count = 2000 }))
	steps(t, w.Generate)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 4 {
		g := New(w.config())
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := g.Settle(context.Background()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	f := &fleet{db: w}
	for range 40 {
		f.lease(t, 50)
		f.end(t, "finished", 50)
	}
	stop()
	all.Wait()
	if got := w.settled(t, task.ID); got.State != "done" {
		t.Errorf("%+v", got)
	}
}

// What the fold has changed is looked at once, whoever settles; where it is not known any more what that was, all tasks are.
func TestSettleGoesOn(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	task := w.submit(t, managed(nil))
	w.all(t)
	f.lease(t, 10)
	if n, err := New(w.config()).Settle(ctx); n != 1 || err != nil {
		t.Errorf("settled %d tasks, %v, want 1", n, err)
	}
	if n, err := w.Generator.Settle(ctx); n != 0 || err != nil {
		t.Errorf("settled %d tasks again, %v", n, err)
	}
	f.end(t, "finished", 9)
	w.all(t)
	f.end(t, "finished", 1)
	w.exec(t, "DELETE FROM steps")
	w.submit(t, managed(nil))
	w.all(t)
	if got := w.task(t, task.ID); got.State != "done" {
		t.Errorf("its last step was dropped before it was looked at: %+v", got)
	}
}

// A verb that is said while the last job ends is not forgotten: who comes later judges by what both said.
func TestVerbBesideTheLastEnd(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	w.mark(broker.Mark{Floor: 5, Batch: 5})
	task := w.submit(t, managed(nil))
	if _, err := w.Generate(ctx); err != nil {
		t.Fatal(err)
	}
	f.lease(t, 5)
	steps(t, w.Settle)
	tx := begin(t, w)
	if _, err := lockTasks(ctx, tx, []int64{task.ID}); err != nil {
		t.Fatal(err)
	}
	s := sayAll(VerbFinish, []lockedTask{{ID: task.ID, State: "running", NGenerated: 5}}, nil)
	if err := s.act(ctx, tx); err != nil {
		t.Fatal(err)
	}
	f.end(t, "finished", 5)
	late := make(chan error)
	go func() { _, err := w.Generator.Settle(ctx); late <- err }()
	w.waitForLock(t)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-late; err != nil {
		t.Fatal(err)
	}
	if got := w.task(t, task.ID); got.State != "finished" {
		t.Errorf("%+v", got)
	}
}

func begin(t testing.TB, w *world) pgx.Tx {
	t.Helper()
	tx, err := w.db.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// waitForLock waits until somebody waits for a lock.
func (w *world) waitForLock(t tb) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !one[bool](t, w.db, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')") {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits")
		}
	}
}

// Whatever happens in whatever order: after settling, counts equal a recount, and in the end every task is over.
func TestCountsEqualRecount(t *testing.T) {
	w := newWorld(t)
	w.mark(broker.Mark{Floor: 7, Batch: 9})
	ctx := context.Background()
	rapid.Check(t, func(r *rapid.T) {
		w.reset(r)
		f := &fleet{db: w}
		var ids []int64
		verb := func(verb Verb) func(*rapid.T) {
			return func(r *rapid.T) {
				if len(ids) == 0 {
					r.Skip()
				}
				if _, err := w.Say(ctx, verb, rapid.SampledFrom(ids).Draw(r, "task"), nil); err != nil && !errors.Is(err, judge.ErrState) {
					r.Fatal(err)
				}
			}
		}
		step := func(step func(context.Context) (int, error)) func(*rapid.T) {
			return func(r *rapid.T) {
				if _, err := step(ctx); err != nil {
					r.Fatal(err)
				}
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"submit": func(r *rapid.T) {
				if len(ids) == 5 {
					r.Skip()
				}
				ids = append(ids, w.submit(r, managed(func(s *spec.Spec) {
					s.Count = int64(rapid.IntRange(1, 20).Draw(r, "count"))
					s.Priority, s.MaxAttempts = rapid.IntRange(0, 2).Draw(r, "priority"), rapid.IntRange(1, 2).Draw(r, "attempts")
				})).ID)
			},
			"lease": func(r *rapid.T) { f.lease(r, rapid.IntRange(1, 12).Draw(r, "n")) },
			"end": func(r *rapid.T) {
				f.end(r, rapid.SampledFrom([]string{"finished", "failed", "failed"}).Draw(r, "outcome"), rapid.IntRange(1, 12).Draw(r, "n"))
			},
			"generate": step(w.Generate), "settle": step(w.Settle), "sweep": step(w.Sweep),
			"kill": verb(VerbKill), "pause": verb(VerbPause), "resume": verb(VerbResume), "retry": verb(VerbRetry), "finish": verb(VerbFinish),
		})
		steps(r, w.Settle)
		w.recount(r)
		w.drain(r, f, ids)
	})
}

// drain resumes what is paused and runs everything to its end.
func (w *world) drain(t tb, f *fleet, ids []int64) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		for _, id := range ids {
			if w.task(t, id).State == "paused" {
				if _, err := w.Say(context.Background(), VerbResume, id, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.all(t)
		f.lease(t, 50)
		f.end(t, "finished", 50)
		steps(t, w.Settle)
		over := !slices.ContainsFunc(ids, func(id int64) bool { return !judge.Final(w.task(t, id).State) })
		if over {
			w.recount(t)
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("tasks never end")
		}
	}
}
