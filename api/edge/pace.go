package edge

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/internal/access"
)

// Rates bound the requests of one token in a second, at each daemon; 0 = no bound. Renewals and ends have no bound: a
// refusal may cost the work of a job, and each needs a lease from a pull.
type Rates struct {
	Pulls    int
	Requests int // all but pulls, renewals and ends
}

const (
	BurstOf   = 10              // seconds' worth of requests that may come at once, after a pause
	mostPaces = 1000            // callers that are kept before idle ones are dropped
	idlePace  = 2 * time.Minute // longer than a whole burst takes to refill
)

// Why a request is refused: the values of a metric's label.
const (
	overPulls    = "pulls"
	overRequests = "requests"
)

// paced identifies a caller and the kind of its requests. From identifies tokens without an id.
type paced struct {
	token int64
	from  string
	pulls bool
}

// pace limits the rate of one caller.
type pace struct {
	limit *rate.Limiter
	last  time.Time
}

// paces limit the rates of callers. A caller without a bound has no entry.
type paces struct {
	rates Rates
	now   func() time.Time

	mu     sync.Mutex
	all    map[paced]*pace
	looked time.Time // when idle callers were last dropped
}

func newPaces(r Rates) *paces { return &paces{rates: r, now: time.Now, all: map[paced]*pace{}} }

// admit counts a request of a caller to a route. It returns an error if that is one too many.
func (p *paces) admit(c *access.Caller, need *Right) error {
	bound, reason, what := p.rates.Requests, overRequests, "requests"
	switch need.Pattern {
	case PathRenew, PathFinish, PathOutput:
		return nil
	case PathPulls:
		bound, reason, what = p.rates.Pulls, overPulls, "pulls"
	}
	if bound <= 0 || c == access.Anybody {
		return nil
	}
	if !p.take(paced{c.ID, c.From, reason == overPulls}, bound) {
		return &tooFast{reason: reason, detail: fmt.Sprintf("this daemon serves %s %d %s a second, and %d after a pause", c.Name, bound, what, bound*BurstOf)}
	}
	return nil
}

func (p *paces) take(k paced, bound int) bool {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[k]
	if one == nil {
		p.forget(now)
		one = &pace{limit: rate.NewLimiter(rate.Limit(bound), bound*BurstOf)}
		p.all[k] = one
	}
	one.last = now
	return one.limit.AllowN(now, 1)
}

// forget drops callers that were idle for so long that their burst is full again, once there are many.
func (p *paces) forget(now time.Time) {
	if len(p.all) < mostPaces || now.Sub(p.looked) < idlePace {
		return
	}
	p.looked = now
	for k, one := range p.all {
		if now.Sub(one.last) > idlePace {
			delete(p.all, k)
		}
	}
}

// tooFast is a request over its caller's rate.
type tooFast struct{ reason, detail string }

func (e *tooFast) Error() string { return e.detail }

// Admit is paces.admit with a metric.
func (e *Edge) Admit(c *access.Caller, need *Right) error {
	err := e.paces.admit(c, need)
	var fast *tooFast
	if errors.As(err, &fast) {
		e.metrics.limited.WithLabelValues(fast.reason).Inc()
		return problem.New(problem.TooFast, fast.detail)
	}
	return err
}
