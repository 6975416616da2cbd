package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to be")
		}
	}
}

// What is asked for at the same time is read by few statements, and everybody gets an answer or the error.
func TestPiecesTogether(t *testing.T) {
	var mu sync.Mutex
	reads := 0
	gate := make(chan struct{})
	away := errors.New("away")
	r := newPieces(func(_ context.Context, from, to []int64) (map[int64]int64, error) {
		mu.Lock()
		reads++
		first := reads == 1
		mu.Unlock()
		if first {
			<-gate
			return nil, away
		}
		return negated(from, to), nil
	})
	of := func(ctx context.Context, id int64) error { return r.of(ctx, []int64{id}, []bool{false}, []int64{0}) }
	var all sync.WaitGroup
	all.Go(func() {
		if err := of(t.Context(), 1); !errors.Is(err, away) {
			t.Errorf("%v, want the error of its own read", err)
		}
	})
	waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return reads == 1 })
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := of(gone, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of its context", err)
	}
	for id := int64(10); id < 60; id++ {
		all.Go(func() {
			out := []int64{0}
			if err := r.of(t.Context(), []int64{id}, []bool{false}, out); err != nil || out[0] != -id {
				t.Errorf("%d: %v, %v", id, out, err)
			}
		})
	}
	waitFor(t, func() bool {
		r.rest.mu.Lock()
		defer r.rest.mu.Unlock()
		return r.rest.next != nil && len(r.rest.next.keys) == 51
	})
	close(gate)
	all.Wait()
	if reads != 2 {
		t.Errorf("%d reads, want 2", reads)
	}
}

func negated(from, to []int64) map[int64]int64 {
	found := map[int64]int64{}
	for i := range from {
		for id := from[i]; id < to[i]; id++ {
			found[id] = -id
		}
	}
	return found
}

// Jobs behind one that is asked for are read with it, each once; one that may have been split since is read again.
func TestPiecesAhead(t *testing.T) {
	var from, to []int64
	r := newPieces(func(_ context.Context, f, t []int64) (map[int64]int64, error) {
		from, to = append(from, f...), append(to, t...)
		return negated(f, t), nil
	})
	for _, step := range []struct{ first, again, from, to []int64 }{
		{first: []int64{100, 3, 7}, from: []int64{3, 7, 100}, to: []int64{7, 7 + readAhead, 100 + readAhead}},
		{first: []int64{4, 5, 6 + readAhead, 99 + readAhead}},
		{first: []int64{5}, from: []int64{5}, to: []int64{5 + readAhead}}, // it was given out
		{first: []int64{101}, again: []int64{102}, from: []int64{102}, to: []int64{102 + readAhead}},
		{first: []int64{70}, from: []int64{70}, to: []int64{70 + readAhead}},
	} {
		from, to = nil, nil
		ids := slices.Concat(step.first, step.again)
		again, out := make([]bool, len(ids)), make([]int64, len(ids))
		for i := range step.again {
			again[len(step.first)+i] = true
		}
		err := r.of(t.Context(), ids, again, out)
		if err != nil || !slices.Equal(from, step.from) || !slices.Equal(to, step.to) {
			t.Errorf("%v, %v: read %v to %v, %v", step.first, step.again, from, to, err)
		}
		for i, id := range ids {
			if out[i] != -id {
				t.Errorf("%d is %d", id, out[i])
			}
		}
	}
	for id := int64(1 << 20); id < 1<<20+100*mostAhead; id += readAhead {
		if err := r.of(t.Context(), []int64{id}, []bool{false}, []int64{0}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.newer) + len(r.older); n > 2*mostAhead+readAhead {
		t.Errorf("%d are kept", n)
	}
}

// A cache reads each key once while it has room, forgets the oldest half, and does not keep what is not there.
func TestCache(t *testing.T) {
	var read []int
	c := newCache("number", 2, func(_ context.Context, keys []int) (map[int]string, error) {
		read = append(read, keys...)
		found := map[int]string{}
		for _, k := range keys {
			if k >= 0 {
				found[k] = strings.Repeat("x", k)
			}
		}
		return found, nil
	})
	for _, step := range []struct {
		keys, loads []int
		missing     string
	}{
		{keys: []int{1, 2, 1}, loads: []int{1, 2}}, {keys: []int{1, -1}, loads: []int{-1}, missing: "number -1 is not"}, {keys: []int{3, -1}, loads: []int{-1, 3}, missing: "number -1 is not"},
		{keys: []int{1}}, {keys: []int{4, 5}, loads: []int{4, 5}}, {keys: []int{2}, loads: []int{2}},
	} {
		read = nil
		out := make([]string, len(step.keys))
		err := c.of(t.Context(), step.keys, out)
		if !slices.Equal(read, step.loads) || step.missing == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), step.missing) {
			t.Errorf("%v: read %v, want %v; %v", step.keys, read, step.loads, err)
		}
		for i, k := range step.keys {
			if err == nil && len(out[i]) != k {
				t.Errorf("%v: %d is %q", step.keys, k, out[i])
			}
		}
	}
}

// The rows of jobs are found by their key in the partition that has them.
func TestPiecesByKey(t *testing.T) {
	db := pgtest.Open(t)
	for low := 1; low < 400_000; low += 50_000 {
		if _, err := db.Exec(t.Context(), fmt.Sprintf("CREATE TABLE jobs_%d PARTITION OF jobs FOR VALUES FROM (%d) TO (%d)", low, low, low+50_000)); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{"INSERT INTO jobs (id, idx) SELECT i, i FROM generate_series(1, 400000) i", "ANALYZE jobs"} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := db.Query(t.Context(), "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+query["pieces"], pgx.StrictNamedArgs{"from": []int64{5, 7, 9}, "to": []int64{7, 9, 25}, "most": readAhead})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	plan := strings.Join(lines, "\n")
	if err != nil || strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "(never executed)") {
		t.Errorf("%v\n%s", err, plan)
	}
	conn, err := db.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for n := range int64(12) {
		args := pg.Args{"from": []int64{n + 1, 49_990 + n}, "to": []int64{n + 2, 50_100}, "most": readAhead}
		if tag, err := conn.Exec(t.Context(), query["pieces"], args); err != nil || tag.RowsAffected() != 1+readAhead {
			t.Errorf("%d are read: %v", tag.RowsAffected(), err)
		}
	}
	pgtest.PlannedOnce(t, conn, query["pieces"])
}
