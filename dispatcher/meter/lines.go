package meter

import (
	"maps"

	"github.com/divvyhq/divvy/dispatcher/tally"
	"github.com/divvyhq/divvy/shares"
)

// Most lines of /metrics of a kind, whatever the site file says. A share or queue of which attempts are counted has five, a histogram some
// fifteen.
const (
	mostShares     = 5_000
	mostQueues     = 5_000
	mostCells      = 20_000
	mostEndShares  = 1000
	mostEndQueues  = 1000
	mostWaitShares = 500
)

// lines says what has lines of its own in a version of the site.
type lines struct {
	version int64
	paths   map[shares.ShareID][]string // where attempts of a leaf count: at it and above, as far as these have lines
	has     map[string]bool             // these shares
	queues  map[shares.QueueID]string
	waits   map[shares.ShareID]string // leaves
	leftOut map[string]int
}

func linesOf(v shares.Version, of ShareMetrics) *lines {
	l := &lines{version: v.Number, paths: map[shares.ShareID][]string{}, has: map[string]bool{}, queues: map[shares.QueueID]string{},
		waits: map[shares.ShareID]string{}, leftOut: map[string]int{"attempts": max(0, len(v.Queues)-mostEndQueues), "job_waits": 0}}
	for _, q := range v.Queues[:min(len(v.Queues), mostEndQueues)] {
		l.queues[q.ID] = q.Name
	}
	for i := range v.Tree.Nodes {
		switch n := &v.Tree.Nodes[i]; {
		case i == 0 || !of.has(n.Depth):
		case len(l.has) < mostEndShares:
			l.has[n.Path] = true
		default:
			l.leftOut["attempts"]++
		}
	}
	for _, i := range v.Tree.Leaves() {
		leaf := v.Tree.Nodes[i]
		v.Tree.Up(i, func(node int) {
			if path := v.Tree.Nodes[node].Path; l.has[path] {
				l.paths[leaf.ID] = append(l.paths[leaf.ID], path)
			}
		})
		switch {
		case of != AllShares && of != QueueShares || i == 0:
		case len(l.waits) < mostWaitShares:
			l.waits[leaf.ID] = leaf.Path
		default:
			l.leftOut["job_waits"]++
		}
	}
	return l
}

// ends are attempts that ended, by the name of a share or queue, and outcome.
type ends map[[2]string]int64

// sums are what was counted since the daemon began.
type sums struct {
	tally.Tally // without Ends and Waits
	all         map[string]int64
	queues      ends
	shares      ends
	waits       map[[2]string]tally.Histogram // by pool and share
}

func newSums() sums {
	s := sums{all: map[string]int64{}, queues: ends{}, shares: ends{}, waits: map[[2]string]tally.Histogram{}}
	for _, outcome := range tally.Outcomes() {
		s.all[outcome] = 0
	}
	s.Refused = map[string]int64{tally.NoJob: 0}
	return s
}

// add adds a tally, by the lines that there are.
func (s *sums) add(t tally.Tally, l *lines) {
	for e, n := range t.Ends {
		s.all[e.Outcome] += n
		if name, ok := l.queues[e.Queue]; ok {
			s.queues[[2]string{name, e.Outcome}] += n
		}
		for _, path := range l.paths[e.Share] {
			s.shares[[2]string{path, e.Outcome}] += n
		}
	}
	var waits tally.Tally
	for w, h := range t.Waits {
		key := [2]string{w.Pool, l.waits[w.Share]}
		waits.Waits = map[tally.Wait]tally.Histogram{{}: s.waits[key]}
		waits.Add(tally.Tally{Waits: map[tally.Wait]tally.Histogram{{}: h}})
		s.waits[key] = waits.Waits[tally.Wait{}]
	}
	t.Ends, t.Waits = nil, nil
	s.Add(t)
}

// forget drops the lines of what is in the site no more.
func (s *sums) forget(l *lines) {
	queues, waits := map[string]bool{}, map[string]bool{"": true}
	for _, name := range l.queues {
		queues[name] = true
	}
	for _, path := range l.waits {
		waits[path] = true
	}
	maps.DeleteFunc(s.queues, func(key [2]string, _ int64) bool { return !queues[key[0]] })
	maps.DeleteFunc(s.shares, func(key [2]string, _ int64) bool { return !l.has[key[0]] })
	maps.DeleteFunc(s.waits, func(key [2]string, _ tally.Histogram) bool { return !waits[key[1]] })
}
