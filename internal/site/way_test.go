package site

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
)

// rehearsal is A and B at 1:1, 100 units, A holding all that it may; jobs end as ends says.
func rehearsal(t *testing.T, ends map[string]shares.Ends) *bench {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}"))
	ids := b.ids()
	b.hooks.Standing = func(context.Context) (map[string]Demand, error) {
		byID := map[shares.ShareID]shares.Ends{}
		for name, e := range ends {
			byID[ids[name]] = e
		}
		return map[string]Demand{file.DefaultPool: {
			Held: map[shares.ShareID]shares.Units{ids["A"]: 50_000, ids["B"]: 50_000},
			Want: map[shares.ShareID]shares.Units{ids["A"]: 500_000, ids["B"]: 500_000},
			Ends: byID,
		}}, nil
	}
	return b
}

// W2 of sharing.md, rehearsed: B gains 25 units, as fast as jobs of A end.
func TestRehearsalSaysHowLong(t *testing.T) {
	ends := map[string]shares.Ends{}
	b, next := rehearsal(t, ends), site("{name: A}", "{name: B, weight: 3}")
	a, err := b.Apply(t.Context(), ApplyRequest{Source: []byte(next), DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	p := a.Targets[0]
	if p.Way.ETAS != nil || p.Way.ETA != "unknown: no job has ended in the last 5 minutes" {
		t.Errorf("nothing has ended: %+v", p.Way)
	}
	if got := p.Shares; got[0].Gain != -25 || got[0].SlotsAfter != 25 || got[0].Held != 50 || got[1].Gain != 25 || got[1].SlotsAfter != 75 {
		t.Errorf("%+v", got)
	}
	ends["A"], ends["B"] = shares.Ends{PerSecond: 0.5, Units: 1000}, shares.Ends{PerSecond: 0.1, Units: 1000}
	before := b.everything()
	if a, err = b.Apply(t.Context(), ApplyRequest{Source: []byte(next), DryRun: true}); err != nil {
		t.Fatal(err)
	}
	w := a.Targets[0].Way
	if w.ETAS == nil || *w.ETAS < 49.99 || *w.ETAS > 50.01 || w.ETA != "about 50 s, from 0.6 ends a second that freed 0.6 units a second of late; nothing is killed" {
		t.Errorf("25 units at half a unit a second: %+v", w)
	}
	if d := cmp.Diff(before, b.everything()); d != "" {
		t.Errorf("a rehearsal wrote something: %s", d)
	}
}

// everything is every row of the database.
func (b *bench) everything() map[string]string {
	b.t.Helper()
	rows, err := b.db.Query(b.t.Context(), `SELECT c.oid::regclass::text, query_to_xml('SELECT * FROM ' || c.oid::regclass || ' AS t ORDER BY t::text', true, false, '')::text
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = 'public'`)
	if err != nil {
		b.t.Fatal(err)
	}
	all := map[string]string{}
	for rows.Next() {
		var table, text string
		if err := rows.Scan(&table, &text); err != nil {
			b.t.Fatal(err)
		}
		all[table] = text
	}
	if rows.Err() != nil || len(all) < 10 {
		b.t.Fatal(rows.Err(), len(all))
	}
	return all
}

// Plans count as they stand at the time that is asked about.
func TestRehearsalAtATime(t *testing.T) {
	b := rehearsal(t, nil)
	next := site("{name: A}", `{name: B, plans: [{when: "Mon-Fri 08:00-18:00", weight: 3}]}`)
	for at, want := range map[string]int64{"2026-03-02T12:00:00Z": 25, "2026-03-01T12:00:00Z": 0} { // a Monday, a Sunday
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		a, err := b.Apply(t.Context(), ApplyRequest{Source: []byte(next), DryRun: true, When: when})
		if err != nil || a.Targets[0].Shares[1].Gain != want {
			t.Errorf("%s: %+v, %v", at, a.Targets, err)
		}
	}
}
