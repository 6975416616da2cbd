package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// What a pilot says when its lease has run out is kept beside what was reported before, and changes nothing else.
func TestLate(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 2))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1, attempts: 2})
	ctx := context.Background()
	l := pull1(t, d, "q")
	if _, err := d.Renew(ctx, RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: l.Lease, Report: map[string]any{"jobMetrics": "n=1"}}}}); err != nil {
		t.Fatal(err)
	}
	pgtest.Age(t, f.pool, "leases", "expires_at", time.Hour)
	d.swept = time.Time{}
	if n, err := d.Expire(ctx); n != 1 || err != nil {
		t.Fatalf("expire: %d %v", n, err)
	}
	seven := 7
	of := HeldJob{Job: l.Job, Attempt: 1}
	for i, c := range []struct {
		of   HeldJob
		said Result
		want bool
	}{
		{of, Result{Outcome: Failed, ExitCode: &seven, Message: "oops", Report: map[string]any{"transExitCode": 7}}, true},
		{of, Result{Outcome: Lost}, false},
		{HeldJob{Job: l.Job, Attempt: 2}, Result{Outcome: Failed}, false},
		{HeldJob{Job: l.Job, Attempt: 1 + 1<<32}, Result{Outcome: Failed}, false},
		{HeldJob{Job: l.Job + 1, Attempt: 1}, Result{Outcome: Failed}, false},
	} {
		if noted, err := d.Late(ctx, c.of, c.said); err != nil || noted != c.want {
			t.Errorf("%d: noted %v, want %v: %v", i, noted, c.want, err)
		}
	}
	job, err := d.Job(ctx, l.Job)
	if err != nil || job.State != "ready" || job.Attempts[0].State != "lost" || job.Attempts[0].ExitCode != nil {
		t.Fatalf("%+v %v", job, err)
	}
	report := job.Attempts[0].Report
	late, _ := report[lateField].(map[string]any)
	if report["jobMetrics"] != "n=1" || late["outcome"] != "failed" || late["exit_code"] != 7.0 || late["message"] != "oops" {
		t.Errorf("%v", report)
	}
	f.recount()
}
