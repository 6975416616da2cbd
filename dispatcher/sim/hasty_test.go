package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// drawHaste has some pilots of every second plan say pulls again that are on their way.
func (p *Plan) drawHaste(r *rand.Rand) {
	if r.IntN(2) == 0 {
		return
	}
	for i := range p.Habits {
		if h := &p.Habits[i]; h.Request {
			h.Hasty = []float64{0, 0.5, 1}[r.IntN(3)]
		}
	}
}

// hastes says whether a pilot says a pull again before it is answered, or goes away and comes back with it.
func (p *pilot) hastes(pull *machine.Pull) bool {
	return p.Hasty > 0 && !p.healthy && p.plan.Groups == 0 && pull.Request != (entry.ID{}) && p.random.Float64() < p.Hasty
}

// haste has a pilot wait less long for the answer than it takes now and then, and meanwhile ask others the same. Whatever brings jobs first counts.
func (p *pilot) haste(pull *machine.Pull, patience time.Duration) time.Duration {
	p.after(upTo(p.random, patience), func() {
		if p.current == pull {
			p.repeat(pull, nil)
		}
	})
	if p.random.IntN(2) == 0 {
		return upTo(p.random, patience)
	}
	return patience
}

// repeat says a pull to any daemon beside what is said by ask, and then also after its answer: messages stray.
func (p *pilot) repeat(pull *machine.Pull, before []machine.Lease) {
	if p.dead() {
		return
	}
	called, wait := p.now, upTo(p.random, p.Wait)
	p.call(p.hosts[p.random.IntN(len(p.hosts))], lease.Ask{Pull: pull, Wait: wait}, upTo(p.random, wait+patience), func(a lease.Answer, ok bool) {
		p.note(uint64(p.no), uint64(a.Status), uint64(len(a.Leases)))
		told := told{pilot: pull.Pilot, called: called, at: p.now}
		switch {
		case ok && a.Status == lease.NoJob:
			p.truth.none(spotOf(p.Queue, p.Node), told)
		case ok && a.Status == lease.Done:
			p.seen.Hasty++
			p.truth.given(a.Leases, before, pull, told)
			p.receive(pull, a.Leases)
		}
	})
}

// receive begins what a pull was given, once.
func (p *pilot) receive(pull *machine.Pull, leases []machine.Lease) {
	if p.current != pull || len(leases) == 0 {
		return
	}
	p.current = nil
	if pull.Request != (entry.ID{}) && p.random.Float64() < p.Again {
		if p.after(upTo(p.random, p.plan.ttl()), func() { p.ask(pull, leases) }); p.Hasty > 0 && !p.healthy {
			for range 3 {
				p.after(upTo(p.random, 2*p.plan.ttl()), func() { p.repeat(pull, leases) })
			}
		}
	}
	p.begin(leases)
}

// repeated is a plan whose pilots say all pulls again and again, while answers of the log are late and leaders stand still.
func repeated(seed uint64) Plan {
	p := Draw(seed).plain()
	r := stream(seed, 7)
	p.TTL, p.Daemons, p.Span, p.Slots, p.Deeds, p.Habits, p.Faults = 2*time.Second, 2+r.IntN(2), 20*time.Second, [2]int{}, nil, nil, nil
	for range 40 {
		p.Deeds = append(p.Deeds, Deed{Verb: Enqueue, At: upTo(r, p.Span), Jobs: 1 + r.IntN(2), Host: -1})
	}
	for range 6 {
		h := drawHabit(r, p.Span)
		h.Request, h.Hasty, h.Again, h.Run = true, 1, 1, 50*time.Millisecond+upTo(r, time.Second)
		p.Habits = append(p.Habits, h)
	}
	for at := time.Second + upTo(r, 4*time.Second); at < p.Span; at += 8*time.Second + upTo(r, 4*time.Second) {
		kind := []Kind{Pause, Pause, CutLog, CutCalls}[r.IntN(4)]
		p.Faults = append(p.Faults, Fault{Kind: Doubt, At: at, For: 2*time.Second + upTo(r, 3*time.Second)},
			Fault{Kind: kind, At: at + upTo(r, 2*time.Second), For: 2*time.Second + upTo(r, 7*time.Second), Daemon: -1})
	}
	return p
}

// Who says a pull again is told of the leases that it has by then, and of no others, whatever became of who said it before.
func TestRepeatedPulls(t *testing.T) {
	t.Parallel()
	var sum Seen
	n := pgtest.Draws(120)
	for seed := range uint64(n) {
		p := repeated(seed)
		r := play(p, sound())
		if len(r.Wrong) > 0 {
			t.Fatal(failure(p, sound(), r))
		}
		sum.add(r.Seen)
	}
	t.Logf("%d histories: %+v", n, sum)
	if sum.Hasty < 10*n || sum.Leads < 4*n || sum.Unavailable == 0 {
		t.Errorf("too few pulls are said again: %+v", sum)
	}
}
