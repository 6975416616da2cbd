package migrations_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/migrations"
)

func goOn(t *testing.T, db *pgxpool.Pool, force bool) int64 {
	t.Helper()
	n, err := migrations.GoOn(t.Context(), db, force)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// next gives an id of each kind that people and pilots hold.
func next(t *testing.T, db *pgxpool.Pool) (ids []int64) {
	t.Helper()
	rows, _ := db.Query(t.Context(), `SELECT nextval(s::regclass) FROM unnest(ARRAY['job_ids', 'tasks_id_seq', 'claim_keys_id_seq', 'daemons_id_seq',
		'harvester_commands_id_seq']) AS s`)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// Ids go on as they are where the database went on, and far behind where it was set back: a hundred thousand for each second
// that it does not know of.
func TestGoOn(t *testing.T) {
	db := pgtest.Open(t)
	run(t, db, "SELECT divvy_extend_jobs(1000, 1000)")
	before := next(t, db)
	for range 2 {
		if n := goOn(t, db, false); n != 0 {
			t.Errorf("%d ids skipped, and nothing happened", n)
		}
	}
	run(t, db, "UPDATE lineage SET place = 'elsewhere', since = now() - interval '2 hours'")
	run(t, db, "INSERT INTO daemons (host, pid, seen_at) VALUES ('h', 1, now() - interval '1 hour')")
	skipped := goOn(t, db, false)
	if want := int64(3660 * 1_000_000); skipped < want || skipped > want+60_000_000 {
		t.Errorf("%d ids skipped for an hour, want about %d", skipped, want)
	}
	for i, id := range next(t, db) {
		if id <= before[i]+skipped {
			t.Errorf("sequence %d: %d after %d", i, id, before[i])
		}
	}
	if n := count(t, db, "SELECT divvy_extend_jobs(1000, 1000)"); n != 1 {
		t.Errorf("%d partitions for a thousand jobs: ids that were left out have none", n)
	}
	run(t, db, "INSERT INTO jobs (id, idx) VALUES (divvy_take_ids(1000), 0)")
	if n := goOn(t, db, false); n != 0 {
		t.Errorf("%d ids skipped a second time", n)
	}
	if n := goOn(t, db, true); n < 60*1_000_000 {
		t.Errorf("%d ids skipped when told to", n)
	}
}

// A copy of a database is another one.
func TestGoOnInACopy(t *testing.T) {
	db := pgtest.Open(t)
	goOn(t, db, false)
	var place string
	if err := db.QueryRow(t.Context(), "SELECT place FROM lineage").Scan(&place); err != nil {
		t.Fatal(err)
	}
	copied := pgtest.Open(t)
	if _, err := copied.Exec(t.Context(), "INSERT INTO lineage (place) VALUES ($1)", place); err != nil {
		t.Fatal(err)
	}
	if n := goOn(t, copied, false); n == 0 {
		t.Error("no id was skipped")
	}
}

// Whoever may use a database as its owner may start a daemon.
func TestGoOnAsAPlainRole(t *testing.T) {
	db := pgtest.Open(t)
	var all bool
	err := db.QueryRow(t.Context(), `SELECT bool_and(has_function_privilege('public', f, 'EXECUTE')) FROM unnest(ARRAY['pg_control_system()',
		'pg_walfile_name(pg_lsn)', 'pg_current_wal_insert_lsn()']) AS f`).Scan(&all)
	if err != nil || !all {
		t.Errorf("%t, %v", all, err)
	}
}

// A migration that has to wait for a table lets others through meanwhile.
func TestUpGivesWay(t *testing.T) {
	migrations.HurryLocks(300*time.Millisecond, time.Second)
	t.Cleanup(func() { migrations.HurryLocks(3*time.Second, 5*time.Second) })
	db := pgtest.Open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	holder, err := db.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback(ctx)
	for { // down to where a table gets foreign keys to the shares, for which it waits
		step, ok, err := migrations.Down(ctx, db)
		if err != nil || !ok {
			t.Fatal(step, ok, err)
		}
		if step.Name == "tasks" {
			break
		}
	}
	if _, err := holder.Exec(ctx, "LOCK TABLE shares IN ROW EXCLUSIVE MODE"); err != nil { // a change that somebody left open
		t.Fatal(err)
	}
	through := make(chan error, 1)
	go func() {
		_, err := migrations.Up(ctx, db)
		through <- err
	}()
	other := open(t, db.Config().ConnString())
	for waits := false; !waits; {
		if err := other.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'shares'::regclass AND NOT granted)").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.Exec(ctx, "UPDATE shares SET tier = tier"); err != nil { // behind the migration, and before the lock is given back
		t.Fatal(err)
	}
	select {
	case err := <-through:
		t.Fatalf("Up did not wait: %v", err)
	default:
	}
	if err := holder.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-through; err != nil {
		t.Fatal(err)
	}
	if n, known := applied(t, db); n != known {
		t.Errorf("%d of %d applied", n, known)
	}
}
