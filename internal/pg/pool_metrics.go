package pg

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// poolMetrics are figures of a pool, read on each scrape.
type poolMetrics struct{ pool *pgxpool.Pool }

var (
	poolConnections = prometheus.NewDesc("divvy_pool_connections", "Connections to the database by state.", []string{"state"}, nil)
	poolMost        = prometheus.NewDesc("divvy_pool_max_connections", "Upper limit of connections.", nil, nil)
	poolAcquired    = prometheus.NewDesc("divvy_pool_acquires_total", "Connections taken out of the pool.", nil, nil)
	poolWaits       = prometheus.NewDesc("divvy_pool_waits_total", "Connections that a caller had to wait for because all were in use.", nil, nil)
	poolWaited      = prometheus.NewDesc("divvy_pool_wait_seconds_total", "Time spent waiting for connections.", nil, nil)
	poolGivenUp     = prometheus.NewDesc("divvy_pool_waits_given_up_total", "Waits for a connection that ended without one.", nil, nil)
)

// Describe is part of prometheus.Collector.
func (m *poolMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolConnections, poolMost, poolAcquired, poolWaits, poolWaited, poolGivenUp} {
		to <- d
	}
}

// Collect is part of prometheus.Collector.
func (m *poolMetrics) Collect(to chan<- prometheus.Metric) {
	s := m.pool.Stat()
	for state, n := range map[string]int32{"in_use": s.AcquiredConns(), "idle": s.IdleConns(), "opening": s.ConstructingConns()} {
		to <- prometheus.MustNewConstMetric(poolConnections, prometheus.GaugeValue, float64(n), state)
	}
	to <- prometheus.MustNewConstMetric(poolMost, prometheus.GaugeValue, float64(s.MaxConns()))
	to <- prometheus.MustNewConstMetric(poolAcquired, prometheus.CounterValue, float64(s.AcquireCount()))
	to <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(s.EmptyAcquireCount()))
	to <- prometheus.MustNewConstMetric(poolWaited, prometheus.CounterValue, s.EmptyAcquireWaitTime().Seconds())
	to <- prometheus.MustNewConstMetric(poolGivenUp, prometheus.CounterValue, float64(s.CanceledAcquireCount()))
}
