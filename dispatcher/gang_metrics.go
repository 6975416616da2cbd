package dispatcher

import "github.com/prometheus/client_golang/prometheus"

// gangMetrics are figures of what is held for gangs, taken when somebody looks at them.
type gangMetrics struct {
	d            *Dispatcher
	slots, cores *prometheus.Desc
}

func newGangMetrics(d *Dispatcher) *gangMetrics {
	return &gangMetrics{d: d,
		slots: prometheus.NewDesc("divvy_gang_held_slots", "Pulls that wait since they are held for jobs that start together.", []string{"queue"}, nil),
		cores: prometheus.NewDesc("divvy_gang_held_cores", "Cores that those pulls offer.", []string{"queue"}, nil)}
}

// Describe is part of prometheus.Collector.
func (m *gangMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- m.slots
	to <- m.cores
}

// Collect is part of prometheus.Collector. Every queue has a value: 0 is one too.
func (m *gangMetrics) Collect(to chan<- prometheus.Metric) {
	slots, cores := map[string]int{}, map[string]int64{}
	for _, q := range m.d.Queues() {
		slots[q.Name] = 0
	}
	for _, h := range m.d.GangHolds() {
		slots[h.Queue] += h.Slots
		cores[h.Queue] += h.Cores
	}
	for queue, n := range slots {
		to <- prometheus.MustNewConstMetric(m.slots, prometheus.GaugeValue, float64(n), queue)
		to <- prometheus.MustNewConstMetric(m.cores, prometheus.GaugeValue, float64(cores[queue]), queue)
	}
}
