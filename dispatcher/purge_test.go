package dispatcher

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// manyRows writes n rows of a lane that nobody reads any more, the first of them old, and folds it up to seq.
func (f *fixture) manyRows(lane, n, old, seq int) {
	f.t.Helper()
	f.exec(`INSERT INTO ledger (daemon_id, lane, seq, at, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units, places, low_ids, high_ids)
		SELECT 999, $1::int, i, now() - CASE WHEN i <= $3::int THEN interval '8 days' ELSE '1 day' END,
			'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}' FROM generate_series(1, $2::int) AS i`, lane, n, old)
	for _, table := range []string{"counter_lanes", "task_lanes"} {
		f.exec("INSERT INTO "+table+" (daemon_id, lane, seq) VALUES (999, $1, $2)", lane, seq)
	}
}

// One purge takes all that is old of a lane, however much it is, and nothing that is young or not folded yet.
func TestPurgeKeepsUpWithTheLedger(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.manyRows(0, 3*purgeBatch, 2*purgeBatch+1234, 3*purgeBatch)
	f.manyRows(1, 100, 100, 60)
	f.manyRows(2, 100, 0, 100)
	want := 2*purgeBatch + 1234 + 60
	if n, err := d.Purge(t.Context()); n != want || err != nil {
		t.Errorf("%d rows went, %v; want %d", n, err, want)
	}
	for lane, first := range []int{2*purgeBatch + 1235, 61, 1} {
		var got int
		if f.scan(&got, "SELECT min(seq) FROM ledger WHERE daemon_id = 999 AND lane = $1", lane); got != first {
			t.Errorf("lane %d begins with row %d, want %d", lane, got, first)
		}
	}
	if n, err := d.Purge(t.Context()); n != 0 || err != nil {
		t.Errorf("%d more rows went, %v", n, err)
	}
}

// Of lanes without old rows one row each is read.
func TestPurgeReadsLittle(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.manyRows(0, 20_000, 0, 20_000)
	f.exec("ANALYZE ledger, counter_lanes, task_lanes")
	rows, err := f.pool.Query(t.Context(), "EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF, SUMMARY OFF, COSTS OFF) "+query["purge_ledger"],
		pgx.StrictNamedArgs{"keep_s": (7 * 24 * time.Hour).Seconds(), "n": purgeBatch})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	if strings.Contains(plan, "Seq Scan on ledger") || strings.Contains(plan, "rows=5000") || strings.Contains(plan, "rows=20000") {
		t.Errorf("%s", plan)
	}
}

// A daemon of a version without roll-ups deletes old attempts outside of the days one by one: those that are in no roll-up stay.
func TestAnOlderDaemonPurgesTheRest(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	old := func(job int64) { f.exec(endedAttempt, job, time.Hour, 700*day) }
	purge := func(left string) {
		t.Helper()
		f.exec(`DELETE FROM attempts_rest WHERE ctid = ANY (ARRAY(SELECT ctid FROM attempts_rest
			WHERE ended_at < ((now() AT TIME ZONE 'UTC')::date - 400)::timestamp AT TIME ZONE 'UTC' LIMIT 5000))`)
		f.expectLines("what is left", "SELECT coalesce(string_agg(job_id::text, ' ' ORDER BY job_id), '') FROM attempts_rest", left)
	}
	f.exec("ALTER TABLE attempts ALTER nth DROP DEFAULT") // of before there were numbers
	old(1)
	f.exec("ALTER TABLE attempts ALTER nth SET DEFAULT nextval('attempts_nth')")
	f.exec(pastAttempts)
	old(2)
	purge("1 2")
	f.accountAll(d)
	old(3)
	purge("3")
	f.accountAll(d)
	purge("")
	f.expectLines("all are counted", "SELECT sum(jobs)::text FROM report.usage_daily", "3")
}
