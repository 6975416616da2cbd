package dispatcher

import (
	"maps"
	"sync"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/shares"
)

// lately is what this daemon has in memory of the last while, for people who look: nothing is decided by it. It is empty when a daemon
// begins. Of pulls and decisions only the daemon that leads hears.
type lately struct {
	site  func() *shares.Version
	queue func(id shares.QueueID) (q shares.Queue, ok bool)

	mu     sync.Mutex
	began  time.Time // to hear of pulls
	queues map[shares.QueueID]*visits
	kinds  map[explain.Kind]*parts // granted jobs, whichever daemon decided
	recent replay.Recent           // decisions of this daemon
	wanted time.Time               // when it last wanted to know who came second
	missed int                     // decisions since, of which it did not
}

// Parts of time that are counted apart: so many, each so long.
const (
	latelyParts = 12
	pullPart    = time.Hour / latelyParts
	startPart   = 30 * time.Second
	startParts  = 10 // before the present one, of which the rate is
)

// parts counts something in parts of time; that of number n is at n % latelyParts.
type parts [latelyParts]struct {
	number int64
	n      int64
	sum    time.Duration
	most   time.Duration
}

// add counts n of something that took so long, in the present part.
func (p *parts) add(each time.Duration, n int64, took time.Duration) {
	number := time.Now().UnixNano() / int64(each)
	at := &p[number%latelyParts]
	if at.number != number {
		at.number, at.n, at.sum, at.most = number, 0, 0, 0
	}
	at.n, at.sum, at.most = at.n+n, at.sum+took, max(at.most, took)
}

// total is of so many parts before the present one, and of that where now is.
func (p *parts) total(each time.Duration, before int64, now bool) (n int64, sum, most time.Duration) {
	number := time.Now().UnixNano() / int64(each)
	for i := range p {
		at := &p[i]
		if age := number - at.number; age <= before && (age > 0 || now) {
			n, sum, most = n+at.n, sum+at.sum, max(most, at.most)
		}
	}
	return n, sum, most
}

func newLately(daemon int64, s *site) *lately {
	return &lately{began: time.Now().UTC(), site: s.current, queue: s.queue, queues: map[shares.QueueID]*visits{}, kinds: map[explain.Kind]*parts{}, recent: replay.Recent{Daemon: daemon}}
}

// lead forgets the pulls of the time in which this daemon led before.
func (l *lately) lead() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began = time.Now().UTC()
	clear(l.queues)
}

// mostKinds bounds the shares and shapes of which starts are counted.
const mostKinds = 100_000

// granted counts a job that starts.
func (l *lately) granted(g *entry.Granted) {
	kind := explain.Kind{Share: g.Share, Shape: g.Shape}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.kinds[kind]
	if p == nil {
		if len(l.kinds) >= mostKinds {
			maps.DeleteFunc(l.kinds, func(_ explain.Kind, p *parts) bool { n, _, _ := p.total(startPart, startParts, true); return n == 0 })
		}
		p = &parts{}
		l.kinds[kind] = p
	}
	p.add(startPart, 1, 0)
}

// starts are the jobs a minute of the last minutes.
func (l *lately) starts() map[explain.Kind]float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[explain.Kind]float64{}
	for kind, p := range l.kinds {
		if n, _, _ := p.total(startPart, startParts, false); n > 0 {
			all[kind] = float64(n) / (startParts * startPart).Minutes()
		}
	}
	return all
}

// contestEvery is how long after a decision of which it is known who came second the next one is: to find that out costs as much again.
const contestEvery = 5 * time.Millisecond

// Wants is lease.Watch's.
func (l *lately) Wants() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.wanted) >= contestEvery {
		l.wanted = now
		return true
	}
	l.missed++
	return false
}

// Decided is lease.Watch's.
func (l *lately) Decided(d *machine.Decision) {
	site, n, at := l.site(), 0, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range d.Entries {
		g, ok := e.(entry.Granted)
		if !ok || site == nil {
			continue
		}
		if n == len(d.Contests) {
			return
		}
		one := replay.NewDecided(at, g, d.Contests[n], *site)
		if n++; n == 1 {
			one.Weight, l.missed = 1+l.missed, 0
		}
		l.recent.Keep(one)
	}
}

// Lately lists the decisions that this daemon has in memory, the newest first. It reads nothing else.
func (r *Reads) Lately(f replay.DecidedFilter) replay.Lately {
	r.lately.mu.Lock()
	defer r.lately.mu.Unlock()
	return r.lately.recent.Lately(f)
}
