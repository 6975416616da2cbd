package pilot

import (
	"context"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pilot/payload"
)

// mostLines is the server's bound on the lines of one call.
const mostLines = 1000

// renewals keep the leases alive.
type renewals struct {
	sending bool
	at      time.Time // of the next one
	wait    time.Duration
	again   backoff
}

// follow takes on the server's wish, which may come sooner than what was planned.
func (n *renewals) follow(now time.Time, s float64) {
	if s <= 0 {
		return
	}
	n.wait = seconds(s)
	if at := now.Add(n.wait); at.Before(n.at) {
		n.at = at
	}
}

// renew sends one call for all leases when it is due; results that wait in the outbox keep their leases too.
func (p *pilot) renew(now time.Time) {
	if p.renewals.sending || len(p.runs) == 0 || p.renewals.at.After(now) || p.renewals.again.at.After(now) {
		return
	}
	lines := make([]wire.Renewal, 0, len(p.runs))
	for token, r := range p.runs {
		lines = append(lines, wire.Renewal{Lease: token, State: r.state(), Usage: r.job.Used()})
	}
	p.renewals.sending = true
	p.calls.beside(func() {
		reply, err := p.renewAll(lines)
		p.calls.post(func() { p.renewed(reply, err) })
	})
}

// state is what a renewal says. A result that waits to be sent is draining.
func (r *run) state() wire.LeaseState {
	if r.ended {
		return "draining"
	}
	return r.job.State()
}

// renewAll is one call, or a few where there are very many leases. The reply holds what was answered.
func (p *pilot) renewAll(lines []wire.Renewal) (all wire.RenewReply, err error) {
	for len(lines) > 0 {
		n := min(len(lines), mostLines)
		ctx, cancel := context.WithTimeout(p.calls.ctx, p.cfg.timing.Call)
		reply, err := p.cfg.Client.Renew(ctx, wire.RenewRequest{Pilot: p.cfg.Name, Leases: lines[:n]})
		cancel()
		if err != nil {
			return all, err
		}
		all.Lost = append(all.Lost, reply.Lost...)
		all.Cancel = append(all.Cancel, reply.Cancel...)
		all.RenewAfter = reply.RenewAfter
		lines = lines[n:]
	}
	return all, nil
}

// renewed does what the server answered: lost leases die at once, cancelled ones get their grace.
func (p *pilot) renewed(reply wire.RenewReply, err error) {
	now := time.Now()
	p.renewals.sending = false
	if a := read(err); err != nil {
		p.unanswered(now, "renew", err)
		p.renewals.again.fail(now, a.after, p.cfg.timing)
	} else {
		p.renewals.again = backoff{}
		p.answered(now)
		p.renewals.follow(now, reply.RenewAfter)
		p.renewals.at = now.Add(p.renewals.wait)
	}
	for _, token := range reply.Lost {
		if r := p.runs[token]; r != nil {
			p.lose(r)
		}
	}
	for _, c := range reply.Cancel {
		if r := p.runs[c.Lease]; r != nil && !r.ended {
			r.job.Stop(payload.Stop{Outcome: "cancelled", Why: "cancelled: " + c.Reason, Grace: max(0, seconds(c.GraceS))})
		}
	}
}

// lose ends a run whose job another pilot may have by now. A result on its way gets its own verdict.
func (p *pilot) lose(r *run) {
	switch {
	case r.sending:
	case r.ended:
		p.log.Warn("lease lost before its result was recorded", "job", r.lease.Job, "attempt", r.lease.Attempt)
		p.drop(r)
	case !r.lost:
		p.log.Warn("lease lost, killing its job", "job", r.lease.Job, "attempt", r.lease.Attempt)
		r.lost = true
		r.job.Stop(payload.Stop{Outcome: "failed", Why: fmt.Sprintf("lease of attempt %d lost", r.lease.Attempt)})
	}
}
