package dispatcher

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// A table waits for twice the dead rows it has once a snapshot is old, for more only after a vacuum, and for nothing when it is gone.
func TestVacuumsWaitForAnOldSnapshot(t *testing.T) {
	jobs := func(dead, vacuums, heldOff int64, oldest string) []vacuumed {
		return []vacuumed{{Name: "jobs", Live: 1_000_000, Dead: dead, Vacuums: vacuums, HeldOff: heldOff, Oldest: oldest}}
	}
	off := func(dead, inserted int64) []holdOff { return []holdOff{{"jobs", dead, inserted}} }
	start := time.Now()
	var v vacuums
	for i, step := range []struct {
		after  time.Duration
		tables []vacuumed
		want   []holdOff
	}{
		{0, jobs(900_000, 3, 0, "700"), nil},                // nobody knows how old it is
		{10 * time.Second, jobs(950_000, 4, 0, "700"), nil}, // not yet
		{15 * time.Second, jobs(40_000, 5, 0, "700"), nil},  // old, and there is nothing to spare
		{20 * time.Second, jobs(1_000_000, 6, 0, "700"), off(2_000_000, 2_000_000)},
		{25 * time.Second, jobs(1_500_000, 6, 2_000_000, "700"), nil}, // it waits
		{30 * time.Second, jobs(2_100_000, 6, 2_000_000, "700"), nil}, // its time has come
		{35 * time.Second, jobs(2_200_000, 7, 2_000_000, "700"), off(4_400_000, 3_200_000)},
		{40 * time.Second, jobs(2_300_000, 7, 4_400_000, "900"), off(0, 0)}, // gone
		{45 * time.Second, jobs(2_300_000, 7, 4_400_000, "900"), off(0, 0)}, // somebody was at the table
		{50 * time.Second, jobs(300_000, 8, 0, ""), nil},
		{90 * time.Second, jobs(300_000, 8, 0, ""), nil},
	} {
		if diff := cmp.Diff(step.want, v.next(step.tables, start.Add(step.after)), cmp.AllowUnexported(holdOff{})); diff != "" {
			t.Errorf("step %d: (-want +got)\n%s", i+1, diff)
		}
	}
}

// The setting is the table's own and goes with the snapshot; what another daemon left behind too.
func TestSpareVacuum(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	held := func() (n int64) {
		f.t.Helper()
		f.scan(&n, `SELECT coalesce((SELECT option_value::bigint FROM pg_class, pg_options_to_table(reloptions)
			WHERE oid = 'jobs'::regclass AND option_name = 'autovacuum_vacuum_threshold'), 0)`)
		return n
	}
	var told bool
	if f.scan(&told, "SELECT divvy_hold_vacuum('jobs', 123456, 234567)"); !told || held() != 123456 {
		t.Fatalf("told: %v, held off: %d", told, held())
	}
	if n, err := d.SpareVacuum(t.Context()); n != 1 || err != nil || held() != 0 {
		t.Errorf("%d tables changed, %v, held off: %d; want it released", n, err, held())
	}
	// Somebody is at the table: neither waits for the other.
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), "LOCK jobs IN SHARE UPDATE EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	if f.scan(&told, "SELECT divvy_hold_vacuum('jobs', 1, 1)"); told || held() != 0 {
		t.Errorf("told: %v, held off: %d although a vacuum is at the table", told, held())
	}
}

// A snapshot of another session is seen, and that it stays the oldest.
func TestOldestSnapshotIsSeen(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	tx, err := f.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	var mine string
	if err := tx.QueryRow(t.Context(), "SELECT backend_xmin::text FROM pg_stat_activity WHERE pid = pg_backend_pid()").Scan(&mine); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.exec("CREATE TABLE x (); DROP TABLE x") // transaction ids go on
		tables, err := collect[vacuumed](t.Context(), f.pool, "vacuums", nil)
		if err != nil || len(tables) != 5 {
			t.Fatalf("%d tables, %v", len(tables), err)
		}
		if tables[0].Oldest != mine {
			t.Errorf("the oldest is %q, want %q", tables[0].Oldest, mine)
		}
	}
}
