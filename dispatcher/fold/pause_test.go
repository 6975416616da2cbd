package fold

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// While a snapshot keeps dead rows of counts, steps come later; when it is gone, and they are, each second again.
func TestPause(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	pauseIs := func(want string, is func(time.Duration) bool) {
		t.Helper()
		for until := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
			got, err := f.Pause(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if is(got) {
				return
			}
			if time.Now().After(until) {
				t.Fatalf("a pause of %s, want %s", got, want)
			}
		}
	}
	pauseIs("a second", func(d time.Duration) bool { return d == time.Second })
	exec := func(sql string) {
		t.Helper()
		if _, err := f.pool.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO share_counts (share, shape, queue, ready, held, held_units) SELECT i, 1, 1, 0, 0, 0 FROM generate_series(1, 300000) AS i")
	old, err := f.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec(ctx, "SELECT FROM share_counts LIMIT 1"); err != nil {
		t.Fatal(err)
	}
	exec("UPDATE share_counts SET held = held + 1")
	pauseIs("about a second and a half", func(d time.Duration) bool { return d > 1300*time.Millisecond && d < 1700*time.Millisecond })
	if err := old.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	exec("VACUUM share_counts")
	pauseIs("a second again", func(d time.Duration) bool { return d == time.Second })
}
