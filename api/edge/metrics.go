package edge

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics have the labels of the route pattern, never of the path, and the class of the status: their number is
// bounded by the routes of this package.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	limited  *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "divvy_http_requests_total", Help: "HTTP requests by route and class of status.",
		}, []string{"method", "route", "status"}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "divvy_http_request_duration_seconds", Help: "Time to answer by route; a pull's includes its long poll.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route"}),
		inFlight: f.NewGauge(prometheus.GaugeOpts{
			Name: "divvy_http_requests_in_flight", Help: "Requests that are being served, long polls included.",
		}),
		limited: f.NewCounterVec(prometheus.CounterOpts{
			Name: "divvy_requests_limited_total", Help: "Requests refused because of the rate of their token: requests or pulls.",
		}, []string{"of"}),
	}
}

func (m *metrics) observe(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, statusClass(status)).Inc()
	m.seconds.WithLabelValues(method, route).Observe(took.Seconds())
}

// series are those of one route; finding them by their labels costs as much as reading a pull. They are
// made when they are first counted, like all others.
type series struct {
	metrics         *metrics
	method, pattern string
	fine            func() prometheus.Counter
	seconds         func() prometheus.Observer
}

func (m *metrics) series(method, pattern string) *series {
	return &series{
		metrics: m, method: method, pattern: pattern,
		fine:    sync.OnceValue(func() prometheus.Counter { return m.requests.WithLabelValues(method, pattern, statusClass(200)) }),
		seconds: sync.OnceValue(func() prometheus.Observer { return m.seconds.WithLabelValues(method, pattern) }),
	}
}

func (r *series) observe(status int, took time.Duration) {
	if status/100 != 2 {
		r.metrics.observe(r.method, r.pattern, status, took)
		return
	}
	r.fine().Inc()
	r.seconds().Observe(took.Seconds())
}

func statusClass(status int) string {
	switch status / 100 {
	case 2:
		return "2xx"
	case 4:
		return "4xx"
	case 5:
		return "5xx"
	}
	return strconv.Itoa(status/100) + "xx"
}
