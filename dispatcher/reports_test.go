package dispatcher

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/shares"
)

// reportOf is what is said of an attempt of a job, running or ended.
func (f *fixture) reportOf(d *Dispatcher, job int64, attempt int) map[string]any {
	f.t.Helper()
	row, err := d.Job(context.Background(), job)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, a := range row.Attempts {
		if a.Attempt == attempt {
			return a.Report
		}
	}
	f.t.Fatalf("job %d has no attempt %d", job, attempt)
	return nil
}

func (f *fixture) count(table string) (n int) {
	f.t.Helper()
	f.scan(&n, "SELECT count(*) FROM "+table)
	return n
}

// Reports of renewals and of the end are merged, the latest word on each field counts, and an attempt has its own.
func TestReports(t *testing.T) {
	for _, outcome := range []Outcome{Failed, Finished} {
		t.Run(string(outcome), func(t *testing.T) {
			f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
			d := f.daemon()
			f.enqueue(batch{share: "A", n: 1, attempts: 2})
			same := func(attempt int, job int64, want map[string]any) {
				t.Helper()
				if diff := cmp.Diff(want, f.reportOf(d, job, attempt)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			l := pull1(t, d, "q")
			renewOnce(t, d, Renewal{Lease: l.Lease, State: Running})
			same(1, l.Job, nil)
			renewOnce(t, d, Renewal{Lease: l.Lease, Report: map[string]any{"a": "1", "b": "1"}})
			renewOnce(t, d, Renewal{Lease: l.Lease, Report: map[string]any{"b": "2", "c": "2"}},
				Renewal{Lease: l.Lease, Report: map[string]any{"c": "3\x00\xff"}})
			same(1, l.Job, map[string]any{"a": "1", "b": "2", "c": "3\ufffd\ufffd"})
			end := Result{Lease: l.Lease, Outcome: outcome, Report: map[string]any{"c": []any{1.5, nil}, "d": map[string]any{"x": true}}}
			for range 2 { // a repeat changes nothing
				if _, err := d.Finish(context.Background(), FinishRequest{Pilot: "p", Results: []Result{end}}); err != nil {
					t.Fatal(err)
				}
				same(1, l.Job, map[string]any{"a": "1", "b": "2", "c": []any{1.5, nil}, "d": map[string]any{"x": true}})
				end.Report = map[string]any{"c": "late"}
			}
			if n := f.count("lease_reports"); n != 0 {
				t.Errorf("%d reports of leases that are over", n)
			}
			if outcome == Finished {
				return
			}
			// A late report of the attempt that is over is nobody's.
			second := pull1(t, d, "q")
			if reply := renewOnce(t, d, Renewal{Lease: l.Lease, Report: map[string]any{"a": "late"}}); len(reply.Lost) != 1 {
				t.Errorf("%+v", reply)
			}
			same(2, second.Job, nil)
			renewOnce(t, d, Renewal{Lease: second.Lease, Report: map[string]any{"e": "5"}})
			finish(t, d, Failed, second)
			same(2, second.Job, map[string]any{"e": "5"})
			same(1, second.Job, map[string]any{"a": "1", "b": "2", "c": []any{1.5, nil}, "d": map[string]any{"x": true}})
			f.recount()
		})
	}
}

// An attempt that ends without a word of its pilot keeps what was reported.
func TestReportOfALostAttempt(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 2})
	l, other := pull1(t, d, "q"), pull1(t, d, "q")
	renewOnce(t, d, Renewal{Lease: l.Lease, Report: map[string]any{"a": 1.0}}, Renewal{Lease: other.Lease})
	key, _ := parseLease(l.Lease)
	f.exec("UPDATE leases SET expires_at = now() - interval '1 h'")
	if _, err := d.end(context.Background(), []ended{{key: key, outcome: Lost}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"a": 1.0}, f.reportOf(d, l.Job, 1)); diff != "" {
		t.Error(diff)
	}
	if n := f.count("lease_reports"); n != 0 {
		t.Errorf("%d reports are left", n)
	}
}

// Renewals with a report leave the lease's row where it is: after the first one nothing but the usual is written there.
func TestRenewalsWithReportsStayHot(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 50))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 20})
	var renewals []Renewal
	for range 20 {
		renewals = append(renewals, Renewal{Lease: pull1(t, d, "q").Lease, Report: map[string]any{"a": strings.Repeat("x", 500)}})
	}
	for range 10 {
		renewOnce(t, d, renewals...)
	}
	var cold int
	eventually(t, "the statistics of leases know of all updates", func() bool {
		var n int
		f.scan(&n, "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'leases'")
		return n >= 20*11
	})
	f.scan(&cold, "SELECT n_tup_upd - n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'leases'")
	if cold > 20 { // a page that is full at first is split
		t.Errorf("%d updates of leases were not HOT", cold)
	}
}

// What an end has left behind is purged, and what belongs to a lease stays.
func TestPurgeReports(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1})
	l := pull1(t, d, "q")
	renewOnce(t, d, Renewal{Lease: l.Lease, Report: map[string]any{"a": "1"}})
	f.exec("INSERT INTO lease_reports (job_id, attempt, report) VALUES ($1, 1, '{}'), ($1 + 1, 1, '{}')", l.Job+1000)
	if _, err := d.Purge(context.Background()); err != nil {
		t.Fatal(err)
	}
	var left int64
	if f.scan(&left, "SELECT sum(job_id)::bigint FROM lease_reports"); left != l.Job {
		t.Errorf("left: %d, want job %d alone", left, l.Job)
	}
}

func TestPackReport(t *testing.T) {
	deep := any("x")
	for range 1000 {
		deep = []any{deep}
	}
	many := map[string]any{}
	for i := range 20_000 {
		many[fmt.Sprint("field", i)] = i
	}
	for name, c := range map[string]struct {
		report map[string]any
		want   string // part of what is stored
	}{
		"nothing":  {nil, ""},
		"small":    {map[string]any{"a": 1, "b": "\x00<"}, `{"a":1,"b":"\ufffd\u003c"}`},
		"text":     {map[string]any{"a": 1, "log": strings.Repeat("<x\n", 50_000)}, `"a":1,"cut":"a report has at most 65536 bytes, cut or left out: log (`},
		"object":   {map[string]any{"a": 1, "b": strings.Split(strings.Repeat("xxxxxxxxx ", 10_000), " ")}, `"cut":"a report has at most 65536 bytes, cut or left out: b (`},
		"many":     {many, `"field0":0`},
		"deep":     {map[string]any{"deep": deep, "a": 1}, `[nested too deeply]`},
		"nan":      {map[string]any{"a": math.NaN()}, `the report cannot be written down`},
		"number":   {map[string]any{"a": json.Number("1e400000"), "b": json.Number("17")}, `{"a":"1e400000","b":17}`},
		"one name": {map[string]any{strings.Repeat("n", 100_000): 1}, `"cut":"a report has at most`},
	} {
		t.Run(name, func(t *testing.T) {
			got := packReport(c.report)
			if !strings.Contains(string(got), c.want) || len(got) > mostReport || len(got) > 0 && !json.Valid(got) {
				t.Errorf("%d bytes: %.500s\nwant %s", len(got), got, c.want)
			}
		})
	}
}

// Whatever a pilot reports, the other attempts of its batch are renewed and ended, and what is kept has a bound.
func TestHugeReports(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1})
	l := pull1(t, d, "q")
	for i := range 5 {
		renewOnce(t, d, Renewal{Lease: l.Lease, Report: map[string]any{fmt.Sprint("f", i): strings.Repeat("y", 40_000)}})
	}
	var size int
	if f.scan(&size, "SELECT octet_length(report::text) FROM lease_reports"); size > mostReport+200 {
		t.Errorf("%d bytes", size)
	}
	if got := f.reportOf(d, l.Job, 1); got["f4"] == nil || got["f3"] != nil || got[cutField] == nil {
		t.Errorf("fields of the report: %.200v", got)
	}
	end := Result{Lease: l.Lease, Outcome: Finished, Report: map[string]any{"end": strings.Repeat("ü\x00\"", 100_000)}}
	reply, err := d.Finish(context.Background(), FinishRequest{Pilot: "p", Results: []Result{end}})
	if err != nil || reply.Verdicts[0].Verdict != Recorded {
		t.Fatalf("%+v %v", reply, err)
	}
	if got := f.reportOf(d, l.Job, 1); got["end"] == nil || got["f4"] != nil {
		t.Errorf("fields of the report: %.200v", got)
	}
}

// Outputs that are nested without end are kept as far as reports are: PostgreSQL would refuse the statement of all who ended.
func TestOutputsThatAreNested(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1})
	var deep any = "end"
	for range 9000 {
		deep = []any{deep}
	}
	l := pull1(t, d, "q")
	reply, err := d.Finish(context.Background(), FinishRequest{Pilot: "p", Results: []Result{
		{Lease: l.Lease, Outcome: Finished, Outputs: map[string]any{"deep": deep, "file": map[string]any{"size": 7}}}}})
	if err != nil || reply.Verdicts[0].Verdict != Recorded {
		t.Fatalf("%+v, %v", reply, err)
	}
	row, err := d.Job(context.Background(), l.Job)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(row.Attempts[0].Outputs)
	if err != nil || len(out) > 300 || !strings.Contains(string(out), "nested too deeply") || !strings.Contains(string(out), `"size":7`) {
		t.Errorf("%.300s, %v", out, err)
	}
}
