package meter

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/tally"
)

// Meter is a prometheus.Collector of all that a dispatcher exports.
type Meter struct {
	of    ShareMetrics
	descs map[string]*prometheus.Desc
	all   map[string]metric

	mu       sync.Mutex
	snapshot *Snapshot // the last one; nil: there is none yet
	fairness map[string]fairness
	starved  starved
	lines    *lines
	sums     sums
	early    tally.Tally // ends and waits that were counted before the first snapshot of a site, which says what has lines

	counting sync.Mutex
	counted  tally.Tally // by Count, not yet added
}

// New returns a Meter that has seen nothing yet.
func New(of ShareMetrics) *Meter {
	m := &Meter{of: of, descs: map[string]*prometheus.Desc{}, all: map[string]metric{}, starved: starved{}, sums: newSums(), lines: &lines{}}
	for _, list := range [][]metric{standings, counts} {
		for _, one := range list {
			m.descs[one.name] = prometheus.NewDesc("divvy_"+one.name, one.help, one.labels, nil)
			m.all[one.name] = one
		}
	}
	return m
}

// Show shows a snapshot from now on. Of two the later one is given last.
func (m *Meter) Show(s Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gather()
	next := starved{}
	m.fairness = map[string]fairness{}
	for i := range s.Pools {
		m.fairness[s.Pools[i].Pool] = fairnessOf(&s.Pools[i], s.At, m.starved, next)
	}
	m.snapshot, m.starved = &s, next
	if s.Site.Number != m.lines.version || m.lines.has == nil {
		m.lines = linesOf(s.Site, m.of)
		m.sums.forget(m.lines)
	}
	if m.lines.version > 0 {
		m.sums.add(m.early, m.lines)
		m.early = tally.Tally{}
	}
}

// Add adds what was counted.
func (m *Meter) Add(t tally.Tally) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(t)
}

// add is Add. m.mu is held.
func (m *Meter) add(t tally.Tally) {
	if m.lines.version == 0 {
		m.early.Add(tally.Tally{Ends: t.Ends, Waits: t.Waits})
		t.Ends, t.Waits = nil, nil
	}
	m.sums.add(t, m.lines)
}

// Count counts something, for those who have no Tally of their own.
func (m *Meter) Count(something func(*tally.Tally)) {
	m.counting.Lock()
	defer m.counting.Unlock()
	something(&m.counted)
}

// gather adds what Count counted. m.mu is held.
func (m *Meter) gather() {
	m.counting.Lock()
	t := m.counted
	m.counted = tally.Tally{}
	m.counting.Unlock()
	m.add(t)
}

// Describe is part of prometheus.Collector.
func (m *Meter) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range m.descs {
		to <- desc
	}
}

// Collect is part of prometheus.Collector.
func (m *Meter) Collect(to chan<- prometheus.Metric) {
	s := saying{m: m, to: to}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gather()
	s.counts(&m.sums)
	if m.snapshot != nil {
		s.snapshot(m.snapshot)
	}
}
