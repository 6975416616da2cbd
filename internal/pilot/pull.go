package pilot

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// pulls are the polls of a pilot.
type pulls struct {
	polls    []*poll
	until    time.Time // when the polls in flight end
	pause    backoff
	prefix   string // of request ids, random: a restarted pilot never repeats one
	requests int
	known    bool // the server has once accepted a pull of this pilot
}

// poll is one pull, from its first request until it is answered. Its room belongs to it alone.
type poll struct {
	room   room
	req    wire.PullRequest
	sent   time.Time
	cancel context.CancelFunc // nil: not on its way
	again  backoff

	// A drained pilot only wants to know whether the pull was granted. It asks with wait_s 0; that this is
	// refused as another body means that there are leases, and the body as it was brings them.
	probing bool
	asIs    bool
}

// mostProbes bounds how often a drained pilot asks a server that is away. First leases are short: what it does
// not learn of is ready again soon.
const mostProbes = 5

func (q *poll) probe() {
	q.probing, q.again = true, backoff{}
}

// pull sends again what was not answered, and offers what is free.
func (p *pilot) pull(now time.Time) {
	for _, q := range p.pulls.polls {
		if q.cancel == nil && !q.again.at.After(now) {
			p.send(now, q)
		}
	}
	if p.life.draining || p.pulls.pause.at.After(now) || p.free.slots < 1 || p.free.cores < 1 {
		return
	}
	// What other polls have just asked for in vain waits for the rest of them, to be offered as one again.
	if !p.fresh && len(p.pulls.polls) > 0 && now.Before(p.pulls.until.Add(p.cfg.timing.Gather)) {
		return
	}
	if q := p.newPoll(now); q != nil {
		p.pulls.polls = append(p.pulls.polls, q)
		p.free, p.fresh = p.free.minus(q.room), false
		p.send(now, q)
	}
}

// newPoll offers all that is free; nil when MaxJobs leaves nothing to ask for.
func (p *pilot) newPoll(now time.Time) *poll {
	most := p.free.slots
	if p.cfg.MaxJobs > 0 {
		most = min(most, p.cfg.MaxJobs-p.life.nJobs)
		for _, q := range p.pulls.polls {
			most -= q.req.Max
		}
		if most < 1 {
			return nil
		}
	}
	if len(p.pulls.polls) == 0 || !now.Before(p.pulls.until) {
		wait := p.cfg.timing.Poll
		wait += rand.N(wait/4 + 1)
		if p.cfg.MaxIdle > 0 {
			wait = min(wait, p.cfg.MaxIdle)
		}
		p.pulls.until = now.Add(wait)
	}
	p.pulls.requests++
	return &poll{room: p.free, req: wire.PullRequest{
		Queue: p.cfg.Queue, Pilot: p.cfg.Name, Node: p.cfg.Node, Devices: p.cfg.Devices, Slot: p.cfg.offer(p.free, p.life.left(now)),
		Max: most, WaitS: p.pulls.until.Sub(now).Seconds(), RequestID: fmt.Sprintf("%s-%d", p.pulls.prefix, p.pulls.requests),
	}}
}

// send asks the server for q, for the first time or again.
func (p *pilot) send(now time.Time, q *poll) {
	req, bound := q.req, p.cfg.timing.Call
	if q.probing && !q.asIs {
		req.WaitS = 0
	}
	if !q.probing {
		bound += seconds(req.WaitS)
	}
	ctx, cancel := context.WithTimeout(p.calls.ctx, bound)
	q.sent, q.cancel = now, cancel
	p.calls.beside(func() {
		reply, err := p.cfg.Client.Pull(ctx, req)
		cancel()
		p.calls.post(func() { p.pulled(q, req, reply, err) })
	})
}

// pulled takes the answer to one try of q.
func (p *pilot) pulled(q *poll, req wire.PullRequest, reply wire.PullReply, err error) {
	now := time.Now()
	q.cancel = nil
	a := read(err)
	if a.verdict != later {
		p.answered(now)
	}
	switch a.verdict {
	case good, nothing:
		p.pulls.known = true
		p.settle(q)
		p.granted(now, q, req, reply, a)
	case later:
		p.repeat(now, q, a, err)
	case reused:
		if q.probing && !q.asIs {
			q.asIs = true
			return
		}
		fallthrough
	case over:
		p.log.Warn("pull given up", "request", req.RequestID, "error", err)
		p.settle(q)
		p.fresh = true
	case refused:
		p.settle(q)
		p.refusedPull(now, a, err)
	}
}

// granted runs the leases of a poll, if there are any.
func (p *pilot) granted(now time.Time, q *poll, req wire.PullRequest, reply wire.PullReply, a answer) {
	if len(reply.Leases) > 0 {
		p.pulls.pause = backoff{}
		p.fresh = true // the rest of the room has not been asked for by itself
		p.renewals.follow(now, reply.RenewAfter)
		for _, l := range reply.Leases {
			p.accept(now, l)
		}
		return
	}
	if early := now.Sub(q.sent) < min(time.Second, seconds(req.WaitS)*9/10); early {
		// The server would not wait: the queue is closed, or it does not do long polls. Don't hammer it.
		p.pulls.pause.fail(now, a.after, p.cfg.timing)
		return
	}
	p.pulls.pause = backoff{}
}

// repeat keeps q for another try, if it still matters.
func (p *pilot) repeat(now time.Time, q *poll, a answer, err error) {
	if p.life.draining && !q.probing {
		q.probe() // cut short by drain
		return
	}
	p.unanswered(now, "pull", err)
	q.again.fail(now, a.after, p.cfg.timing)
	if q.probing && q.again.tries >= mostProbes {
		p.log.Warn("left without knowing whether a pull was granted", "request", q.req.RequestID, "error", err)
		p.settle(q)
	}
}

// refusedPull ends the pilot when the server never accepted it: its queue or token is wrong, and somebody is
// likely to watch. Later the cause may pass, so it asks on.
func (p *pilot) refusedPull(now time.Time, a answer, err error) {
	if !p.pulls.known {
		p.life.err = err
		p.drain("refused")
		return
	}
	if p.pulls.pause.tries == 0 {
		p.log.Error("pull refused", "error", err)
	}
	p.pulls.pause.fail(now, a.after, p.cfg.timing)
}

// settle takes q off the list and its room back.
func (p *pilot) settle(q *poll) {
	p.pulls.polls = slices.DeleteFunc(p.pulls.polls, func(o *poll) bool { return o == q })
	p.free = p.free.plus(q.room)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
