package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/rules"
	"github.com/divvyhq/divvy/shares"
)

// pilot pulls, renews, ends and pulls again.
type pilot struct {
	*world
	Habit
	no      int
	random  *rand.Rand
	pulls   int
	home    int
	current *machine.Pull // that is not answered yet
	running []*run
	healthy bool          // it does what pilots should from now on
	asked   time.Duration // when it first asked what was not answered yet; 0: nothing
}

// run is an attempt that the pilot runs.
type run struct {
	lease   machine.Lease
	ends    bool // the payload is over
	outcome entry.Outcome
	over    bool // the dispatcher knows, or says that it was lost
}

func (r *run) key() lease.Key {
	return lease.Key{Job: r.lease.Job, Attempt: r.lease.Attempt, Nonce: r.lease.Nonce}
}

// mostStarved is after how long an ask is answered at the latest though daemons do not reach each other: a turn of each of three, and one more.
const mostStarved = 15 * time.Second

// patience is how long a pilot waits for an answer.
const patience = 2500 * time.Millisecond

// host is the daemon that the pilot asks: mostly the one that answered last.
func (p *pilot) host() *host { return p.hosts[p.home] }

// elsewhere has it ask another one.
func (p *pilot) elsewhere() {
	to := p.random.IntN(len(p.hosts))
	if !p.parted(p.home, to) {
		p.home = to
	}
}

func (p *pilot) pause() time.Duration {
	return 100*time.Millisecond + upTo(p.random, 700*time.Millisecond)
}

// dead says whether the pilot does nothing any more.
func (p *pilot) dead() bool { return p.Dies > 0 && p.now > p.Dies && p.no < 1000 }

// silent says whether it does nothing for now.
func (p *pilot) silent() bool {
	return p.Silent > 0 && p.now > p.Silent && p.now < p.Silent+2*p.plan.ttl()
}

// queueID is what daemons call a queue.
func queueID(queue int) shares.QueueID { return shares.QueueID(queue + 1) }

// pull asks for jobs.
func (p *pilot) pull() {
	if p.dead() || p.now > p.plan.Span+settling {
		return
	}
	p.pulls++
	pull := &machine.Pull{Queue: queueID(p.Queue), Slot: job.Slot{Cores: p.Most}, Most: p.Most, Pilot: fmt.Sprintf("%d.%d", p.no, p.pulls), Nonce: p.drawn.Int64()}
	if p.Request {
		pull.Request = p.id()
	}
	if p.Node > 0 {
		pull.Node, pull.Devices = nodesOf[p.Node], devicesOf
	}
	p.current = pull
	p.ask(pull, nil)
}

// starves judges for how long a pilot asks in vain where daemons do not reach each other. For how long the ask waits that is answered is its own affair.
func (p *pilot) starves(pull *machine.Pull, a lease.Answer, ok bool, called time.Duration) {
	until, answered := p.now, ok && a.Status != lease.Unavailable
	if answered {
		until = called
	}
	if p.plan.Groups > 0 && p.asked > 0 && until-p.asked > mostStarved {
		p.violate("pull %s has no answer for %v", pull.Pilot, until-p.asked)
	}
	if answered {
		p.asked = 0
	}
}

// ask says a pull, until it is answered if it may be said again. Before are the leases that it was answered with already.
func (p *pilot) ask(pull *machine.Pull, before []machine.Lease) {
	h, called := p.host(), p.now
	wait, patience := p.Wait, p.Wait+patience
	if before == nil {
		if p.asked = cmp.Or(p.asked, p.now); p.hastes(pull) {
			patience = p.haste(pull, patience)
		}
	}
	p.call(h, lease.Ask{Pull: pull, Wait: wait}, patience, func(a lease.Answer, ok bool) {
		p.note(uint64(p.no), uint64(a.Status), uint64(len(a.Leases)))
		told := told{pilot: pull.Pilot, called: called, at: p.now}
		if before == nil {
			p.starves(pull, a, ok, called)
		}
		switch {
		case ok && a.Status == lease.NoJob:
			p.seen.None++
			p.truth.none(spotOf(p.Queue, p.Node), told)
		case ok && a.Status == lease.Done:
			p.seen.Given++
			p.truth.given(a.Leases, before, pull, told)
		case ok && a.Status == lease.Over:
			p.seen.Over++
		default:
			p.seen.Unavailable++
			p.elsewhere()
			if p.current == pull && pull.Request != (entry.ID{}) && !p.dead() {
				p.after(p.pause(), func() {
					if p.current == pull {
						p.ask(pull, nil)
					}
				})
				return
			}
		}
		switch {
		case p.current != pull: // it was said again for no reason
		case ok && a.Status == lease.Done && len(a.Leases) > 0:
			p.receive(pull, a.Leases)
		default:
			p.current = nil
			p.after(p.pause(), p.pull)
		}
	})
}

// begin runs what was given.
func (p *pilot) begin(leases []machine.Lease) {
	p.running = nil
	for _, l := range leases {
		r := &run{lease: l}
		p.running = append(p.running, r)
		p.after(p.Run+upTo(p.random, p.Run), func() {
			if !r.ends {
				r.ends, r.outcome = true, entry.Finished
				if p.random.Float64() < p.Fails {
					r.outcome = entry.Failed
				}
				p.end(r)
			}
		})
	}
	runs := p.running
	p.after(upTo(p.random, renewEvery), func() { p.renew(runs) })
}

// renew says that the pilot is there, again and again.
func (p *pilot) renew(runs []*run) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *run) bool { return r.over || r.ends })
	if p.dead() || len(runs) == 0 {
		return
	}
	if p.silent() {
		p.after(p.Silent+2*p.plan.ttl()-p.now, func() { p.renew(runs) })
		return
	}
	renewals := make([]lease.Renewal, len(runs))
	for i, r := range runs {
		renewals[i] = lease.Renewal{Key: r.key(), Started: p.random.IntN(2) == 0}
	}
	called := p.now
	p.call(p.host(), lease.Ask{Renew: renewals}, renewEvery, func(a lease.Answer, ok bool) {
		if !ok || a.Status != lease.Done {
			p.elsewhere()
			p.after(p.pause()/2, func() { p.renew(runs) })
			return
		}
		p.seen.Renewed++
		for i, r := range a.Renewed {
			told := told{pilot: runs[i].lease.Pilot, called: called, at: p.now}
			p.truth.renewed(runs[i].key(), r.Kept, told)
			switch {
			case !r.Kept:
				runs[i].ends, runs[i].over = true, true
				p.again()
			case r.Order != nil && !runs[i].ends:
				runs[i].ends, runs[i].outcome = true, entry.Cancelled
				if r.Order.Reason == rules.Reclaimed {
					runs[i].outcome = entry.Returned
				}
				p.end(runs[i])
			}
		}
		p.after(renewEvery, func() { p.renew(runs) })
	})
}

// end says how an attempt ended, until it is answered.
func (p *pilot) end(r *run) {
	if p.dead() {
		return
	}
	if p.silent() {
		p.after(p.Silent+2*p.plan.ttl()-p.now, func() { p.end(r) })
		return
	}
	called := p.now
	p.truth.finishing(r.key(), called)
	p.call(p.host(), lease.Ask{Finish: []lease.End{{Key: r.key(), Outcome: r.outcome, CPUMilli: 7}}}, patience, func(a lease.Answer, ok bool) {
		if !ok || a.Status != lease.Done {
			p.elsewhere()
			p.after(p.pause()/2, func() { p.end(r) })
			return
		}
		v := a.Verdicts[0]
		p.seen.Ended++
		p.truth.recorded(r.key(), r.outcome, v.Is, told{r.lease.Pilot, called, p.now})
		if first := !r.over; first {
			r.over = true
			if p.random.Float64() < p.Again {
				p.after(upTo(p.random, 2*p.plan.ttl()), func() { p.end(r) })
			}
			p.again()
		}
	})
}

// again pulls once all that was given is over.
func (p *pilot) again() {
	if !slices.ContainsFunc(p.running, func(r *run) bool { return !r.over }) {
		p.running = nil
		p.after(upTo(p.random, 200*time.Millisecond), p.pull)
	}
}

// runs says whether the pilot runs an attempt.
func (p *pilot) runs(k lease.Key) bool {
	return slices.ContainsFunc(p.running, func(r *run) bool { return r.key() == k && !r.over })
}

// pilotOf is the pilot that named a pull so.
func (w *world) pilotOf(name string) *pilot {
	for _, p := range w.pilots {
		if strings.HasPrefix(name, fmt.Sprintf("%d.", p.no)) {
			return p
		}
	}
	return nil
}
