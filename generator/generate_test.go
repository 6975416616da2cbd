package generator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

func TestPieces(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		change func(*spec.Spec)
		want   string
	}{
		{func(s *spec.Spec) { s.Count = 3 }, "0: 1: 2:"},
		{func(s *spec.Spec) { s.Count, s.Inputs, s.PerJob = 0, spec.Named("a", "b", "c"), 2 }, "0:a,b 1:c"},
		{func(s *spec.Spec) { s.Count, s.Events = 0, &spec.Events{Total: 7, PerJob: 3} }, "0:0+3 1:3+3 2:6+1"},
		{func(s *spec.Spec) {
			s.Count, s.Matrix = 0, []job.Axis{{Name: "x", Values: []string{"1", "2"}}, {Name: "y", Values: []string{"1", "2"}}}
		}, "0: 1: 2: 3:"},
	} {
		task := w.submit(t, managed(c.change))
		steps(t, w.Generate)
		got := jobs[string](t, w, `SELECT string_agg(idx || ':' || coalesce(array_to_string(inputs, ','), '') || coalesce(first_event || '+' || n_events, ''),
			' ' ORDER BY idx) FROM live_jobs WHERE task_id = $1`, task.ID)
		if got != c.want {
			t.Errorf("jobs %s, want %s", got, c.want)
		}
	}
}

// A stock of low priority does not keep an urgent task waiting; within a priority the older task comes first.
func TestGenerateByPriority(t *testing.T) {
	w := newWorld(t)
	w.mark(broker.Mark{Floor: 10, Batch: 50})
	low := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.Priority = 1000, 1 }))
	if n := steps(t, w.Generate); n != 20 {
		t.Fatalf("%d jobs in stock, want twice the mark", n)
	}
	first := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.Priority = 12, 900 }))
	second := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.Priority = 1000, 900 }))
	steps(t, w.Generate)
	for id, want := range map[int64]int{low.ID: 20, first.ID: 12, second.ID: 8} {
		if n := jobs[int](t, w, "SELECT count(*) FROM live_jobs WHERE task_id = $1", id); n != want {
			t.Errorf("task %d has %d jobs, want %d", id, n, want)
		}
	}
}

// The neediest share comes first, and one that another worker holds is passed over.
func TestGenerateNeediestFreeShare(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.mark(broker.Mark{Floor: 10, Batch: 1000})
	rep := w.submit(t, managed(func(s *spec.Spec) { s.Share, s.Count = "Prod/Rep", 500 }))
	mc := w.submit(t, managed(func(s *spec.Spec) { s.Share, s.Count = "Prod/MC", 500 }))
	rows := func(id int64) int { return jobs[int](t, w, "SELECT count(*) FROM live_jobs WHERE task_id = $1", id) }
	mcID := one[int32](t, w.db, "SELECT id FROM shares WHERE path = 'Prod/MC'")
	err := pg.InTx(ctx, w.db, func(tx pgx.Tx) error {
		if ok, err := pg.TryLock(ctx, tx, pg.LockShare, mcID); err != nil || !ok {
			return fmt.Errorf("lock: %v %w", ok, err)
		}
		if n := steps(t, w.Generate); n != 20 || rows(rep.ID) != 20 || rows(mc.ID) != 0 {
			t.Errorf("%d jobs while the other share is locked: %d and %d", n, rows(rep.ID), rows(mc.ID))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.Generate(ctx); n != 20 || err != nil || rows(mc.ID) != 20 {
		t.Errorf("%d jobs after it was freed, %v", n, err)
	}
}

// A worker that decided before the last batch of a share makes nothing, with or without the advisory lock.
func TestEpochFencesStaleDecision(t *testing.T) {
	w := newWorld(t)
	task := w.submit(t, managed(func(s *spec.Spec) { s.Count = 3000 }))
	share := one[shares.ShareID](t, w.db, "SELECT share_id FROM tasks WHERE id = $1", task.ID)
	stale := broker.Need{Share: share, Wants: map[broker.Rung]int64{{Shape: one[int32](t, w.db, "SELECT shape_id FROM tasks")}: 500}}
	steps(t, w.Generate)
	before := jobs[int](t, w, "SELECT count(*) FROM live_jobs")
	err := pg.InTx(context.Background(), w.db, func(tx pgx.Tx) error {
		_, err := w.generate(context.Background(), tx, stale)
		return err
	})
	if !errors.Is(err, errOvertaken) {
		t.Errorf("stale decision: %v", err)
	}
	if n := jobs[int](t, w, "SELECT count(*) FROM live_jobs"); n != before {
		t.Errorf("%d jobs, had %d", n, before)
	}
}

// Many workers of several daemons: pieces become jobs exactly once, a share has one worker at a time, and shares
// are served side by side.
func TestConcurrentGenerators(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	want := 0
	for _, share := range []string{"Prod/MC", "Prod/Rep", "Wide", "Test"} {
		for i := range 3 {
			want += 2000 + i
			w.submit(t, managed(func(s *spec.Spec) { s.Share, s.Count, s.Priority = share, int64(2000+i), i }))
		}
	}
	cfg := w.config()
	cfg.Mark = broker.Mark{Floor: 100_000, Cap: 100_000, Batch: 97}
	watch := watchShares(t, w)
	var all sync.WaitGroup
	for range 8 {
		g := New(cfg) // a daemon of its own
		all.Go(func() {
			for {
				n, err := g.Generate(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				if n == 0 && one[bool](t, w.db, "SELECT bool_and(n_generated = n_jobs) FROM tasks") {
					return
				}
			}
		})
	}
	all.Wait()
	most := watch()
	if n := jobs[int](t, w, "SELECT count(*) FROM live_jobs"); n != want {
		t.Errorf("%d jobs, want %d", n, want)
	}
	if n := jobs[int](t, w, "SELECT count(DISTINCT (task_id, idx)) FROM live_jobs"); n != want {
		t.Errorf("%d pieces, want %d", n, want)
	}
	// Each batch raised the epoch of its share by one.
	epochs, rows := one[int64](t, w.db, "SELECT sum(epoch)::bigint FROM generations"), one[int64](t, w.db, "SELECT count(DISTINCT (share_id, made_at)) FROM job_blocks")
	if epochs != rows {
		t.Errorf("%d epochs for %d batches", epochs, rows)
	}
	t.Logf("%d batches; at most %d shares side by side", rows, most)
}

// watchShares looks at the advisory locks until it is stopped, and returns the most shares locked at once. That no
// share is locked twice is the server's promise; that each batch has the lock is checked by the epochs.
func watchShares(t *testing.T, w *world) (stop func() int) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int)
	go func() {
		most := 0
		for ctx.Err() == nil {
			var n int
			err := w.db.QueryRow(context.Background(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
				AND classid::bigint = $1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, int64(pg.LockShare)).Scan(&n)
			if err != nil {
				t.Error(err)
				break
			}
			most = max(most, n)
		}
		done <- most
	}()
	return func() int { cancel(); return <-done }
}

// A worker that dies inside its transaction leaves nothing behind: the share goes on at once.
func TestKilledWorker(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	task := w.submit(t, managed(func(s *spec.Spec) { s.Count = 100 }))
	share := one[shares.ShareID](t, w.db, "SELECT share_id FROM tasks WHERE id = $1", task.ID)
	conn, err := pgx.Connect(ctx, w.db.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	need := broker.Need{Share: share, Wants: map[broker.Rung]int64{{Shape: one[int32](t, w.db, "SELECT shape_id FROM tasks")}: 100}}
	if n, err := w.generate(ctx, tx, need); n != 100 || err != nil {
		t.Fatalf("%d jobs, %v", n, err)
	}
	if n, err := w.Generate(ctx); n != 0 || err != nil {
		t.Fatalf("%d jobs beside the worker, %v", n, err)
	}
	w.exec(t, "SELECT pg_terminate_backend($1)", conn.PgConn().PID())
	deadline := time.Now().Add(2 * time.Minute)
	for {
		n, err := w.Generate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n == 100 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the share of a dead worker stands still")
		}
	}
}

func TestMoveShare(t *testing.T) {
	w := newWorld(t)
	task := w.submit(t, managed(nil))
	other := w.submit(t, managed(func(s *spec.Spec) { s.Share, s.WorkingGroup, s.Requirements.Cores = "Test", "GP_WIDE", 8 }))
	w.all(t)
	w.submit(t, managed(func(s *spec.Spec) { s.Count = 7 })) // all to come
	id := func(path string) shares.ShareID {
		return one[shares.ShareID](t, w.db, "SELECT id FROM shares WHERE path = $1", path)
	}
	err := pg.InTx(context.Background(), w.db, func(tx pgx.Tx) error {
		for from, to := range map[string]string{"Prod/MC": "Prod/Rep", "Test": "Wide"} {
			if err := MoveShare(context.Background(), tx, id(from), id(to)); err != nil {
				return err
			}
		}
		live, err := view.Live(context.Background(), tx)
		want := map[shares.ShareID]site.Live{id("Prod/Rep"): {Tasks: 2, Ready: 10, Pieces: 7}, id("Wide"): {Tasks: 1, Ready: 10}}
		if d := cmp.Diff(want, live); d != "" || err != nil {
			t.Errorf("%v, live work: %s", err, d)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.task(t, task.ID); got.Share != "Prod/Rep" {
		t.Errorf("share %s", got.Share)
	}
	if got := w.task(t, other.ID); got.Share != "Wide" || got.JobShare != "" {
		t.Errorf("share %q, job share %q", got.Share, got.JobShare)
	}
}

func TestAllot(t *testing.T) {
	tasks := []sourceTask{
		{ID: 1, ShapeID: 1, Priority: 9, NJobs: 10, NPieces: 10, Quota: 10},
		{ID: 2, ShapeID: 1, Priority: 9, NJobs: 12, NPieces: 10, Quota: 12, NGenerated: 8, NSplit: 8}, // 2 fresh, then 2 again
		{ID: 3, ShapeID: 2, Priority: 5, NJobs: 100, NPieces: 100, Quota: 100},
	}
	type got struct{ ID, Fresh, Again int64 }
	for _, c := range []struct {
		wants map[broker.Rung]int64
		batch int64
		want  []got
	}{
		{map[broker.Rung]int64{{Shape: 1, Priority: 9}: 100, {Shape: 2, Priority: 5}: 3}, 50, []got{{1, 10, 0}, {2, 2, 2}, {3, 3, 0}}},
		{map[broker.Rung]int64{{Shape: 1, Priority: 9}: 13}, 50, []got{{1, 10, 0}, {2, 2, 1}}},
		{map[broker.Rung]int64{{Shape: 1, Priority: 9}: 100, {Shape: 2, Priority: 5}: 3}, 7, []got{{1, 7, 0}}},
	} {
		var list []got
		for _, p := range allot(tasks, nil, c.wants, c.batch) {
			list = append(list, got{p.ID, p.fresh, p.again})
		}
		if d := cmp.Diff(c.want, list); d != "" {
			t.Error(d)
		}
	}
}
