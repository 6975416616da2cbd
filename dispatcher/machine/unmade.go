package machine

import "time"

// makingMost is how many times Config.Making pulls wait for the jobs of one leaf. Jobs that are not made yet are work like any
// other: a leaf contends with them where it has none ready of their outline. When such a leaf comes first the pull waits until a
// generator has made some. Three bounds hold for that. When no generator makes a job for Making, pulls pass all such leaves
// until one does. A pull also passes them when its own wait was over makingMost times Making ago. And a leaf for which pulls
// have waited makingMost times Making is passed until its jobs are made: its generator may hang, or find no piece to make.
const makingMost = 5

// makingGap is how many times Making no pull waits for a leaf before the time of that leaf begins anew. A pull that waits
// is decided again every Making at the latest.
const makingGap = 2

// making is what is known of generators while pulls wait for them.
type making struct {
	pause  time.Duration
	asked  time.Time // when a pull first waited since something was made; zero: none has
	passed []*group  // since nothing was made
}

// unmade says whether the group has nothing but jobs to be made, and pulls wait for these.
func (g *group) unmade() bool { return g.coming > 0 && g.Waits <= g.coming && !g.passed }

// patient says whether the pull waits for jobs to be made; if not, the group is passed.
func (r *round) patient(g *group) bool {
	now, most, m := r.supplies.Moment, makingMost*r.making.pause, &r.making
	if m.asked.IsZero() {
		m.asked = now
	}
	if g.asked.IsZero() || now.Sub(g.met) > makingGap*m.pause {
		g.asked = now
	}
	g.met = now
	late := now.Sub(g.asked) >= most
	if !late && now.Sub(m.asked) < m.pause && now.Sub(r.pull.Until) < most {
		return true
	}
	if !late {
		m.passed = append(m.passed, g)
	}
	r.decision.Passed++
	r.pass(g, true)
	return false
}

func (s *state) pass(g *group, passed bool) {
	if g.passed != passed {
		g.passed = passed
		s.kinds.offered(g, nil)
	}
}

// made follows that so many jobs of a buffer were made: pulls wait for others again, and these are not to be made any more.
func (s *state) made(b *buffer, n int64) {
	s.making.asked = time.Time{}
	for _, g := range s.making.passed {
		s.pass(g, false)
	}
	s.making.passed = nil
	if b = s.buffers[b.log()]; b == nil { // generators know no users, nor claims
		return
	}
	if b.group != nil {
		b.group.passed, b.group.asked = false, time.Time{}
	}
	if b.expected > 0 {
		s.setExpected(b, b.expected-n)
	}
}
