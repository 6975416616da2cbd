package dispatcher

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/shares"
)

// mostResourceMetrics bounds the values of the label: resources in file order, all keys and queues of one together. Sharing
// IDs are no label; the API has them.
const mostResourceMetrics = 1000

// resourceMetrics are figures of resources, taken when somebody looks at them.
type resourceMetrics struct {
	d                            *Dispatcher
	capacity, held, wanted, kept *prometheus.Desc
}

func newResourceMetrics(d *Dispatcher) *resourceMetrics {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("divvy_resource_"+name, help+" All keys and queues of a resource together.", []string{"resource"}, nil)
	}
	return &resourceMetrics{d: d,
		capacity: desc("capacity_units", "Units of a resource that may be held at once."),
		held:     desc("held_units", "Units of a resource that jobs hold."),
		wanted:   desc("wanted_units", "Units of a resource that ready jobs ask for, which a queue with pilots could run."),
		kept:     desc("kept_units", "Free units of a resource that are kept for somebody for a bounded time.")}
}

// Describe is part of prometheus.Collector.
func (m *resourceMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.capacity, m.held, m.wanted, m.kept} {
		to <- desc
	}
}

// Collect is part of prometheus.Collector.
func (m *resourceMetrics) Collect(to chan<- prometheus.Metric) {
	for name, f := range m.d.resourceFigures() {
		for desc, n := range map[*prometheus.Desc]int64{m.capacity: f.capacity, m.held: f.held, m.wanted: f.wanted, m.kept: f.kept} {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), name)
		}
	}
}

type resourceFigures struct{ capacity, held, wanted, kept int64 }

func (d *Dispatcher) resourceFigures() map[string]*resourceFigures {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	if s == nil {
		return nil
	}
	all := map[string]*resourceFigures{}
	for i := range s.version.Resources[:min(len(s.version.Resources), mostResourceMetrics)] {
		if r := &s.version.Resources[i]; !r.BuiltIn() || len(r.Of) > 0 {
			all[r.Name] = &resourceFigures{}
		}
	}
	if len(all) == 0 {
		return nil
	}
	for _, sup := range s.allSupplies() {
		if f := all[sup.of.Name]; f != nil {
			f.capacity += sup.book.Capacity()
			f.held += sup.book.Held()
			f.kept += sup.book.Kept()
		}
	}
	for _, w := range s.windows {
		if w.asked == 0 || s.pilotsFor(w, 1) == 0 {
			continue
		}
		for i := range w.shape.asks {
			name, _ := shares.CutResource(w.shape.asks[i].ref)
			if f := all[name]; f != nil {
				f.wanted += w.asked * w.shape.asks[i].units
			}
		}
	}
	return all
}
