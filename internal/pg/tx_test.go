package pg_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// table makes a table of counters with the given rows, all 0.
func table(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	if _, err := db.Exec(t.Context(), "CREATE TABLE n (id int PRIMARY KEY, v int NOT NULL DEFAULT 0); INSERT INTO n (id) VALUES (1), (2)"); err != nil {
		t.Fatal(err)
	}
}

func TestInTxCommitsOrNotAtAll(t *testing.T) {
	db := pgtest.Open(t)
	table(t, db)
	boom := errors.New("boom")
	tries := 0
	err := pg.InTx(t.Context(), db, func(tx pgx.Tx) error {
		tries++
		if _, err := tx.Exec(t.Context(), "UPDATE n SET v = 1"); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) || tries != 1 {
		t.Fatalf("error %v after %d tries, want boom after 1", err, tries)
	}
	func() {
		defer func() { _ = recover() }()
		_ = pg.InTx(t.Context(), db, func(tx pgx.Tx) error {
			_, _ = tx.Exec(t.Context(), "UPDATE n SET v = 1")
			panic("boom")
		})
	}()
	var sum int
	if err := db.QueryRow(t.Context(), "SELECT sum(v) FROM n").Scan(&sum); err != nil || sum != 0 {
		t.Fatalf("sum %d, %v; want 0", sum, err)
	}
	if n := db.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections not given back", n)
	}
}

// Two transactions that update the same rows in opposite order deadlock; both get through.
func TestInTxRetriesADeadlock(t *testing.T) {
	db := pgtest.Open(t)
	table(t, db)
	if _, err := db.Exec(t.Context(), "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''20ms''', current_database()); END $$"); err != nil {
		t.Fatal(err)
	}
	db.Reset()
	var meet, all sync.WaitGroup
	meet.Add(2)
	var tries [2]int
	for i, order := range [2][2]int{{1, 2}, {2, 1}} {
		all.Go(func() {
			err := pg.InTx(t.Context(), db, func(tx pgx.Tx) error {
				tries[i]++
				if _, err := tx.Exec(t.Context(), "UPDATE n SET v = v + 1 WHERE id = $1", order[0]); err != nil {
					return err
				}
				if tries[i] == 1 {
					meet.Done()
					meet.Wait()
				}
				_, err := tx.Exec(t.Context(), "UPDATE n SET v = v + 1 WHERE id = $1", order[1])
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var sum int
	if err := db.QueryRow(t.Context(), "SELECT sum(v) FROM n").Scan(&sum); err != nil || sum != 4 {
		t.Fatalf("sum %d, %v; want 4", sum, err)
	}
	if tries[0]+tries[1] < 3 {
		t.Errorf("tries %v: nobody was the victim", tries)
	}
}

// collide ends every transaction with a serialization failure.
func collide(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")
	return err
}

func TestInTxGivesUp(t *testing.T) {
	db := pgtest.Open(t)
	tries := 0
	err := pg.InTx(t.Context(), db, func(tx pgx.Tx) error { tries++; return collide(t.Context(), tx) })
	if !pg.IsRetryable(err) || tries != 8 {
		t.Errorf("%v after %d tries, want a collision after 8", err, tries)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tries = 0
	err = pg.InTx(ctx, db, func(tx pgx.Tx) error {
		tries++
		defer cancel()
		return collide(ctx, tx)
	})
	if err == nil || tries != 1 {
		t.Errorf("%v after %d tries of a cancelled context, want an error after 1", err, tries)
	}
	tries = 0
	err = pg.InTx(t.Context(), db, func(tx pgx.Tx) error {
		return pg.InTx(t.Context(), tx, func(tx pgx.Tx) error { tries++; return errors.New("inner") })
	})
	if err == nil || tries != 1 {
		t.Errorf("%v after %d nested tries, want an error after 1", err, tries)
	}
}

func TestLocks(t *testing.T) {
	db := pgtest.Open(t)
	ctx := t.Context()
	begin := func() pgx.Tx {
		tx, err := db.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		return tx
	}
	try := func(tx pgx.Tx, class, id int32, want bool) {
		t.Helper()
		if ok, err := pg.TryLock(ctx, tx, class, id); err != nil || ok != want {
			t.Errorf("TryLock(%#x, %d) = %v, %v; want %v", class, id, ok, err, want)
		}
	}
	a, b := begin(), begin()
	try(a, pg.LockShare, 7, true)
	try(b, pg.LockShare, 7, false)
	try(b, pg.LockShare, 8, true)
	try(b, pg.LockFold, 7, true)
	if err := a.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	try(b, pg.LockShare, 7, true)
	c, d := begin(), begin()
	for _, tx := range []pgx.Tx{c, d} {
		if err := pg.LockShared(ctx, tx, pg.LockGrants, 0); err != nil {
			t.Fatal(err)
		}
	}
	try(begin(), pg.LockGrants, 0, false)
}
