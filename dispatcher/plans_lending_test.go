package dispatcher

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

func upTo(u shares.Units) shares.Limit { return shares.Limit{Any: &u} }

// ownersE9: A owns 40 and lends up to 30, B owns 40, lends nothing and borrows up to 10; a pool of 20 between them.
func ownersE9() []shares.Spec {
	return []shares.Spec{
		planned("A", func(p *shares.Plan) { p.Owned, p.Lend = shares.Of(40000), upTo(30000) }),
		planned("B", func(p *shares.Plan) { p.Owned, p.Lend, p.Borrow = shares.Of(40000), upTo(0), upTo(10000) }),
	}
}

// E9, pull by pull, with jobs of one core and of four.
func TestE9(t *testing.T) {
	for _, c := range []struct{ a, b, heldA, heldB int }{
		{5, 100, 5, 70}, {45, 100, 45, 55}, {100, 100, 50, 50}, {100, 30, 60, 30},
	} {
		for _, at := range []string{"one pull at a time", "wide pulls"} {
			t.Run(fmt.Sprintf("A %d B %d %s", c.a, c.b, at), func(t *testing.T) {
				f := newFixture(t, ownersE9(), slots("q", 100))
				reg := prometheus.NewRegistry()
				d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Metrics: reg})
				defer stop()
				f.enqueue(batch{share: "A", n: c.a})
				f.enqueue(batch{share: "B", n: c.b})
				width := 1
				if at == "wide pulls" {
					width = 10
				}
				for n := 0; n < c.heldA+c.heldB; {
					n += len(pullN(t, d, "q", width))
				}
				noJob(t, d, "q")
				if diff := cmp.Diff(map[string]int{"A": c.heldA, "B": c.heldB}, f.heldBy()); diff != "" {
					t.Errorf("held (-want +got):\n%s", diff)
				}
				if c.heldA+c.heldB < 100 {
					if got := refusals(t, reg); got["borrow_limit"]+got["lend_limit"] == 0 {
						t.Errorf("refusals are counted as %v", got)
					}
				}
				f.recount()
			})
		}
	}
}

// refusals are the pulls that got no job, by reason.
func refusals(t testing.TB, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]float64{}
	for _, family := range families {
		if family.GetName() == "divvy_pulls_refused_total" {
			for _, m := range family.GetMetric() {
				by[m.GetLabel()[0].GetValue()] += m.GetCounter().GetValue()
			}
		}
	}
	return by
}

// pullN asks for up to n jobs of one core.
func pullN(t testing.TB, d *Dispatcher, queue string, n int) []Lease {
	t.Helper()
	reply, err := d.Pull(t.Context(), PullRequest{Queue: queue, Pilot: "p", Slot: job.Slot{Cores: n}, Max: n, WaitS: 5})
	if err != nil {
		t.Fatalf("pull: %v", err)
	}
	return reply.Leases
}

// Who was refused a loan is served as soon as it may: when a lease ends, when the owner's demand changes, when a smaller
// job comes; and the owner takes up its idle units at once.
func TestLoansComeBack(t *testing.T) {
	f := newFixture(t, ownersE9(), slots("q", 100))
	d := f.daemon()
	f.enqueue(batch{share: "B", n: 200})
	var leases []Lease
	for range 70 { // of its own 40, the pool 20, of A's 10
		leases = append(leases, pull1(t, d, "q"))
	}
	noJob(t, d, "q")
	shown := byPath(d, "default")
	if b, a := shown["B"], shown["A"]; b.Own != 40 || b.Borrowed != 10 || a.Lent != 10 || b.Deserved != 50 {
		t.Errorf("shown: A %+v, B %+v", a, b)
	}
	if _, err := d.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	loans := "SELECT concat_ws(' ', share, deserved_units, held_units, lent_units, borrowed_units) FROM report.loans_now ORDER BY share"
	f.expectLines("loans", loans, "A 50.000 0.000 10.000 0.000", "B 50.000 70.000 0.000 10.000")
	finish(t, d, Finished, leases[0])
	if l := pull1(t, d, "q"); l.Share != "B" {
		t.Fatalf("%s, want B: one of its leases has ended", l.Share)
	}
	noJob(t, d, "q")
	waiting := make(chan Lease)
	go func() { waiting <- pullN(t, d, "q", 1)[0] }()
	f.enqueue(batch{share: "A", n: 100})
	if l := <-waiting; l.Share != "A" {
		t.Fatalf("%s, want A: B may not borrow more", l.Share)
	}
	for range 29 {
		if l := pull1(t, d, "q"); l.Share != "A" {
			t.Fatalf("%s, want A", l.Share)
		}
	}
	noJob(t, d, "q")
	f.recount()
}
