package api

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divvyhq/divvy/api/problem"
)

// Bounds of what a daemon takes on. A pull that is refused comes back, to this daemon or another one; a renewal or an end
// that comes too late costs the work of a job.
const (
	reportsLate = time.Second // renewals and ends under way have been so for this long on average, and
	reportsMany = 16          // they are this many: no pull is let in. A few that wait for something of their own are no load
	mostPulls   = 150_000     // pulls at a time: they wait in memory
)

// load is what is under way.
type load struct {
	born  time.Time
	pulls atomic.Int64
	most  int64        // pulls
	now   func() int64 // ns since born

	mu     sync.Mutex // the two are of one moment: each of them alone is off by the age of the daemon
	n      int64      // renewals and ends
	begins int64      // sum of the moments at which they began, ns since born
}

func newLoad() *load {
	l := &load{born: time.Now(), most: mostPulls}
	l.now = func() int64 { return int64(time.Since(l.born)) }
	return l
}

// begin notes a renewal or an end; end takes what it returned.
func (l *load) begin() (at int64) {
	at = l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begins += at
	l.n++
	return at
}

func (l *load) end(at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begins -= at
	l.n--
}

// late says whether renewals and ends pile up.
func (l *load) late() (n int64, mean time.Duration, late bool) {
	l.mu.Lock()
	n, begins := l.n, l.begins
	l.mu.Unlock()
	if n < reportsMany {
		return n, 0, false
	}
	mean = time.Duration(l.now() - begins/n)
	return n, mean, mean > reportsLate
}

// pull lets a pull in or says why not. When it was let in the caller calls pulled in the end.
func (l *load) pull() error {
	if n := l.pulls.Add(1); n > l.most {
		l.pulls.Add(-1)
		return problem.New(problem.Overload, fmt.Sprintf("%d pulls wait at this daemon", l.most))
	}
	if n, mean, late := l.late(); late {
		l.pulls.Add(-1)
		return problem.New(problem.Overload, fmt.Sprintf("%d renewals and ends have waited for %s on average; they go first", n, mean.Round(time.Millisecond)))
	}
	return nil
}

func (l *load) pulled() { l.pulls.Add(-1) }

// letIn is load.pull, and counts what it refuses.
func (s *server) letIn() error {
	err := s.load.pull()
	if err != nil {
		s.metrics.shed.Inc()
	}
	return err
}

// shed refuses a pull that the daemon had better not take on; true: it is answered.
func (s *server) shed(w http.ResponseWriter) bool {
	err := s.letIn()
	if err != nil {
		s.fail(w, err)
	}
	return err != nil
}
