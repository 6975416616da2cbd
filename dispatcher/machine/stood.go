package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
)

// Stood says what a machine that is made of tables lacks: one for each pool, and one without a pool for the rest.
func (m *Machine) Stood() []entry.Stood {
	return append(m.site.Stood(m.served.Kept()), entry.Stood{Rest: &entry.Rest{PlansAt: m.site.At, Servings: m.served.N, Elders: m.elders.Save(),
		Waited: m.supplies.Waited(), Holes: m.holes.List()}})
}

// stand takes the values of a pool, or of the rest, in place of its own. Who has them already does nothing: that are all but those who
// began with tables.
func (m *Machine) stand(e entry.Stood) {
	list := m.Stood()
	if i := slices.IndexFunc(list, func(s entry.Stood) bool { return s.Pool == e.Pool }); i >= 0 && !list[i].Same(e) {
		list[i] = e
		m.recall(list)
		m.eased++
	}
}

// recall makes the site anew, with these values and no others.
func (m *Machine) recall(list []entry.Stood) {
	now, rest := m.now, entry.RestOf(list)
	m.served.Remind(list)
	gate.Forget(m.supplies.Supplies)
	if rest != nil {
		m.now = rest.PlansAt
	}
	m.build(m.site.Source)
	m.now = now
	m.site.Remind(list)
	m.site.RemindTurns(list)
	if rest != nil {
		m.elders, m.holes = ready.Ages{Elders: rest.Elders}, books.Holes{}
		for _, h := range rest.Holes {
			m.holes[h.Queue] = h
		}
		for _, w := range rest.Waited {
			m.supplies.Remind(w)
		}
	}
}
