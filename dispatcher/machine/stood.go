package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ready"
)

// Stood says what a machine that is made of tables lacks: one for each pool, and one without a pool for the rest.
func (m *Machine) Stood() (list []entry.Stood) {
	users := m.served.Kept()
	for _, p := range m.site.Pools {
		s := m.site.Stood(p)
		s.Users = users[p.Name]
		list = append(list, s)
	}
	return append(list, m.rest())
}

func (m *Machine) rest() entry.Stood {
	return entry.Stood{Rest: &entry.Rest{PlansAt: m.site.At, Servings: m.served.N, Elders: m.elders.Save(), Waited: m.supplies.Waited(), Holes: m.holes.List()}}
}

// stand takes the values of a pool, or of the rest, in place of its own. Who has them already does nothing: that are all but those who
// began with tables.
func (m *Machine) stand(e entry.Stood) {
	own := m.rest()
	if e.Pool != "" {
		i := slices.IndexFunc(m.site.Pools, func(p *books.Pool) bool { return p.Name == e.Pool })
		if i < 0 {
			return
		}
		own = m.site.Stood(m.site.Pools[i])
		own.Users = m.served.Kept()[e.Pool]
	}
	if own.Same(e) {
		return
	}
	list := m.Stood()
	list[slices.IndexFunc(list, func(s entry.Stood) bool { return s.Pool == e.Pool })] = e
	m.recall(list)
	m.eased++
}

// recall makes the site anew, with these values and no others.
func (m *Machine) recall(list []entry.Stood) {
	now := m.now
	m.served.Remind(list)
	m.supplies.Forget()
	for _, e := range list {
		if e.Rest != nil {
			m.now = e.Rest.PlansAt
		}
	}
	m.build(m.site.Source())
	m.now = now
	m.site.Remind(list)
	for _, e := range list {
		if e.Rest == nil {
			continue
		}
		m.elders, m.holes = ready.AgesOf(e.Rest.Elders), books.HolesOf(e.Rest.Holes)
		for _, w := range e.Rest.Waited {
			m.supplies.Remind(w)
		}
	}
}
