package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// account adds what there is to the roll-ups; others may be at it.
func (f *fixture) account(d *Dispatcher) int {
	f.t.Helper()
	n, err := d.Account(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// accountAll goes on until nothing is left.
func (f *fixture) accountAll(d *Dispatcher) {
	f.t.Helper()
	eventually(f.t, "all attempts are in the roll-ups", func() bool {
		f.account(d)
		var left bool
		f.scan(&left, "SELECT past IS NOT NULL OR EXISTS (SELECT FROM attempts WHERE nth > done) FROM usage_state")
		return !left
	})
}

// lines runs a query with one column of text.
func (f *fixture) lines(sql string, args ...any) (out []string) {
	f.t.Helper()
	rows, err := f.pool.Query(context.Background(), sql, args...)
	if err != nil {
		f.t.Fatal(err)
	}
	if out, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		f.t.Fatal(err)
	}
	return out
}

func (f *fixture) expectLines(what, sql string, want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.lines(sql)); diff != "" {
		f.t.Errorf("%s:\n%s", what, diff)
	}
}

// A running job goes to another share twice: each is charged for its part, to the microsecond, before and after the
// attempt is in the roll-ups.
func TestAccountSplitsAtChangesOfShare(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1), node("C", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1, user: "alice"})
	lease := pull1(t, d, "q")
	pass := func(by time.Duration) {
		pgtest.Age(t, f.pool, "leases", "claimed_at", by)
		pgtest.Age(t, f.pool, "lease_pieces", "since", by)
		pgtest.Age(t, f.pool, "lease_pieces", "until", by)
	}
	pass(100 * time.Minute)
	f.moveTask(TaskMove{Task: 1, To: f.shareID("B"), Running: true, Limit: 10})
	pass(30 * time.Minute)
	if err := pgx.BeginFunc(context.Background(), f.pool, func(tx pgx.Tx) error {
		if err := Barrier(context.Background(), tx); err != nil {
			return err
		}
		if err := MoveShare(context.Background(), tx, f.shareID("B"), f.shareID("C")); err != nil {
			return err
		}
		return Rebase(context.Background(), tx, f.version)
	}); err != nil {
		t.Fatal(err)
	}
	pass(20 * time.Minute)
	finish(t, d, Finished, lease)
	check := func(when string) {
		t.Helper()
		f.expectLines(when+": by share", `SELECT concat_ws(' ', share, user_name, round(sum(slot_seconds) / 60), sum(jobs))
			FROM report.usage_hourly GROUP BY share, user_name ORDER BY share`, "A alice 100 0", "B alice 30 0", "C alice 20 1")
		f.expectLines(when+": in all", `SELECT concat_ws(' ', (SELECT sum(slot_seconds) FROM report.usage_hourly) = sum(slot_seconds),
			(SELECT sum(unit_seconds) FROM report.usage_daily) = sum(unit_seconds), (SELECT sum(slot_seconds) FROM report.task_usage) = sum(slot_seconds),
			(SELECT sum(slot_seconds) FROM report.node_usage) = sum(slot_seconds), (SELECT sum(slot_seconds) FROM report.charges) = sum(slot_seconds))
			FROM report.attempts`, "t t t t t")
		f.expectLines(when+": longest piece", "SELECT (max(slot_seconds) <= 3600)::text FROM report.charges", "true")
	}
	check("before")
	f.accountAll(d)
	check("after")
	f.expectLines("nothing is left to read", "SELECT count(*)::text FROM uncounted_pieces", "0")
	if n := f.account(d); n != 0 {
		t.Errorf("%d attempts were added again", n)
	}
}

// An end that has its number and is not committed keeps those after it out of the roll-ups, until it is through. Who
// reads, however long, does not.
func TestAccountWaitsForEarlierNumbers(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 2})
	leases := []Lease{pull1(t, d, "q"), pull1(t, d, "q")}
	ctx := context.Background()
	late, err := f.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Rollback(ctx)
	if _, err := late.Exec(ctx, endedAttempt, int64(1000), time.Hour, time.Minute); err != nil {
		t.Fatal(err)
	}
	reader, err := f.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Rollback(ctx)
	if _, err := reader.Exec(ctx, "SELECT count(*) FROM attempts"); err != nil {
		t.Fatal(err)
	}
	finish(t, d, Finished, leases[0])
	for range 3 {
		if n := f.account(d); n != 0 {
			t.Fatalf("%d attempts were added while an earlier one may come", n)
		}
	}
	if err := late.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	finish(t, d, Finished, leases[1])
	f.accountAll(d)
	f.expectLines("each is in it once", `SELECT concat_ws(' ', sum(finished), (SELECT count(*) FROM attempts)) FROM usage_hours`, "3 3")
	f.expectLines("seconds", `SELECT ((SELECT sum(slot_seconds) FROM usage_hours) = (SELECT sum(slot_seconds) FROM report.attempts))::text`, "true")
}

// endedAttempt ends an attempt of a job so long ago, after so long.
const endedAttempt = `INSERT INTO attempts (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node,
		claimed_at, ended_at, outcome, cpu_s)
	SELECT $1::bigint, 1, 7, 0, (SELECT min(id) FROM shares), 1, (SELECT min(id) FROM queues), 2500, 2, 0, 'p', 'n', now() - $3::interval - $2::interval,
		now() - $3::interval, 'finished', 1.5`

// pastAttempts is what the migration does where there are attempts.
const pastAttempts = `UPDATE usage_state SET (past, past_last) = (
		SELECT date_trunc('hour', min(ended_at), 'UTC'), date_trunc('hour', max(ended_at), 'UTC') FROM attempts WHERE nth IS NULL)`

// What ended before there were roll-ups is added by the hour, also while a daemon of the version before adds to it, and the
// views show all of it at any time.
func TestAccountCatchesUp(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.exec("ALTER TABLE attempts ALTER nth DROP DEFAULT") // as it was
	for i := range 10 {
		f.exec(endedAttempt, int64(i), time.Duration(i)*17*time.Minute, time.Duration(i)*11*time.Hour)
	}
	f.exec("ALTER TABLE attempts ALTER nth SET DEFAULT nextval('attempts_nth')")
	f.exec(pastAttempts)
	f.exec(endedAttempt, int64(11), time.Hour, time.Hour)
	d := f.daemon()
	all := func() {
		t.Helper()
		f.expectLines("all is there", `SELECT concat_ws(' ', sum(slot_seconds) = (SELECT sum(slot_seconds) FROM report.attempts), sum(jobs), sum(cpu_seconds))
			FROM report.usage_hourly`, "t 11 16.500")
	}
	all()
	added := 0
	for range 130 { // by the hour
		n, _, err := AccountBatch(context.Background(), f.pool)
		if err != nil {
			t.Fatal(err)
		}
		added += n
		all()
	}
	f.accountAll(d)
	all()
	f.expectLines("state", "SELECT (past IS NULL AND past_last IS NULL)::text FROM usage_state", "true")
	if added != 11 {
		t.Errorf("%d attempts were added", added)
	}
}

// A day whose attempts are not added yet is not dropped.
func TestHistoryIsAddedBeforeItIsDropped(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.exec("SELECT divvy_make_days('attempts', (now() AT TIME ZONE 'UTC')::date - 9, 5)")
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, KeepHistory: 24 * time.Hour})
	t.Cleanup(stop)
	for i := range 3 {
		f.exec(endedAttempt, int64(i), time.Hour, time.Duration(5+i)*day)
	}
	drop := func() (n int) {
		t.Helper()
		n, err := d.dropDays(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := drop(); n != 2 {
		t.Errorf("%d days were dropped; there are two before those with attempts that are nowhere else", n)
	}
	// A daemon of the version before asks for all of them at once, and again and again.
	f.expectLines("it drops none either", "SELECT divvy_drop_days('attempts', (now() AT TIME ZONE 'UTC')::date - 1)::text", "0")
	f.accountAll(d)
	if n := drop(); n != 3 {
		t.Errorf("%d days were dropped", n)
	}
	f.expectLines("usage stays", "SELECT concat_ws(' ', sum(jobs), round(sum(slot_seconds)), (SELECT count(*) FROM attempts)) FROM report.usage_daily", "3 21600 0")
}

// The same of attempts from before there were numbers.
func TestThePastIsAddedBeforeItIsDropped(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.exec("SELECT divvy_make_days('attempts', (now() AT TIME ZONE 'UTC')::date - 9, 8)")
	f.exec("ALTER TABLE attempts ALTER nth DROP DEFAULT")
	for i := range 3 {
		f.exec(endedAttempt, int64(i), time.Hour, time.Duration(5+i)*day)
	}
	f.exec("ALTER TABLE attempts ALTER nth SET DEFAULT nextval('attempts_nth')")
	f.exec(pastAttempts)
	dropped := func() (n int) {
		f.t.Helper()
		f.scan(&n, "SELECT divvy_drop_days('attempts', (now() AT TIME ZONE 'UTC')::date - 1)")
		return n
	}
	total := dropped()
	if total != 2 {
		t.Errorf("%d days were dropped before any was added", total)
	}
	for range 80 { // added by the hour: a day can be dropped when it is through
		if _, _, err := AccountBatch(t.Context(), f.pool); err != nil {
			t.Fatal(err)
		}
		total += dropped()
		f.expectLines("all is there", "SELECT concat_ws(' ', sum(jobs), round(sum(slot_seconds))) FROM report.usage_daily", "3 21600")
	}
	if total != 8 {
		t.Errorf("%d days were dropped", total)
	}
}

// A daemon of the version before knows nothing of pieces: it moves running leases beside one that accounts for them, and
// they are split all the same.
func TestAnOlderDaemonMovesLeases(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 2, user: "alice"})
	leases := []Lease{pull1(t, d, "q"), pull1(t, d, "q")}
	pgtest.Age(t, f.pool, "leases", "claimed_at", 2*time.Hour)
	const older = "UPDATE leases SET share_id = $2::int WHERE share_id = $1::int" // as in its move_leases.sql
	f.exec(older, f.shareID("A"), f.shareID("B"))
	f.exec("UPDATE jobs SET share_id = $2::int WHERE share_id = $1::int", f.shareID("A"), f.shareID("B"))
	f.exec("UPDATE leases SET expires_at = expires_at + interval '1 s'") // a renewal is no move
	f.exec(older, f.shareID("B"), f.shareID("B"))
	pgtest.Age(t, f.pool, "leases", "claimed_at", time.Hour)
	for _, column := range []string{"since", "until"} {
		pgtest.Age(t, f.pool, "lease_pieces", column, time.Hour)
	}
	finish(t, d, Finished, leases...)
	for _, when := range []string{"before", "after"} {
		f.expectLines(when, `SELECT concat_ws(' ', share, round(sum(slot_seconds) / 3600, 2), sum(jobs)) FROM report.usage_hourly GROUP BY share ORDER BY share`,
			"A 4.00 0", "B 2.00 2")
		f.expectLines(when+": in all", `SELECT ((SELECT sum(unit_seconds) FROM report.usage_daily) = sum(unit_seconds))::text FROM report.attempts`, "true")
		f.accountAll(d)
	}
	f.expectLines("pieces", "SELECT count(*)::text FROM lease_pieces", "2")
}

// Roll-ups are dropped by whole days, those by the hour and those by the day after a time of their own.
func TestRollupsAreDropped(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, KeepHours: 47 * time.Hour, KeepDays: 4 * day})
	t.Cleanup(stop)
	for i := range 8 {
		f.exec(endedAttempt, int64(i), 30*time.Hour, time.Duration(i)*day)
	}
	f.exec(`INSERT INTO wait_hours SELECT date_trunc('hour', now(), 'UTC') - make_interval(days => i), 1, 1, 0, 1, 1 FROM generate_series(0, 7) AS i;
		INSERT INTO user_wait_hours SELECT date_trunc('hour', now(), 'UTC') - make_interval(days => i), 'ann', 0, 1, 1 FROM generate_series(0, 7) AS i;
		INSERT INTO fairness_hours SELECT date_trunc('hour', now(), 'UTC') - make_interval(days => i), 'default', 1, 1, 1, 1, 0, 0, 1 FROM generate_series(0, 7) AS i`)
	f.accountAll(d)
	sums := f.lines(`SELECT concat_ws(' ', sum(slot_seconds), sum(jobs)) FROM report.usage_hourly WHERE hour >= ((now() AT TIME ZONE 'UTC')::date - 2)::timestamp AT TIME ZONE 'UTC'
		UNION ALL SELECT concat_ws(' ', sum(slot_seconds), sum(jobs)) FROM report.usage_daily WHERE day >= (now() AT TIME ZONE 'UTC')::date - 4`)
	for range 2 {
		if _, err := d.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.expectLines("oldest", `SELECT concat_ws(' ', (SELECT (now() AT TIME ZONE 'UTC')::date - (min(hour) AT TIME ZONE 'UTC')::date FROM usage_hours),
			(SELECT (now() AT TIME ZONE 'UTC')::date - (min(hour) AT TIME ZONE 'UTC')::date FROM wait_hours),
			(SELECT (now() AT TIME ZONE 'UTC')::date - (min(hour) AT TIME ZONE 'UTC')::date FROM user_wait_hours),
			(SELECT (now() AT TIME ZONE 'UTC')::date - (min(hour) AT TIME ZONE 'UTC')::date FROM fairness_hours),
			(SELECT (now() AT TIME ZONE 'UTC')::date - min(day) FROM usage_days), (SELECT (now() AT TIME ZONE 'UTC')::date - min(day) FROM usage_tasks),
			(SELECT (now() AT TIME ZONE 'UTC')::date - min(day) FROM usage_nodes))`, "2 2 2 2 4 4 4")
		f.expectLines("what is left is whole", `SELECT concat_ws(' ', sum(slot_seconds), sum(jobs)) FROM report.usage_hourly
			UNION ALL SELECT concat_ws(' ', sum(slot_seconds), sum(jobs)) FROM report.usage_daily`, sums...)
	}
}

// Without a word about it roll-ups are kept for ever.
func TestRollupsAreKept(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.exec(endedAttempt, int64(1), time.Hour, 3000*day)
	f.accountAll(d)
	if _, err := d.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.expectLines("hours and days", "SELECT concat_ws(' ', (SELECT sum(finished) FROM usage_hours), (SELECT sum(finished) FROM usage_days))", "1 1")
}

// Waits are counted once a job, by the hour of the first claim.
func TestWaits(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 3})
	f.exec("UPDATE jobs SET created_at = now() - make_interval(mins => id::int * 10)") // waits of 10, 20, 30 minutes
	var leases []Lease
	for range 3 {
		leases = append(leases, pull1(t, d, "q"))
	}
	finish(t, d, Finished, leases[0])
	finish(t, d, Failed, leases[1], leases[2])
	for i := range 2 { // both are tried again; one is over before its first attempt is added
		l := pull1(t, d, "q")
		if i == 0 {
			finish(t, d, Finished, l)
		}
	}
	f.accountAll(d)
	f.expectLines("waits", "SELECT concat_ws(' ', share, queue, from_seconds, to_seconds, jobs, round(wait_seconds / 60)) FROM report.waits ORDER BY from_seconds",
		"A q 600 1200 1 10", "A q 1200 1800 1 20", "A q 1800 3600 1 30")
}

// Waits count from the submission of the task, whenever its jobs were made; pieces that are tried again by another job do not count.
func TestWaitsCountFromSubmission(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	for i, user := range []string{"ann", "bob", "bob"} {
		ids := f.enqueue(batch{share: "A", n: 2, user: user})
		f.exec("UPDATE tasks SET created_at = now() - interval '2 hours', committed_at = now() - make_interval(mins => $2) WHERE id = $1", f.tasks, 20*(i+1))
		f.exec("UPDATE jobs SET created_at = now() - interval '1 min', retry_of = CASE WHEN id = $1 THEN 1 END WHERE id = ANY ($2)", ids[0], ids)
	}
	for range 6 {
		finish(t, d, Finished, pull1(t, d, "q"))
	}
	f.accountAll(d)
	f.expectLines("by share", "SELECT concat_ws(' ', share, from_seconds, jobs, round(wait_seconds / 60)) FROM report.waits ORDER BY from_seconds", "A 1200 1 20", "A 1800 1 40", "A 3600 1 60")
	f.expectLines("by user", "SELECT concat_ws(' ', user_name, from_seconds, jobs, round(wait_seconds / 60)) FROM report.user_waits ORDER BY from_seconds", "ann 1200 1 20", "bob 1800 1 40", "bob 3600 1 60")
}
