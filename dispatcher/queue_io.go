package dispatcher

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/shares"
)

// heldIO is how many kB/s the jobs of a queue have that bounds them; 0 where it does not.
func (s *state) heldIO(q *queue) int64 {
	if sup := s.supplies.by[supplyKey{shares.IO, q.ID}]; sup != nil {
		return sup.book.Held()
	}
	return 0
}

// wantedIO is how many kB/s the ready jobs ask for that a queue could run.
func (s *state) wantedIO(q *queue) (n int64) {
	for _, w := range s.windows {
		if w.leaf < 0 || w.asked == 0 || !s.mayRun(q.pos, w.leaf, w.shape.outline) {
			continue
		}
		for i := range w.shape.asks {
			if a := &w.shape.asks[i]; a.ref == shares.IO {
				n += w.asked * a.units
			}
		}
	}
	return n
}

// ioMetrics are what jobs read and write at the queues that bound it, taken when somebody looks.
type ioMetrics struct {
	d          *Dispatcher
	most, held *prometheus.Desc
}

func newIOMetrics(d *Dispatcher) *ioMetrics {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("divvy_queue_"+name, help, []string{"queue"}, nil)
	}
	return &ioMetrics{d: d,
		most: desc("io_max_bytes_per_second", "What the jobs of a queue may read and write together (max_io); queues without a bound have no line."),
		held: desc("io_held_bytes_per_second", "What the jobs that run there read and write, by the io_intensity of their tasks.")}
}

// Describe is part of prometheus.Collector.
func (m *ioMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- m.most
	to <- m.held
}

// Collect is part of prometheus.Collector.
func (m *ioMetrics) Collect(to chan<- prometheus.Metric) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if m.d.state == nil {
		return
	}
	for _, q := range m.d.state.queues {
		if q.MaxIO > 0 {
			to <- prometheus.MustNewConstMetric(m.most, prometheus.GaugeValue, float64(q.MaxIO)*1000, q.Name)
			to <- prometheus.MustNewConstMetric(m.held, prometheus.GaugeValue, float64(m.d.state.heldIO(q))*1000, q.Name)
		}
	}
}
