package dispatcher

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// Attempts count as what they were, those that are judged too; at their queue, and at the shares above theirs that have lines.
func TestAttemptsCountByOutcome(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1, node("B", 1, node("C", 1))), node("D", 1)}, slots("q", 10), slots("r", 10))
	reg := prometheus.NewRegistry()
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Metrics: reg})
	t.Cleanup(stop)
	f.enqueue(batch{share: "A/B/C", n: 1, attempts: 5})
	f.terms(f.tasks, retry.Terms{MaxFailures: 2})
	if got := fail(t, d, pull1(t, d, "q"), "first"); got != "waiting" {
		t.Fatalf("it is %s, not to be judged", got)
	}
	judge(t, d)
	pull1(t, d, "q")
	f.lose(d)
	judge(t, d)
	fail(t, d, pull1(t, d, "r"), "second")
	judge(t, d)
	f.enqueue(batch{share: "D", n: 1})
	finish(t, d, Finished, pull1(t, d, "r"))
	m := d.metrics.ends
	for what, want := range map[prometheus.Counter]float64{
		m.all.WithLabelValues("failed"): 2, m.all.WithLabelValues("lost"): 1, m.all.WithLabelValues("finished"): 1, m.all.WithLabelValues("cancelled"): 0,
		m.queues.WithLabelValues("q", "failed"): 1, m.queues.WithLabelValues("q", "lost"): 1, m.queues.WithLabelValues("r", "failed"): 1,
		m.shares.WithLabelValues("A", "failed"): 2, m.shares.WithLabelValues("A/B", "failed"): 2, m.shares.WithLabelValues("A/B", "lost"): 1,
		m.shares.WithLabelValues("D", "finished"): 1,
	} {
		if got := testutil.ToFloat64(what); got != want {
			t.Errorf("%s: %v, want %v", what.Desc(), got, want)
		}
	}
	if n := testutil.CollectAndCount(m.shares); n != 5 {
		t.Errorf("%d lines of shares: the upper two levels have some", n)
	}
}

// So many shares have lines, and none that the site does not have any more. Where a commit was in doubt the ledger is counted.
func TestAttemptsByShareAreBounded(t *testing.T) {
	m := newEndMetrics(promauto.With(prometheus.NewRegistry()), TopShares)
	site := func(number int64, n int) shares.Version {
		var all []shares.Spec
		for i := range n {
			all = append(all, node(fmt.Sprintf("s%d", i), 1))
		}
		tree, err := shares.Build(all)
		if err != nil {
			t.Fatal(err)
		}
		tree.SetIDs(func(path string) (id shares.ShareID) {
			_, _ = fmt.Sscanf(path, "s%d", &id)
			return id + 1
		})
		q := slots("q", 1)
		q.ID = 7
		return shares.Version{Number: number, Tree: tree, Queues: []shares.Queue{q}}
	}
	ends := func(share int) {
		m.count([]endRow{{ShareID: shares.ShareID(share + 1), QueueID: 7, Recorded: string(Failed)}})
	}
	m.adopt(site(1, mostEndShares+7))
	ends(3)
	ends(5)
	ends(mostEndShares + 1)
	if n := testutil.CollectAndCount(m.shares); n != 2 || m.endsLeftOut() != 7 {
		t.Errorf("%d lines, %d left out", n, m.leftOut)
	}
	m.adopt(site(2, 4))
	ends(3)
	if n, got := testutil.CollectAndCount(m.shares), testutil.ToFloat64(m.shares.WithLabelValues("s3", "failed")); n != 1 || got != 2 {
		t.Errorf("%d lines after share 5 has gone, s3 has %v", n, got)
	}
	m.doubted([]move{{Share: 4, Queue: 7, Before: isLeased, After: isFinished, N: 2}, {Share: 4, Queue: 7, Before: isLeased, After: isReady, N: 1}, {Before: isReady, After: isCancelled, N: 1}})
	for outcome, want := range map[string]float64{"finished": 2, unknownOutcome: 1, "failed": 4, "cancelled": 0} {
		if got := testutil.ToFloat64(m.all.WithLabelValues(outcome)); got != want {
			t.Errorf("%s: %v, want %v", outcome, got, want)
		}
	}
}
