package main

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What generators make at the most while jobs are granted, those of all daemons together, for the time to make a job comes off
// the grants: twice what is granted, so that stocks fill up on a large machine too, and at least the floor. That is the 50,000
// a second that a submission may count on, and what is lost until the first batch.
const (
	paceFloor  = 57_000 // jobs a second
	paceGrants = 2      // jobs for each granted one
	paceAhead  = 10_000 // jobs that may be made at once: two batches
	paceLook   = time.Second
)

// pace says how long a generator rests after a batch: for a part of the time that it took, and while jobs are granted until its
// daemon's part of what may be made is had again. Where nothing is granted nobody is in the way.
type pace struct {
	ease    *ease
	granted func() int64 // jobs so far, by all daemons
	daemons func() int

	mu      sync.Mutex
	limiter *rate.Limiter
	looked  time.Time
	seen    int64 // of granted, then
}

func newPace(e *ease, granted func() int64, daemons func() int) *pace {
	return &pace{ease: e, granted: granted, daemons: daemons, looked: time.Now(), seen: granted(), limiter: rate.NewLimiter(rate.Inf, paceAhead)}
}

// rest is for a batch of so many jobs.
func (p *pace) rest(jobs int, took time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.look(now)
	return max(p.ease.rest(took), p.limiter.ReserveN(now, min(jobs, paceAhead)).DelayFrom(now))
}

// look follows the grants: at most once a second, so that they are many where they come all the time.
func (p *pace) look(now time.Time) {
	dt := now.Sub(p.looked)
	if dt < paceLook {
		return
	}
	n := p.granted()
	most := rate.Inf
	if n > p.seen {
		most = rate.Limit(max(paceFloor, paceGrants*float64(n-p.seen)/dt.Seconds()) / float64(max(p.daemons(), 1)))
	}
	p.limiter.SetLimitAt(now, most)
	p.looked, p.seen = now, n
}
