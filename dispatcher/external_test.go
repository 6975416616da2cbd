package dispatcher

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// Units that claims hold are ours, as those of leases are: a server that sees them as used does not have them counted a second time.
func TestReportKnowsUnitsOfClaims(t *testing.T) {
	p := newPlace(t)
	p.site.Resources[0].Settle = 0
	w := p.start(1)
	ctx := t.Context()
	p.in(func(tx pgx.Tx) error {
		claims, err := intake.MakeClaims(ctx, tx, 1, []intake.NewClaim{{Key: "c", Template: shares.ClaimTemplate{Name: "c", Resources: map[string]int64{"tape": 3}, Linger: time.Hour}, Members: 2, Made: 2}})
		if err != nil {
			return err
		}
		shape, err := intake.Intern(ctx, tx, job.Requirements{Cores: 1, Resources: map[string]int64{"tape": 1}})
		if err != nil {
			return err
		}
		var all []intake.NewJob
		for i := range 2 {
			all = append(all, intake.NewJob{Task: 1, Share: 1, Shape: shape, MaxAttempts: 3, Index: int64(i), Claims: claims})
		}
		_, err = intake.Enqueue(ctx, tx, all)
		return err
	})
	// free is how many units are left, as of a report of so many that are used.
	free := func(used, want int64) {
		t.Helper()
		if err := w.ReportExternal(ctx, "tape", "", 10, used); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool {
			list, err := w.Resources(ctx, "tape")
			if err != nil {
				t.Fatal(err)
			}
			return list[0].External != nil && list[0].External.Used == used
		})
		if list, err := w.Resources(ctx, "tape"); err != nil || list[0].Free != want {
			t.Errorf("%d are used, %d of 10 units are free, want %d: %+v, %v", used, list[0].Free, want, list[0].External, err)
		}
	}
	free(2, 8) // nobody holds the claim yet
	l := []Lease{w.must(t, "n"), w.must(t, "n")}
	for _, l := range l {
		waitFor(t, func() bool { row, err := w.Reader.Job(ctx, l.Job); return err == nil && row.State == "leased" })
	}
	free(5, 5) // ours all of them
	free(7, 3) // and two of others
	if _, err := w.Finish(ctx, FinishRequest{Pilot: "p", Results: []Result{{Lease: l[0].Lease, Outcome: Finished}, {Lease: l[1].Lease, Outcome: Failed}}}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { row, err := w.Reader.Job(ctx, l[1].Job); return err == nil && row.State == "ready" })
	free(3, 7) // the claim lingers
	p.settle()
}
