package dispatcher

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// sumRow is a row of the query of docs/reporting.md that derives the sums of an explanation anew.
type sumRow struct {
	Path         string
	Part         float64
	ReadyJobs    int64
	HeldUnits    float64
	TargetUnits  float64
	DeficitUnits float64
	Rank         int
}

// The sums of an explanation are those that the views of the database give, without anything that the daemon knows.
func TestSumsOfAnExplanation(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 100))
	f.exec("UPDATE shares c SET parent_id = p.id FROM shares p WHERE c.path = p.path || '/' || c.name")
	d := f.daemon()
	var jobs []int64
	for i, leaf := range []string{"Prod/MC", "Prod/Rep", "Prod/Val", "Ana/User", "Test"} {
		ids := f.enqueue(batch{share: leaf, n: 40 + i})
		jobs = append(jobs, ids[len(ids)-1])
	}
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		pull1(t, d, "q")
	}
	if _, err := d.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/reporting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "## The sums of an explanation")
	query := regexp.MustCompile("(?s)```sql\n(.*?);\n```").FindStringSubmatch(section)
	if !ok || query == nil || strings.Count(query[1], "job_id = 24") != 1 {
		t.Fatal("the page has no such query")
	}
	for _, job := range jobs {
		sql := strings.Replace(query[1], "job_id = 24", "job_id = "+strconv.FormatInt(job, 10), 1)
		rows, err := f.pool.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowToStructByName[sumRow])
		if err != nil {
			t.Fatal(err)
		}
		e, err := d.Explain(t.Context(), job)
		if err != nil || len(got) != len(e.Pools[0].Levels) {
			t.Fatalf("%v: %+v, explained are %+v", err, got, e.Pools)
		}
		product := 1.0
		for i, l := range e.Pools[0].Levels {
			g := got[i]
			product *= g.Part
			if g.Path != l.Share || g.ReadyJobs != l.Ready || g.HeldUnits != l.Held || g.Rank != l.Rank ||
				!close3(g.TargetUnits, l.Target) || !close3(g.DeficitUnits, l.Deficit) || !close3(product, l.Product) {
				t.Errorf("job %d: the database has %+v, explained is %+v", job, g, l)
			}
		}
	}
}

// close3 says whether two figures are the same to three digits behind the point.
func close3(a, b float64) bool { return a-b < 0.001 && b-a < 0.001 }

// An ETA counts jobs that come before the job by what they charge: ten jobs of 8 cores before one of 1.
func TestETACountsWideJobsBefore(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 16))
	d := f.daemon()
	f.exec("UPDATE daemons SET started_at = now() - interval '1 hour'")
	f.enqueue(batch{share: "A", n: 14, cores: 8, priority: 10})
	single := f.enqueue(batch{share: "A", n: 1, cores: 1})[0]
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	pull := func() []Lease {
		reply, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 16}, Max: 2, WaitS: 5})
		if err != nil || len(reply.Leases) != 2 {
			t.Fatalf("%+v, %v", reply, err)
		}
		return reply.Leases
	}
	for _, l := range pull() {
		finish(t, d, Finished, l)
	}
	pull() // the queue is full
	e, err := d.Explain(t.Context(), single)
	if err != nil {
		t.Fatal(err)
	}
	const want = (10*8 + 1) / (2 * 8 / 300.0) // units ÷ units that end a second
	if e.Position == nil || e.Position.Before != 10 || !e.ETA.Known || !near1(e.ETA.Seconds, want) {
		t.Fatalf("position %+v, ETA %+v; want %v s", e.Position, e.ETA, want)
	}
	if flow := e.ETA.Flows[0]; flow.JobUnits != 1 || !near1(flow.MeanUnits, 81.0/11) {
		t.Errorf("%+v", flow)
	}
}
