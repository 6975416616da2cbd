package pilot

import (
	"time"

	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// life is how far the pilot is between its first pull and its end.
type life struct {
	idleSince time.Time
	nJobs     int
	draining  bool
	told      bool      // to leave, by whoever may end its jobs as well
	drainAt   time.Time // jobs end before; zero: whenever they do
	endAt     time.Time // what runs then is given back; zero: never
	grace     time.Duration
	killed    bool
	err       error
}

// mostMargin is how long before its end by the batch system a pilot drains; it is a tenth of a short life.
const mostMargin = time.Minute

func newLife(c Config, now time.Time) life {
	l := life{idleSince: now, grace: c.timing.Grace}
	if !c.Until.IsZero() {
		margin := min(mostMargin, c.Until.Sub(now)/10)
		l.drainAt, l.endAt, l.grace = c.Until.Add(-margin), c.Until.Add(-margin/4), min(l.grace, margin/8)
	}
	return l
}

// due says that a pilot with so many runs has reached one of its own bounds.
func (l *life) due(now time.Time, c *Config, nRuns int) bool {
	idle := nRuns == 0 && c.MaxIdle > 0 && now.Sub(l.idleSince) >= c.MaxIdle
	return !l.draining && (idle || c.MaxJobs > 0 && l.nJobs >= c.MaxJobs || l.late(now))
}

// left is how long jobs may take, if the pilot's life is bounded.
func (l *life) left(now time.Time) time.Duration { return l.drainAt.Sub(now) }

// late says that no job fits into what is left of the pilot's life.
func (l *life) late(now time.Time) bool { return !l.drainAt.IsZero() && l.left(now) < time.Second }

// over says that what runs is to be given back now.
func (l *life) over(now time.Time) bool {
	return !l.killed && !l.endAt.IsZero() && !now.Before(l.endAt)
}

// told has the pilot leave. Results that wait for it are those of jobs that were ended with it.
func (p *pilot) told(now time.Time) {
	p.drain("told to")
	l := &p.life
	l.told = true
	if within := p.cfg.DrainWithin; within > 0 && (l.endAt.IsZero() || now.Add(within).Before(l.endAt)) {
		l.endAt = now.Add(within)
	}
	p.outbox.takeBack()
}

// drain ends pulling. Polls on their way are cut short, and asked again whether they were given leases.
func (p *pilot) drain(why string) {
	if p.life.draining {
		return
	}
	p.life.draining = true
	p.log.Info("pilot drains", "why", why, "running", len(p.runs))
	for _, q := range p.pulls.polls {
		if q.cancel != nil {
			q.cancel()
		} else {
			q.probe()
		}
	}
}

// kill ends all jobs. They go back without costing an attempt.
func (p *pilot) kill(grace time.Duration) {
	p.drain("at once")
	p.life.killed = true
	for _, r := range p.runs {
		r.kill(grace)
	}
}

func (r *run) kill(grace time.Duration) {
	if !r.ended {
		r.job.Stop(payload.Stop{Outcome: outcomeBack, Why: "the pilot had to end", Grace: grace})
	}
}
