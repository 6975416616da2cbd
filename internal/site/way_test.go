package site

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/shares"
)

// rehearsal is A and B at 1:1, 100 units, A holding all that it may.
func rehearsal(t *testing.T) (*bench, string) {
	b := newBench(t)
	b.apply(site("{name: A}", "{name: B}"))
	ids := b.ids()
	b.hooks.Standing = func() map[string]Demand {
		return map[string]Demand{DefaultPool: {
			Held: map[shares.ShareID]shares.Units{ids["A"]: 50_000, ids["B"]: 50_000},
			Want: map[shares.ShareID]shares.Units{ids["A"]: 500_000, ids["B"]: 500_000},
		}}
	}
	return b, site("{name: A}", "{name: B, weight: 3}")
}

// W2 of sharing.md, rehearsed: B gains 25 units, as fast as jobs of A end.
func TestRehearsalSaysHowLong(t *testing.T) {
	b, next := rehearsal(t)
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
	// Since 2 minutes ago 150 jobs of A ended and 30 of B, and one of A half an hour ago.
	b.ended("30 minutes", "2 minutes", "1 minute")
	before := b.everything()
	if a, err = b.Apply(t.Context(), ApplyRequest{Source: []byte(next), DryRun: true}); err != nil {
		t.Fatal(err)
	}
	w := a.Targets[0].Way
	if w.ETAS == nil || *w.ETAS < 19.99 || *w.ETAS > 25 || w.EndsPerSecond < 1.2 || w.EndsPerSecond > 1.501 || !strings.HasSuffix(w.ETA, "units a second of late; nothing is killed") {
		t.Errorf("25 units at 150 in 120 s: %+v", w)
	}
	if d := cmp.Diff(before, b.everything()); d != "" {
		t.Errorf("a rehearsal wrote something: %s", d)
	}
}

// What has just begun to run jobs is judged by what it did since, not by five minutes of which most were idle.
func TestRehearsalOfAYoungSite(t *testing.T) {
	for _, oldest := range []float64{1, 20, 250, 310} {
		b, next := rehearsal(t)
		start := time.Now()
		b.ended(fmt.Sprint(oldest, " seconds"))
		a, err := b.Apply(t.Context(), ApplyRequest{Source: []byte(next), DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		w := a.Targets[0].Way
		if oldest > endsSpan {
			if w.ETAS != nil {
				t.Errorf("%g s ago: %+v, want no ETA", oldest, w)
			}
			continue
		}
		const share = 25. / 75 // of A's ends, that B waits for
		least, most := share*max(oldest, endsLeast), share*max(oldest+time.Since(start).Seconds(), endsLeast)
		if w.ETAS == nil || *w.ETAS < least-0.01 || *w.ETAS > most+0.01 {
			t.Errorf("%g s ago: %+v, want %g to %g s", oldest, w, least, most)
		}
	}
}

// ended writes a row of the ledger for each time: 75 jobs of A and 15 of B ended so long ago, and 40 of A began and 3 went
// to another share, which frees nothing.
func (b *bench) ended(ago ...string) {
	b.t.Helper()
	ids := b.ids()
	for i, at := range ago {
		_, err := b.db.Exec(b.t.Context(), `INSERT INTO ledger (daemon_id, lane, seq, at, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns,
				units, places, low_ids, high_ids)
			VALUES (7, 1, $1, now() - $2::interval, '{1,1,2,1,1}', $3, '{1}', $4, '{l,l,l,r,l}', '{f,r,x,l,-}', '{70,5,15,40,3}',
				'{70000,5000,15000,40000,3000}', '{0}', '{0}', '{0}')`,
			i+1, at, []int32{int32(ids["A"]), int32(ids["A"]), int32(ids["B"]), int32(ids["A"]), int32(ids["A"])}, []int32{int32(b.load().Queues[0].ID)})
		if err != nil {
			b.t.Fatal(err)
		}
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
	b, _ := rehearsal(t)
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
