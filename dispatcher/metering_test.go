package dispatcher

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// How long a job waited counts with its first lease, and not when it is tried again.
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
		families, err := p.metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "divvy_job_wait_seconds" {
				h := f.GetMetric()[0].GetHistogram()
				return h.GetSampleCount() == 2 && h.GetSampleSum() >= 2*7200 && h.GetSampleSum() < 2*7200+600
			}
		}
		return false
	})
}
