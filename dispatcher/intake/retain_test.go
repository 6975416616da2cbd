package intake_test

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/intake"
)

// Partitions go when all of their jobs are old and over; a block that goes on behind one stays as far as it does. What is live, young,
// not announced yet or in use stays.
func TestRetire(t *testing.T) {
	h := newHouse(t, 100, 10)
	ctx, shape := t.Context(), h.shape(t, 1)
	made := func(n int) { h.enqueue(t, some(n, intake.NewJob{Task: 1, Share: 1, Shape: shape})...) }
	for _, n := range []int{8, 7, 30, 4, 6} { // 1–8, 9–15, 16–45, 46–49, 50–55
		made(n)
	}
	h.exec("UPDATE job_blocks SET made_at = now() - interval '2 hours' WHERE low < 50")
	h.exec("UPDATE outbox SET made_at = now() - interval '2 hours'")
	live := map[int64]bool{25: true}
	retire := func() (n int) {
		t.Helper()
		n, err := intake.Retire(ctx, h.Pool, time.Now().Add(-time.Hour), func(_ context.Context, low, high int64) (is bool, err error) {
			for id := low; id <= high; id++ {
				is = is || live[id]
			}
			return is, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := retire(); n != 0 {
		t.Errorf("%d partitions went, and the outbox has their jobs", n)
	}
	h.said(t)
	if n := retire(); n != 3 { // 1–10, 11–20, 31–40; 21–30 has a live job, 41–50 a young one
		t.Errorf("%d partitions went, want 3", n)
	}
	text := "SELECT string_agg(low || '–' || high, ' ' ORDER BY low) FROM job_blocks"
	if got, want := one[string](t, h, text), "21–45 46–49 50–55"; got != want {
		t.Errorf("blocks %s, want %s", got, want)
	}
	if n := one[int](t, h, "SELECT count(*) FROM jobs"); n != 10+15 {
		t.Errorf("%d jobs are left, want 25", n)
	}
	delete(live, 25)
	if n := retire(); n != 1 {
		t.Errorf("%d partitions went, want the one whose job is over", n)
	}
	if got, want := one[string](t, h, text), "41–45 46–49 50–55"; got != want {
		t.Errorf("blocks %s, want %s", got, want)
	}
	h.exec("UPDATE job_blocks SET made_at = now() - interval '2 hours'")
	if n := retire(); n != 0 {
		t.Errorf("%d partitions went, the last with ids among them", n)
	}
}

func TestExtend(t *testing.T) {
	h := newHouse(t, 25, 10)
	ctx := t.Context()
	if n, err := intake.Extend(ctx, h.Pool, 25, 10); n != 0 || err != nil {
		t.Errorf("%d partitions, %v: there is room", n, err)
	}
	h.enqueue(t, some(12, intake.NewJob{Task: 1, Share: 1, Shape: h.shape(t, 1)})...)
	if n, err := intake.Extend(ctx, h.Pool, 25, 10); n != 1 || err != nil {
		t.Errorf("%d partitions, %v: want 1", n, err)
	}
	if n, err := intake.Extend(ctx, h.Pool, 0, 10); n != 0 || err == nil {
		t.Error("no room asked for")
	}
	tx, err := h.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "LOCK TABLE job_blocks IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	if n, err := intake.Extend(ctx, h.Pool, 1000, 10); n != 0 || err != nil {
		t.Errorf("%d partitions, %v: somebody has the table", n, err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
}

// After ids were skipped, as when an old backup is put back, there is room for the next ones, and none for those that nothing will have.
func TestExtendAfterASkip(t *testing.T) {
	h := newHouse(t, 100, 10)
	ctx, shape := t.Context(), h.shape(t, 1)
	h.enqueue(t, some(5, intake.NewJob{Task: 1, Share: 1, Shape: shape})...)
	h.exec("SELECT setval('job_ids', 1000000)")
	if n, err := intake.Extend(ctx, h.Pool, 100, 10); n != 10 || err != nil {
		t.Fatalf("%d partitions, %v; want room for the next hundred", n, err)
	}
	if n, err := intake.Extend(ctx, h.Pool, 100, 10); n != 0 || err != nil {
		t.Errorf("%d partitions once more, %v", n, err)
	}
	h.enqueue(t, some(5, intake.NewJob{Task: 1, Share: 1, Shape: shape})...)
	if got := one[string](t, h, "SELECT string_agg(low || '–' || high, ' ' ORDER BY low) FROM job_blocks"); got != "1–5 1000001–1000005" {
		t.Errorf("blocks %s", got)
	}
}
