package pilots

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/divvyhq/divvy/api/problem"
)

// Bounds of what a daemon takes on. A pull that is refused comes back, to this daemon or another one; a renewal or an end
// that comes too late costs the work of a job.
const (
	reportsLate = time.Second // renewals and ends under way have been so for this long on average, and
	ReportsMany = 16          // they are this many: no pull is let in. A few that wait for something of their own are no load
	mostPulls   = 150_000     // pulls at a time: they wait in memory
)

// Load is what is under way.
type Load struct {
	born  time.Time
	pulls atomic.Int64
	Most  int64        // pulls
	Now   func() int64 // ns since born
	shed  prometheus.Counter

	mu     sync.Mutex // the two are of one moment: each of them alone is off by the age of the daemon
	n      int64      // renewals and ends
	begins int64      // sum of the moments at which they began, ns since born
}

// NewLoad counts what it refuses in a metric of reg.
func NewLoad(reg prometheus.Registerer) *Load {
	l := &Load{born: time.Now(), Most: mostPulls, shed: promauto.With(reg).NewCounter(prometheus.CounterOpts{
		Name: "divvy_pulls_shed_total", Help: "Pulls refused so that renewals and ends are served in time, or because too many wait.",
	})}
	l.Now = func() int64 { return int64(time.Since(l.born)) }
	return l
}

// Begin notes a renewal or an end; End takes what it returned.
func (l *Load) Begin() (at int64) {
	at = l.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begins += at
	l.n++
	return at
}

// End takes away what began at a time that Begin returned.
func (l *Load) End(at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begins -= at
	l.n--
}

// late says whether renewals and ends pile up.
func (l *Load) late() (n int64, mean time.Duration, late bool) {
	l.mu.Lock()
	n, begins := l.n, l.begins
	l.mu.Unlock()
	if n < ReportsMany {
		return n, 0, false
	}
	mean = time.Duration(l.Now() - begins/n)
	return n, mean, mean > reportsLate
}

// Pull lets a pull in or says why not. When it was let in the caller calls pulled in the end.
func (l *Load) Pull() error {
	if n := l.pulls.Add(1); n > l.Most {
		l.pulls.Add(-1)
		l.shed.Inc()
		return problem.New(problem.Overload, fmt.Sprintf("%d pulls wait at this daemon", l.Most))
	}
	if n, mean, late := l.late(); late {
		l.pulls.Add(-1)
		l.shed.Inc()
		return problem.New(problem.Overload, fmt.Sprintf("%d renewals and ends have waited for %s on average; they go first", n, mean.Round(time.Millisecond)))
	}
	return nil
}

// Pulled ends what Pull let in.
func (l *Load) Pulled() { l.pulls.Add(-1) }
