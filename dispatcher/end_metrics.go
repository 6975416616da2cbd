package dispatcher

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/shares"
)

// Most shares and queues that attempts are counted for, of five lines each.
const (
	mostEndShares = 1000
	mostEndQueues = 1000
)

// unknownOutcome is that of attempts whose batch was in doubt: the ledger says what became of their jobs, and no more.
const unknownOutcome = "unknown"

// endMetrics count attempts by how they ended, whatever a rule then made of their jobs; by queue, and by share as far as ShareMetrics
// goes. Where only upper shares have lines an attempt counts at those that are above its own.
type endMetrics struct {
	all, queues, shares *prometheus.CounterVec
	of                  ShareMetrics

	mu      sync.Mutex
	version int64
	paths   map[shares.ShareID][]string // lines that attempts of a share count in
	names   map[shares.QueueID]string   // queues with a line
	has     map[string]bool             // shares with one
	leftOut int
	lines   map[endLine][]prometheus.Counter
}

type endLine struct {
	share   shares.ShareID
	queue   shares.QueueID
	outcome string
}

func newEndMetrics(f promauto.Factory, of ShareMetrics) *endMetrics {
	m := &endMetrics{of: of, lines: map[endLine][]prometheus.Counter{},
		all: f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_attempts_ended_total",
			Help: "Attempts that ended, by their outcome: finished, failed, lost, cancelled or revoked, whatever became of the job; unknown where the commit was in doubt."}, []string{"outcome"}),
		queues: f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_queue_attempts_ended_total",
			Help: "Attempts that ended at a queue, by their outcome; of up to 1,000 queues."}, []string{"queue", "outcome"}),
		shares: f.NewCounterVec(prometheus.CounterOpts{Name: "divvy_share_attempts_ended_total",
			Help: "Attempts that ended at and below a share, by their outcome; of shares that share_metrics says, up to 1,000."}, []string{"share", "outcome"})}
	for _, o := range []Outcome{Finished, Failed, Lost, Cancelled, Revoked} {
		m.all.WithLabelValues(string(o))
	}
	return m
}

// adopt finds out which shares and queues have lines, and forgets those that are there no more.
func (m *endMetrics) adopt(v shares.Version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.Number == m.version && m.paths != nil {
		return
	}
	m.version, m.paths, m.leftOut = v.Number, map[shares.ShareID][]string{}, max(0, len(v.Queues)-mostEndQueues)
	names, has := map[shares.QueueID]string{}, map[string]bool{}
	for i := range v.Queues[:min(len(v.Queues), mostEndQueues)] {
		names[v.Queues[i].ID] = v.Queues[i].Name
	}
	for i := range v.Tree.Nodes {
		switch n := &v.Tree.Nodes[i]; {
		case i == 0 || !m.of.has(&ShareStanding{Place: explain.Place{Depth: n.Depth}}):
		case len(has) < mostEndShares:
			has[n.Path] = true
		default:
			m.leftOut++
		}
	}
	for i := range v.Tree.Nodes {
		if !v.Tree.Leaf(i) {
			continue
		}
		v.Tree.Up(i, func(node int) {
			if path := v.Tree.Nodes[node].Path; has[path] {
				m.paths[v.Tree.Nodes[i].ID] = append(m.paths[v.Tree.Nodes[i].ID], path)
			}
		})
	}
	for id, name := range m.names {
		if names[id] != name {
			m.queues.DeletePartialMatch(prometheus.Labels{"queue": name})
		}
	}
	for path := range m.has {
		if !has[path] {
			m.shares.DeletePartialMatch(prometheus.Labels{"share": path})
		}
	}
	m.names, m.has = names, has
	clear(m.lines)
}

// count counts attempts that ended.
func (m *endMetrics) count(rows []endRow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range rows {
		m.add(endLine{rows[i].ShareID, rows[i].QueueID, rows[i].Recorded}, 1)
	}
}

// doubted counts what the ledger knows of a batch in doubt: the final states of jobs have the names of outcomes.
func (m *endMetrics) doubted(moves []move) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range moves {
		if mv := &moves[i]; mv.Before == isLeased { // what claims hold, and jobs that change their shape, are no attempts
			outcome := unknownOutcome
			switch mv.After {
			case isFinished, isFailed, isCancelled:
				outcome = stateNames[mv.After]
			}
			m.add(endLine{mv.Share, mv.Queue, outcome}, int64(mv.N))
		}
	}
}

// add counts n attempts in the lines that they have, each of which is looked for once. m.mu is held.
func (m *endMetrics) add(of endLine, n int64) {
	lines, ok := m.lines[of]
	if !ok {
		lines = append(lines, m.all.WithLabelValues(of.outcome))
		if name, has := m.names[of.queue]; has {
			lines = append(lines, m.queues.WithLabelValues(name, of.outcome))
		}
		for _, path := range m.paths[of.share] {
			lines = append(lines, m.shares.WithLabelValues(path, of.outcome))
		}
		m.lines[of] = lines
	}
	for _, c := range lines {
		c.Add(float64(n))
	}
}

// endsLeftOut is how many shares and queues have no lines of their own although they should.
func (m *endMetrics) endsLeftOut() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leftOut
}
