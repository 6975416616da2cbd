package dispatcher

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/resource"
)

// claimMetrics are figures of claims, taken when somebody looks at them.
type claimMetrics struct {
	d      *Dispatcher
	claims *prometheus.Desc
}

func newClaimMetrics(d *Dispatcher) *claimMetrics {
	return &claimMetrics{d: d, claims: prometheus.NewDesc("divvy_resource_claims", "Live resource claims, as this daemon knows them.", []string{"state"}, nil)}
}

// Describe is part of prometheus.Collector.
func (m *claimMetrics) Describe(to chan<- *prometheus.Desc) { to <- m.claims }

// Collect is part of prometheus.Collector.
func (m *claimMetrics) Collect(to chan<- prometheus.Metric) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if m.d.state == nil {
		return
	}
	for _, state := range []resource.ClaimState{resource.ClaimPending, resource.ClaimBound, resource.ClaimDraining} {
		to <- prometheus.MustNewConstMetric(m.claims, prometheus.GaugeValue, float64(m.d.state.claims.counts[state]), string(state))
	}
}
