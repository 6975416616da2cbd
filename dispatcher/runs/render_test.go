package runs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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
func TestTogether(t *testing.T) {
	var mu sync.Mutex
	var reads [][]int64
	gate := make(chan struct{})
	away := errors.New("away")
	r := together[int64]{read: func(_ context.Context, ids []int64) (map[int64]int64, error) {
		mu.Lock()
		reads = append(reads, ids)
		first := len(reads) == 1
		mu.Unlock()
		if first {
			<-gate
			return nil, away
		}
		found := map[int64]int64{}
		for _, id := range ids {
			found[id] = -id
		}
		return found, nil
	}}
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := r.of(t.Context(), []int64{1}); !errors.Is(err, away) {
			t.Errorf("%v, want the error of its own read", err)
		}
	})
	waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(reads) == 1 })
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := r.of(gone, []int64{2}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of its context", err)
	}
	for id := int64(10); id < 60; id++ {
		all.Go(func() {
			found, err := r.of(t.Context(), []int64{id})
			if err != nil || found[id] != -id {
				t.Errorf("%d: %v, %v", id, found, err)
			}
		})
	}
	waitFor(t, func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.next != nil && len(r.next.ids) == 51 })
	close(gate)
	all.Wait()
	if len(reads) != 2 {
		t.Errorf("%d reads, want 2", len(reads))
	}
}

// A cache reads each key once while it has room, forgets the oldest half, and does not keep what is not there.
func TestCache(t *testing.T) {
	var read []int
	c := newCache(2, func(_ context.Context, keys []int) (map[int]string, error) {
		read = append(read, keys...)
		found := map[int]string{}
		for _, k := range keys {
			if k >= 0 {
				found[k] = strings.Repeat("x", k)
			}
		}
		return found, nil
	})
	for _, step := range []struct{ keys, loads []int }{
		{[]int{1, 2, 1}, []int{1, 2}}, {[]int{1, -1}, []int{-1}}, {[]int{3, -1}, []int{3, -1}}, {[]int{1}, nil}, {[]int{4, 5}, []int{4, 5}}, {[]int{2}, []int{2}},
	} {
		read = nil
		found, err := c.of(t.Context(), step.keys)
		if err != nil || !slices.Equal(read, step.loads) {
			t.Errorf("%v: read %v, want %v; %v", step.keys, read, step.loads, err)
		}
		for _, k := range step.keys {
			if v, ok := found[k]; ok != (k >= 0) || len(v) != max(0, k) {
				t.Errorf("%v: %d is %q", step.keys, k, v)
			}
		}
	}
}

// The rows of jobs are found by their key in the partition that has them.
func TestPiecesByKey(t *testing.T) {
	db := pgtest.Open(t)
	for _, sql := range []string{"CREATE TABLE jobs_a PARTITION OF jobs FOR VALUES FROM (1) TO (10001)", "CREATE TABLE jobs_b PARTITION OF jobs FOR VALUES FROM (10001) TO (20001)",
		"INSERT INTO jobs (id, idx) SELECT i, i FROM generate_series(1, 20000) i", "ANALYZE jobs"} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := db.Query(t.Context(), "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+query["pieces"], pgx.StrictNamedArgs{"ids": []int64{5, 7, 9}})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	plan := strings.Join(lines, "\n")
	if err != nil || strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "(never executed)") {
		t.Errorf("%v\n%s", err, plan)
	}
}
