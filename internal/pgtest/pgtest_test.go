package pgtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestOpenGivesEachTestItsOwn(t *testing.T) {
	ctx := context.Background()
	a, b := pgtest.Open(t), pgtest.Open(t)
	if _, err := a.Exec(ctx, "INSERT INTO daemons (host, pid) VALUES ('a', 1)"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := b.QueryRow(ctx, "SELECT count(*) FROM daemons").Scan(&n); err != nil || n != 0 {
		t.Fatalf("the other test's database has %d rows, %v; want none", n, err)
	}
}

func TestTxIsRolledBack(t *testing.T) {
	ctx := context.Background()
	t.Run("write", func(t *testing.T) {
		if _, err := pgtest.Tx(t).Exec(ctx, "INSERT INTO daemons (host, pid) VALUES ('a', 1)"); err != nil {
			t.Fatal(err)
		}
	})
	var n int
	if err := pgtest.Tx(t).QueryRow(ctx, "SELECT count(*) FROM daemons").Scan(&n); err != nil || n != 0 {
		t.Fatalf("%d rows left, %v; want none", n, err)
	}
}

func TestAge(t *testing.T) {
	ctx := context.Background()
	tx := pgtest.Tx(t)
	if _, err := tx.Exec(ctx, "INSERT INTO daemons (host, pid) VALUES ('a', 1)"); err != nil {
		t.Fatal(err)
	}
	pgtest.Age(t, tx, "daemons", "seen_at", 90*time.Minute)
	pgtest.Age(t, tx, "public.daemons", "seen_at", time.Hour)
	var age time.Duration
	if err := tx.QueryRow(ctx, "SELECT now() - seen_at FROM daemons").Scan(&age); err != nil || age != 150*time.Minute {
		t.Fatalf("age %v, %v; want 2h30m", age, err)
	}
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		b.Run("one", func(b *testing.B) { pgtest.Open(b) })
	}
}
