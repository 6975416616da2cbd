package dispatcher

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

func (f *fixture) moveStrays(d *Dispatcher) Strays {
	f.t.Helper()
	of, err := MoveStrays(context.Background(), f.pool, slog.New(slog.NewTextHandler(f.t.Output(), nil)), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return of
}

// A day could not be made while its rows came. When it is over, and what it has is in the roll-ups, the rows get a partition.
func TestStraysMoveIntoTheirDay(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 3})
	finish(t, d, Finished, pull1(t, d, "q"))
	finish(t, d, Failed, pull1(t, d, "q"))
	for table, column := range map[string]string{"attempts": "ended_at", "ended_jobs": "ended_at"} { // two days ago
		pgtest.Age(t, f.pool, table, column, 48*time.Hour)
	}
	if of := f.moveStrays(d); of != (Strays{Left: 2}) {
		t.Fatalf("%+v moved though today has no partition, and nobody might tell where the next end goes", of)
	}
	f.partition(d)
	if of := f.moveStrays(d); of.Days != 1 || of.Rows != 1 || of.Left != 1 {
		t.Fatalf("%+v; want ended_jobs only: attempts are not in the roll-ups yet", of)
	}
	if _, rest, _ := f.home("attempts", "ended_at"); rest != 2 {
		t.Fatalf("%d attempts are left in the default partition", rest)
	}
	f.accountAll(d)
	err := beginFunc(t.Context(), f.pool, func(tx pgxTx) error { // a report: nothing waits for it
		if _, err := tx.Exec(t.Context(), "SELECT FROM attempts"); err != nil {
			return err
		}
		if of := f.moveStrays(d); of != (Strays{Left: 1}) {
			t.Errorf("%+v moved beside a reader", of)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if of := f.moveStrays(d); of != (Strays{Rows: 2, Days: 1}) {
		t.Fatalf("%+v moved, want both attempts", of)
	}
	for table, want := range map[string]int{"attempts": 2, "ended_jobs": 1} {
		if day, rest, astray := f.home(table, "ended_at"); day != want || rest+astray != 0 {
			t.Errorf("%s: %d rows in their day, %d in the default, %d elsewhere", table, day, rest, astray)
		}
		if days := f.days(table); len(days) != daysAhead+2 || days[0] != -2 {
			t.Errorf("%s: days %v", table, days)
		}
		var alike bool // as any other day: indexes, constraints, how it is vacuumed and sampled
		f.scan(&alike, `SELECT count(DISTINCT what) = 1 FROM (SELECT
			(SELECT array_agg(regexp_replace(pg_get_indexdef(indexrelid), '_[0-9]{8}', '', 'g') ORDER BY 1) FROM pg_index WHERE indrelid = c.oid)::text
			|| (SELECT array_agg(conname || pg_get_constraintdef(oid) ORDER BY 1) FROM pg_constraint WHERE conrelid = c.oid)::text
			|| c.reloptions::text || (SELECT array_agg(attname || attstattarget ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid)::text AS what
			FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid WHERE i.inhparent = $1::text::regclass AND c.relname ~ '_[0-9]{8}$') x`, table)
		if !alike {
			t.Errorf("%s: the partition is not like the others", table)
		}
	}
	if of := f.moveStrays(d); of != (Strays{}) {
		t.Errorf("%+v moved again", of)
	}
	finish(t, d, Finished, pull1(t, d, "q"))
	f.recount()
}
