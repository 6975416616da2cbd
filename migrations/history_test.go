package migrations_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/migrations"
)

func count(t *testing.T, db *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// down brings a database back to the version before 00005.
func down(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	for {
		step, ok, err := migrations.Down(t.Context(), db)
		if err != nil || !ok {
			t.Fatalf("Down: %v, %v", ok, err)
		}
		if step.Version == 5 {
			return
		}
	}
}

// A database that has history already: it becomes the partition of the past, and the days after it are made.
func TestHistoryBecomesThePast(t *testing.T) {
	db := pgtest.Open(t)
	down(t, db)
	// From a year ago to tomorrow.
	run(t, db, `INSERT INTO attempts (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node,
			claimed_at, ended_at, outcome)
		SELECT i, 1, 0, 0, 0, 0, 0, 1, 1, 0, '', '', now(), now() - interval '1 day' * i, 'finished' FROM generate_series(-1, 365) AS i`)
	if _, err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT count(*) FROM attempts_before"); n != 367 {
		t.Errorf("%d rows in the past, want 367", n)
	}
	if n := count(t, db, "SELECT count(*) FROM attempts_rest"); n != 0 {
		t.Errorf("%d rows in the default", n)
	}
	if n := count(t, db, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'ended_jobs'::regclass"); n != 1 {
		t.Errorf("ended_jobs was empty and has %d partitions now", n)
	}
	// The past reaches to the end of tomorrow.
	if n := count(t, db, "SELECT divvy_make_days('attempts', (now() AT TIME ZONE 'UTC')::date + 2, 3)"); n != 3 {
		t.Errorf("%d days were made", n)
	}
	run(t, db, "UPDATE attempts SET ended_at = ended_at + interval '2 days' WHERE job_id = -1")
	if n := count(t, db, "SELECT count(*) FROM attempts_before"); n != 366 {
		t.Errorf("%d rows in the past, want one less", n)
	}
	if n := count(t, db, "SELECT count(*) FROM attempts_rest"); n != 0 {
		t.Errorf("%d rows in the default", n)
	}
	// Down and up again: nothing is lost.
	down(t, db)
	if _, err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT count(*) FROM attempts"); n != 367 {
		t.Errorf("%d rows after down and up", n)
	}
}
