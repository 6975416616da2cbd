package dispatcher

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// reclaimMetrics are counted by the daemon that gives the orders.
type reclaimMetrics struct {
	orders prometheus.Counter
	closed *prometheus.CounterVec
	lost   prometheus.Counter
}

func newReclaimMetrics(reg prometheus.Registerer) *reclaimMetrics {
	f := promauto.With(reg)
	return &reclaimMetrics{
		orders: f.NewCounter(prometheus.CounterOpts{Name: "divvy_reclaim_orders_total",
			Help: "Running jobs that were ordered to end, to give their units back."}),
		closed: f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_reclaims_closed_total",
			Help: "Such orders that are over, by how: confirmed by the pilot, revoked without its word, or by the outcome that the attempt had before."},
			[]string{"how"}),
		lost: f.NewCounter(prometheus.CounterOpts{Name: "divvy_reclaim_lost_unit_seconds_total",
			Help: "Units times seconds that revoked attempts had held: the cost of reclaims."}),
	}
}

func (m *reclaimMetrics) count(r *reclaiming) {
	m.orders.Add(float64(r.ordered))
	for _, c := range r.closed {
		how := c.Outcome
		if c.Outcome == string(Revoked) && c.Said != string(reclaimed) {
			how = "confirmed"
		}
		m.closed.WithLabelValues(how).Inc()
		m.lost.Add(c.Lost)
	}
}
