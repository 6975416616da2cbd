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

// down brings a database back to the version before a migration.
func down(t *testing.T, db *pgxpool.Pool, migration int64) {
	t.Helper()
	for {
		step, ok, err := migrations.Down(t.Context(), db)
		if err != nil || !ok {
			t.Fatalf("Down: %v, %v", ok, err)
		}
		if step.Version == migration {
			return
		}
	}
}

// A database that has history already: it becomes the partition of the past, and the days after it are made.
func TestHistoryBecomesThePast(t *testing.T) {
	db := pgtest.Open(t)
	down(t, db, 5)
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
	down(t, db, 5)
	if _, err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT count(*) FROM attempts"); n != 367 {
		t.Errorf("%d rows after down and up", n)
	}
}

// A database that has samples already: they stay, are read by the views, and are dropped when their last day is over.
func TestSamplesBecomeThePast(t *testing.T) {
	db := pgtest.Open(t)
	down(t, db, 14)
	run(t, db, "INSERT INTO shares (name, path, position, leaf, weight) VALUES ('A', 'A', 0, true, 1)")
	run(t, db, `INSERT INTO share_samples (at, pool, share_id, target, held, ready)
		SELECT now() - interval '1 day' * i, 'default', s.id, 5, 4000, 3 FROM generate_series(0, 40) AS i, shares s`)
	if _, err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]int{
		"SELECT count(*) FROM report.share_history WHERE share = 'A' AND held_units = 4":      41,
		"SELECT count(*) FROM share_samples_rest":                                             0,
		"SELECT divvy_make_days('share_samples', (now() AT TIME ZONE 'UTC')::date, 4)":        3,
		"SELECT (obj_description('report.share_history'::regclass) IS NOT NULL)::int":         1,
		"SELECT has_table_privilege('divvy_reader', 'report.share_history', 'SELECT')::int":   1,
		"SELECT divvy_drop_days('share_samples', (now() AT TIME ZONE 'UTC')::date)":           0,
		"SELECT count(*) FROM report.share_history WHERE at > now() - interval '10 days 1 h'": 11,
	} {
		if n := count(t, db, sql); n != want {
			t.Errorf("%d, want %d: %s", n, want, sql)
		}
	}
	down(t, db, 14)
	if n := count(t, db, "SELECT count(*) FROM report.share_history"); n != 41 {
		t.Errorf("%d samples after Down", n)
	}
	if _, err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT divvy_drop_days('share_samples', (now() AT TIME ZONE 'UTC')::date + 1)"); n != 1 {
		t.Errorf("%d days dropped, want all that was there", n)
	}
	if n := count(t, db, "SELECT count(*) FROM report.share_history"); n != 0 {
		t.Errorf("%d samples are left", n)
	}
}
