package dispatcher

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// waits are how many jobs a histogram has, and how long they waited together.
type waits struct {
	jobs    uint64
	seconds float64
}

// waitsBy are the histograms of divvy_job_wait_seconds by share.
func waitsBy(t *testing.T, reg *prometheus.Registry) map[string]waits {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]waits{}
	for _, f := range families {
		if f.GetName() != "divvy_job_wait_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			h := m.GetHistogram()
			of[m.GetLabel()[1].GetValue()] = waits{h.GetSampleCount(), h.GetSampleSum()}
		}
	}
	return of
}

// A job counts once, with its time from being made to its first lease; later attempts do not.
func TestJobWaits(t *testing.T) {
	for of, want := range map[ShareMetrics]map[string]uint64{TopShares: {"": 4}, AllShares: {"a": 2, "b/c": 2}} {
		f := newFixture(t, []shares.Spec{node("a", 1), node("b", 1, node("c", 1))}, slots("q", 10))
		f.enqueue(batch{share: "a", n: 3, user: "ann"}) // made two minutes ago, submitted ten minutes ago
		pgtest.Age(t, f.pool, "jobs", "created_at", 2*time.Minute)
		pgtest.Age(t, f.pool, "tasks", "created_at", 10*time.Minute)
		f.exec("UPDATE jobs SET retry_of = 1 WHERE id IN (SELECT max(id) FROM jobs)") // another one has had its first lease
		reg := prometheus.NewRegistry()
		d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Metrics: reg, ShareMetrics: of})
		t.Cleanup(stop)
		leases := takeAll(t, d, "q")
		f.enqueue(batch{share: "b/c", n: 2})
		takeAll(t, d, "q")
		failed := FinishRequest{Pilot: "p", Results: []Result{{Lease: leases[0].Lease, Outcome: Failed}}}
		if _, err := d.Finish(t.Context(), failed); err != nil {
			t.Fatal(err)
		}
		if again := takeAll(t, d, "q"); len(again) != 1 || again[0].Attempt != 2 {
			t.Fatalf("%s: %+v", of, again)
		}
		got := waitsBy(t, reg)
		if len(got) != len(want) {
			t.Errorf("%q: %v", of, got)
		}
		var sum float64
		for share, n := range want {
			if got[share].jobs != n {
				t.Errorf("%q: share %q: %v, want %d jobs", of, share, got[share], n)
			}
			sum += got[share].seconds
		}
		if sum < 2*600 || sum > 4*600 {
			t.Errorf("%q: they waited %v s, want twice 600 and little more", of, sum)
		}
	}
}

// So many shares have lines of their own, and none that the site does not have any more.
func TestJobWaitsAreBounded(t *testing.T) {
	w := newJobWaits(prometheus.NewRegistry(), QueueShares)
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
		return shares.Version{Number: number, Tree: tree}
	}
	lease := func(share int) {
		w.leased(&grant{job: readyJob{attempt: 1, made: time.Now().UnixMilli()}, queue: &queue{Queue: slots("q", 1)}, window: newWindow(windowKey{share: shares.ShareID(share + 1)}, nil)}, nil, time.Now())
	}
	w.adopt(site(1, mostWaitShares+7))
	lease(3)
	lease(5)
	lease(mostWaitShares + 1)
	lease(mostWaitShares + 2)
	if n := testutil.CollectAndCount(w.seconds); n != 3 || w.leftOut != 7 {
		t.Errorf("%d series, %d left out", n, w.leftOut)
	}
	w.adopt(site(2, 4))
	if n := testutil.CollectAndCount(w.seconds); n != 2 || w.leftOut != 0 {
		t.Errorf("%d series, %d left out after share 5 has gone", n, w.leftOut)
	}
	lease(3)
	if n := testutil.CollectAndCount(w.seconds); n != 2 {
		t.Errorf("%d series: share 3 has one already", n)
	}
}
