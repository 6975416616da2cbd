package dispatcher

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// shareCount is a row of the query in docs/replay.md.
type shareCount struct {
	Share     string
	ReadyJobs int64
	HeldJobs  int64
	HeldUnits float64
}

// The query of the page counts what was ready and held at a moment that is over, whatever came after it.
func TestReplayPageFoldsAMoment(t *testing.T) {
	page, err := os.ReadFile("../docs/replay.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```sql\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no query")
	}
	q := slots("q", 100)
	q.CorePowerMilli = 1250
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, q)
	d := f.daemon()
	f.partition(d)
	fold := func() {
		t.Helper()
		for _, step := range []func(context.Context) (int, error){d.Fold, d.Checkpoint} {
			if _, err := step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	var leases []Lease
	lease := func(n int) {
		t.Helper()
		for range n {
			leases = append(leases, pull1(t, d, "q"))
		}
	}
	f.enqueue(batch{share: "A", n: 20})
	lease(4)
	fold()
	f.enqueue(batch{share: "B", n: 10})
	lease(6)
	finish(t, d, Finished, leases[0])
	finish(t, d, Failed, leases[1])
	var moment time.Time
	f.scan(&moment, "SELECT clock_timestamp()")
	want := f.counts()
	finish(t, d, Finished, leases[2:]...)
	f.enqueue(batch{share: "A", n: 7})
	f.exec(makeYesterday)
	f.exec("UPDATE checkpoints SET at = at - interval '2 min'") // so that the next one is made
	fold()
	f.exec("UPDATE checkpoints SET at = at + interval '11 min' WHERE at > $1", moment) // and bounds what is read

	sql := strings.ReplaceAll(string(found[1]), "2026-03-02 08:00:00Z", moment.UTC().Format(time.RFC3339Nano))
	if diff := cmp.Diff(want, f.rows(sql)); diff != "" {
		t.Errorf("at the moment (-) and counted again (+):\n%s", diff)
	}
}

// counts is what each share has ready and held, from the tables.
func (f *fixture) counts() []shareCount {
	f.t.Helper()
	return f.rows(`SELECT s.path AS share, count(*) FILTER (WHERE l.job_id IS NULL) AS ready_jobs, count(l.job_id) AS held_jobs,
		coalesce(sum(l.units), 0) / 1000.0 AS held_units
		FROM jobs j JOIN shares s ON s.id = j.share_id LEFT JOIN leases l ON l.job_id = j.id
		GROUP BY s.path ORDER BY s.path`)
}

func (f *fixture) rows(sql string) []shareCount {
	f.t.Helper()
	rows, err := f.pool.Query(context.Background(), sql)
	if err != nil {
		f.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[shareCount])
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}
