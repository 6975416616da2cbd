package dispatcher

import (
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// started is into which of the offered pulls each job of a gang goes.
type started struct {
	offers []gangOffer
	into   []int
}

// start gives all jobs of a gang to pulls that wait at its node: they are one batch's. Pull by pull, so that they can be taken
// back in the reverse order.
func (s *state) start(g *gang, node *gangNode, now slotNow, st started, n *needs) {
	now.of.tell(&s.diary)
	leaf := s.windows[g.members[0].key].leaf
	contends := now.of.pool.book.Contends(&now.of.leaves, leaf)
	now.of.pool.book.Contend(&now.of.leaves, leaf, true) // for the records
	first := 0
	for i, o := range st.offers {
		if o.pull == now.pull {
			first = i
		}
	}
	members := g.members
	for k := range st.offers {
		i := (first + k) % len(st.offers)
		o := st.offers[i].pull
		for m := range members {
			if st.into[m] != i {
				continue
			}
			s.claims.asking = s.gangOffer(st.offers)
			o.grants = append(o.grants, s.giveMember(&members[m], o, now, n))
		}
		if o != now.pull && len(o.grants) > 0 {
			s.gangs.line.takeTogether(o)
			n.gathered = append(n.gathered, o)
		}
	}
	now.of.pool.book.Contend(&now.of.leaves, leaf, contends)
	s.gangs.letGo(g)
	node.vain, node.hold = 0, resource.Hold{}
}

// giveMember counts a job of a gang as held.
func (s *state) giveMember(m *gangMember, p *pull, now slotNow, n *needs) *grant {
	w := s.window(m.key)
	found := choice{window: w, job: &m.job, units: shares.Units(int64(m.sh.need.Cores) * now.at.CorePowerMilli), gang: true}
	note := s.note(now.of, now.r, now.at, found, asked{pull: p.number, cores: job.RoomOf(p.req.Slot, now.at.Queue).Cores, most: p.most - len(p.grants)})
	w.drop(m.job.stand)
	return s.give(p, now.at, found, note, n)
}

// takeTogether takes a pull off the line that was given jobs of a gang beside another one.
func (l *line) takeTogether(p *pull) {
	c := l.classes[p.class]
	l.takeOff(c, p)
	if c.pulls.Len() == 0 && !c.awake && !c.blocked {
		l.drop(c)
	}
}
