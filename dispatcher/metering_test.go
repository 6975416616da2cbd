package dispatcher

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// How long a job waited counts with its first lease, and not when it is tried again. Pilots count at the queues where they pull.
func TestWaitsAreCounted(t *testing.T) {
	p := newPlace(t)
	p.metrics = prometheus.NewRegistry()
	w := p.start(1)
	p.exec("UPDATE tasks SET created_at = now() - interval '2 hours'")
	p.jobs(2, "")
	first := w.must(t, "n")
	if _, err := w.Finish(t.Context(), FinishRequest{Pilot: "p", Results: []Result{{Lease: first.Lease, Outcome: Failed}}}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the other job, and the first one again
		w.must(t, "n")
	}
	waitFor(t, func() bool {
		n, sum := p.metric(t, "divvy_job_wait_seconds")
		return n == 2 && sum >= 2*7200 && sum < 2*7200+600
	})
	waitFor(t, func() bool { _, pilots := p.metric(t, "divvy_queue_pilots"); return pilots == 1 })
}

// metric is the count and the sum of the first histogram of a name, or the value of a gauge.
func (p *place) metric(t *testing.T, name string) (n uint64, value float64) {
	t.Helper()
	families, err := p.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum() + m.GetGauge().GetValue()
		}
	}
	return 0, 0
}
