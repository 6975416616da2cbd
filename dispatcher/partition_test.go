package dispatcher

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// days lists the partitions of a table that are days, as their distance from today in days.
func (f *fixture) days(table string) (off []int) {
	f.t.Helper()
	f.scan(&off, `SELECT coalesce(array_agg(d ORDER BY d), '{}') FROM (
		SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') - (now() AT TIME ZONE 'UTC')::date AS d
		FROM pg_inherits WHERE inhparent = $1::text::regclass AND inhrelid::regclass::text ~ '_[0-9]{8}$') x`, table)
	return off
}

// dayless is a site whose database has no days yet, unlike those that tests are given.
func dayless(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	for _, table := range byDay {
		f.exec("SELECT divvy_drop_days($1::text, (now() AT TIME ZONE 'UTC')::date + 10)", table)
	}
	return f
}

func (f *fixture) partition(d *Dispatcher) int {
	f.t.Helper()
	n, err := d.Partition(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// makeYesterday makes the partition that checkpoints need when they are made older just after midnight.
const makeYesterday = "SELECT divvy_make_days('checkpoints', (now() AT TIME ZONE 'UTC')::date - 1, 1)"

// home counts the rows of a table by where they are: in the partition of their day, in the default, elsewhere.
func (f *fixture) home(table, key string) (day, rest, astray int) {
	f.t.Helper()
	err := f.pool.QueryRow(context.Background(), `SELECT count(*) FILTER (WHERE x.home = x.want), count(*) FILTER (WHERE x.home LIKE '%rest'),
		count(*) FILTER (WHERE x.home <> x.want AND x.home NOT LIKE '%rest')
		FROM (SELECT tableoid::regclass::text AS home, '`+table+`' || to_char(`+key+` AT TIME ZONE 'UTC', '_YYYYMMDD') AS want FROM `+table+`) x`).
		Scan(&day, &rest, &astray)
	if err != nil {
		f.t.Fatal(err)
	}
	return day, rest, astray
}

func TestPartitionMakesDaysAhead(t *testing.T) {
	f := dayless(t)
	d, e := f.daemon(), f.daemon()
	var both sync.WaitGroup
	made := make([]int, 2)
	for i, d := range []*Dispatcher{d, e} {
		both.Go(func() { made[i] = f.partition(d) })
	}
	both.Wait()
	// A daemon that finds the other at a table leaves it; so there may be some left, and nothing was made twice.
	if n := made[0] + made[1] + f.partition(d); n != len(byDay)*(daysAhead+1) {
		t.Errorf("%d partitions were made", n)
	}
	if n := f.partition(e); n != 0 {
		t.Errorf("%d more were made", n)
	}
	f.enqueue(batch{share: "A", n: 2})
	finish(t, d, Finished, pull1(t, d, "q"))
	finish(t, e, Failed, pull1(t, e, "q"))
	for _, d := range []*Dispatcher{d, e} {
		if n, err := d.Record(context.Background()); n != 1 || err != nil {
			t.Errorf("%d records, %v", n, err)
		}
	}
	for table, key := range map[string]string{"attempts": "ended_at", "ended_jobs": "ended_at", "decisions": "written_at"} {
		if days := f.days(table); len(days) < daysAhead+1 {
			t.Errorf("%s: days %v", table, days)
		}
		day, rest, astray := f.home(table, key)
		if want := map[string]int{"attempts": 2, "ended_jobs": 1, "decisions": 2}[table]; day != want || rest != 0 || astray != 0 {
			t.Errorf("%s: %d rows in their day, %d in the default, %d elsewhere", table, day, rest, astray)
		}
	}
}

// What ended before the first partition is in the default, and more of that day goes there; the next days are made.
func TestPartitionBesideRowsInTheDefault(t *testing.T) {
	f := dayless(t)
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 2})
	finish(t, d, Finished, pull1(t, d, "q"))
	f.exec("UPDATE attempts SET ended_at = ended_at + interval '1 day'") // whatever day it is by now
	f.exec("UPDATE ended_jobs SET ended_at = ended_at + interval '1 day'")
	for _, want := range []int{len(byDay)*(daysAhead+1) - 2, 0} {
		if n := f.partition(d); n != want {
			t.Errorf("%d partitions were made, want %d", n, want)
		}
	}
	finish(t, d, Finished, pull1(t, d, "q"))
	for _, table := range byDay[:2] {
		if day, rest, astray := f.home(table, "ended_at"); day != 1 || rest != 1 || astray != 0 {
			t.Errorf("%s: %d rows in their day, %d in the default, %d elsewhere", table, day, rest, astray)
		}
	}
	f.recount()
}

// Somebody reads or writes the default for long: nothing is made there, nothing waits, the rest is made.
func TestPartitionDoesNotWait(t *testing.T) {
	f := dayless(t)
	d := f.daemon()
	err := beginFunc(context.Background(), f.pool, func(tx pgxTx) error {
		if _, err := tx.Exec(context.Background(), "SELECT FROM attempts"); err != nil {
			return err
		}
		if n := f.partition(d); n != (len(byDay)-1)*(daysAhead+1) || len(f.days("attempts")) != 0 {
			t.Errorf("%d partitions were made, %v of attempts", n, f.days("attempts"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := f.partition(d); n != daysAhead+1 {
		t.Errorf("%d partitions were made afterwards", n)
	}
}

// The default partition takes longer to read than ends may wait: days are left out, with a word, and no error.
func TestPartitionLeavesALargeDefault(t *testing.T) {
	f := dayless(t)
	d := f.daemon()
	f.exec("ALTER FUNCTION divvy_make_days RENAME TO make_days_quickly")
	f.exec(`CREATE FUNCTION divvy_make_days(parent text, first date, days int) RETURNS int LANGUAGE plpgsql AS $$
		BEGIN
			IF parent = 'attempts' THEN
				PERFORM pg_sleep(60);
			END IF;
			RETURN make_days_quickly(parent, first, days);
		END $$`)
	if n := f.partition(d); n != (len(byDay)-1)*(daysAhead+1) || len(f.days("attempts")) != 0 {
		t.Errorf("%d partitions were made, %v of attempts", n, f.days("attempts"))
	}
}

func TestPurgeDropsOldDecisions(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	for _, table := range byDay {
		f.exec("SELECT divvy_make_days($1, (now() AT TIME ZONE 'UTC')::date - 10, 14)", table)
	}
	err := beginFunc(context.Background(), f.pool, func(tx pgxTx) error { // a report: the days wait, nothing else does
		if _, err := tx.Exec(context.Background(), "SELECT FROM decisions"); err != nil {
			return err
		}
		if n, err := d.Purge(context.Background()); n != 6 || err != nil {
			t.Errorf("under a reader of one of three tables: %d dropped, %v", n, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := d.Purge(context.Background()); n != 3 || err != nil {
		t.Errorf("%d dropped, %v; want the three days before the last seven", n, err)
	}
	for _, table := range replayed {
		if days := f.days(table); len(days) != 11 || days[0] != -7 {
			t.Errorf("%s: days %v are left", table, days)
		}
	}
	for _, table := range byDay[:2] {
		if days := f.days(table); len(days) != 14 {
			t.Errorf("%s: days %v are left", table, days)
		}
	}
}

func TestPurgeDropsOldSamples(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, KeepSamples: 36 * time.Hour})
	t.Cleanup(stop)
	f.exec("SELECT divvy_make_days('share_samples', (now() AT TIME ZONE 'UTC')::date - 10, 14)")
	if n, err := d.Sample(context.Background()); n != 1 || err != nil {
		t.Fatalf("%d samples, %v", n, err)
	}
	if day, rest, astray := f.home("share_samples", "at"); day != 1 || rest+astray != 0 {
		t.Errorf("%d rows in their day, %d in the default, %d elsewhere", day, rest, astray)
	}
	if n, err := d.Purge(context.Background()); n != 8 || err != nil {
		t.Errorf("%d dropped, %v; want the eight days before the last two", n, err)
	}
	if days := f.days("share_samples"); len(days) != 6 || days[0] != -2 {
		t.Errorf("days %v are left", days)
	}
}

// History goes by the day after Config.KeepHistory, what lies in the default partition row by row; without it nothing does.
func TestPurgeDropsOldHistory(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 3})
	for range 3 {
		finish(t, d, Finished, pull1(t, d, "q"))
	}
	f.exec("ALTER TABLE attempts_rest DISABLE TRIGGER keep_uncounted") // a row that goes to another partition is deleted in its own
	for _, table := range ofHistory[:2] {                              // with ends
		f.exec("SELECT divvy_make_days($1, (now() AT TIME ZONE 'UTC')::date - 10, 3)", table)
		// One of a day that has its partition, one of an old day that has none, one of today.
		f.exec(`UPDATE ` + table + ` SET ended_at = now() - k.age * interval '1 day'
			FROM (SELECT tableoid AS at, ctid AS row, (row_number() OVER () - 1) * 9 AS age FROM ` + table + `) k
			WHERE ` + table + `.tableoid = k.at AND ` + table + `.ctid = k.row`)
		if day, rest, astray := f.home(table, "ended_at"); day != 1 || rest != 2 || astray != 0 {
			t.Fatalf("%s: %d rows in their day, %d in the default, %d elsewhere", table, day, rest, astray)
		}
	}
	f.exec("ALTER TABLE attempts_rest ENABLE TRIGGER keep_uncounted")
	if n, err := d.Purge(context.Background()); n != 2 || err != nil {
		t.Errorf("kept for ever: %d dropped, %v; want the ranges of the jobs: of their task, and of the ready order", n, err)
	}
	f.accountAll(d) // or attempts stay
	d.cfg.KeepHistory = 14 * day
	if n, err := d.Purge(context.Background()); n != 2 || err != nil {
		t.Errorf("kept for 14 days: %d dropped, %v; want the rows of 18 days ago", n, err)
	}
	d.cfg.KeepHistory = 8 * day
	if n, err := d.Purge(context.Background()); n != 4 || err != nil {
		t.Errorf("kept for 8 days: %d dropped, %v; want two days of each table", n, err)
	}
	for _, table := range ofHistory[:2] { // with ends
		if days := f.days(table); len(days) != 1 || days[0] != -8 {
			t.Errorf("%s: days %v are left", table, days)
		}
		if day, rest, astray := f.home(table, "ended_at"); day+astray != 0 || rest != 1 {
			t.Errorf("%s: %d rows in their day, %d in the default, %d elsewhere are left", table, day, rest, astray)
		}
	}
}
