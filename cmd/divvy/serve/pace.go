package serve

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/divvyhq/divvy/internal/loops"
)

// What generators make at the most while jobs are granted, those of all daemons together, for the time to make a job comes off
// the grants: twice what is granted, so that stocks fill up on a large machine too, and at least the floor. That is the 50,000
// a second that a submission may count on, and what is lost until the first batch.
const (
	paceFloor  = 57_000          // jobs a second
	paceGrants = 2               // jobs for each granted one
	paceAhead  = 10_000          // jobs that may be made at once: two batches
	paceLook   = 2 * time.Second // others' jobs are known up to a second later
)

// pace says how long a generator rests after a batch: for a part of the time that it took, and while jobs are granted until its
// daemon's part of what may be made is had again. Where nothing is granted nobody is in the way. The part is what it made of
// all that was: a site may have one daemon that generates among ten. At least one in as many as there are daemons is free to
// whoever begins.
type pace struct {
	ease    *loops.Ease
	totals  func() (made, granted int64) // jobs so far, by all daemons
	daemons func() int

	mu            sync.Mutex
	limiter       *rate.Limiter
	looked        time.Time
	made, granted int64 // the totals, then
	mine          int64 // jobs made here since then
}

func newPace(e *loops.Ease, totals func() (made, granted int64), daemons func() int) *pace {
	p := &pace{ease: e, totals: totals, daemons: daemons, looked: time.Now(), limiter: rate.NewLimiter(rate.Inf, paceAhead)}
	p.made, p.granted = totals()
	return p
}

// rest is for a batch of so many jobs.
func (p *pace) rest(jobs int, took time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.mine += int64(jobs)
	if since := now.Sub(p.looked); since >= paceLook {
		p.limiter.SetLimitAt(now, p.most(since))
		p.looked = now
	}
	return max(p.ease.Rest(took), p.limiter.ReserveN(now, min(jobs, paceAhead)).DelayFrom(now))
}

// most is how many jobs this daemon may make in a second, by what went on since the last look.
func (p *pace) most(since time.Duration) rate.Limit {
	made, granted := p.totals()
	lately, all, mine := float64(granted-p.granted)/since.Seconds(), float64(made-p.made), float64(p.mine)
	p.made, p.granted, p.mine = made, granted, 0
	switch {
	case lately == 0:
		return rate.Inf
	case all <= mine: // others are known of a moment later
		return rate.Limit(max(paceFloor, paceGrants*lately))
	}
	return rate.Limit(max(paceFloor, paceGrants*lately) * max(mine/all, 1/float64(max(p.daemons(), 1))))
}
