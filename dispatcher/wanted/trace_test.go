package wanted

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares/pilots"
)

// batchSystem is pilots that were asked for: they come up after a delay, run jobs in their slots and leave when idle.
type batchSystem struct {
	p       pilots.Provision
	delay   int // seconds until a pilot is alive
	pilots  []*simPilot
	ready   int64
	started int // pilots
	idle    int // slot seconds without a job while some were ready
	busy    int
}

type simPilot struct {
	up   int
	ends []int // of its running jobs
	last int   // when it last had a job
}

const jobSeconds = 30

// second lets a second pass.
func (s *batchSystem) second(now int) {
	kept := s.pilots[:0]
	for _, p := range s.pilots {
		var running []int
		for _, end := range p.ends {
			if end > now {
				running = append(running, end)
			}
		}
		p.ends = running
		for p.up <= now && len(p.ends) < s.p.Slots && s.ready > 0 {
			s.ready--
			p.ends = append(p.ends, now+jobSeconds)
		}
		if p.last = max(p.last, p.up); len(p.ends) > 0 {
			p.last = now
		}
		s.busy += len(p.ends)
		if p.up <= now && s.ready > 0 {
			s.idle += s.p.Slots - len(p.ends)
		}
		if now < p.up || now-p.last < int(s.p.IdleS) {
			kept = append(kept, p)
		}
	}
	s.pilots = kept
}

// queue is what divvy sees of it.
func (s *batchSystem) queue(now int) Queue {
	q := Queue{Provision: &s.p, Power: 1000, Slots: -1, Held: map[Size]int64{}}
	for _, p := range s.pilots {
		if p.up <= now {
			q.HeldCores += int64(len(p.ends))
			q.Free += int64(s.p.Slots - len(p.ends))
		}
	}
	q.Held[Size{Cores: 1}] = q.HeldCores
	return q
}

// start asks for the pilots that are missing.
func (s *batchSystem) start(n, now int) {
	for range n - len(s.pilots) {
		s.started++
		s.pilots = append(s.pilots, &simPilot{up: now + s.delay})
	}
}

// 0 → 2,000 jobs → 0: as many pilots as the jobs need, once, and all of them leave.
func TestTrace(t *testing.T) {
	for name, delay := range map[string]int{"quick batch system": 2, "slow batch system": 120} {
		s := &batchSystem{p: pilots.Provision{Max: 64, Slots: 8, Burst: 64, IdleS: 60}.Filled(), delay: delay}
		level, rises, last := Level{}, 0, 0
		for now := range 2000 {
			if now == 10 {
				s.ready = 2000
			}
			s.second(now)
			need := Solve(Input{Queues: []Queue{s.queue(now)}, Places: [][]int{{0}}, Kinds: []Kind{kind(0, s.ready)}, Leaves: []Leaf{{}}})[0]
			var a Pilots
			a, level = need.Answer(&s.p, level, start.Add(time.Duration(now)*time.Second))
			if a.Wanted > last {
				rises++
			}
			if last = a.Wanted; now == 10 && a.Wanted != 64 {
				t.Errorf("%s: %d pilots wanted when the jobs came, expected 64", name, a.Wanted)
			}
			s.start(a.Wanted, now)
		}
		if s.ready > 0 || len(s.pilots) > 0 || s.busy < 2000*jobSeconds {
			t.Errorf("%s: %d jobs wait, %d pilots are left, %d busy slot seconds", name, s.ready, len(s.pilots), s.busy)
		}
		if s.started != 64 || rises != 1 {
			t.Errorf("%s: %d pilots were started, and their number rose %d times; expected 64, once", name, s.started, rises)
		}
		if s.idle*100 > s.busy {
			t.Errorf("%s: %d slot seconds without a job while some were ready, of %d busy ones", name, s.idle, s.busy)
		}
	}
}
