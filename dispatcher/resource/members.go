package resource

import (
	"cmp"
	"slices"

	"github.com/divvyhq/divvy/shares"
)

// group is an inner node of a Split's tree; groups[0] is the root, and the only one without a tree.
type group struct {
	parent int32 // −1 for the root
	weight float64
	last   uint64 // sequence number of the last grant in or below
	places map[string]float64
}

// groupsOf lists the inner nodes of a tree, parents first. The weights of IDs stand in the places of the group that they
// are in, under shares.Others that of everybody who is not named; without a tree in those of the root.
func groupsOf(s Split) []group {
	root := group{parent: -1, weight: 1, places: map[string]float64{}}
	for id, w := range s.Weights {
		root.places[id] = w
	}
	out := []group{root}
	var below func(parent int32, nodes []Node)
	below = func(parent int32, nodes []Node) {
		for _, n := range nodes {
			if len(n.Children) == 0 {
				out[parent].places[n.Name] = n.Weight
				continue
			}
			out = append(out, group{parent: parent, weight: n.Weight, places: map[string]float64{}})
			below(int32(len(out)-1), n.Children)
		}
	}
	below(0, s.Tree)
	return out
}

// place finds the group and the weight of an ID.
func (p *Pool) place(id string) (g int32, weight float64) {
	for _, name := range []string{id, shares.Others} {
		for g := range p.groups {
			if w, ok := p.groups[g].places[name]; ok {
				return int32(g), w
			}
		}
	}
	return 0, 1
}

// member finds an ID, or adds it.
func (p *Pool) member(id string) int32 {
	if i, ok := p.index[id]; ok {
		return i
	}
	p.forget()
	g, w := p.place(id)
	i := int32(len(p.members))
	p.members = append(p.members, member{name: id, group: g, weight: w, exempt: p.exempt[id], last: p.horizon})
	p.index[id] = i
	p.touch(i)
	return i
}

// spare is the number of idle IDs whose last grants are remembered, beside as many as there are others.
const spare = 1000

// forget drops the IDs that have been idle for longest once there are many.
func (p *Pool) forget() {
	if len(p.members) < 2*spare || len(p.members) < cap(p.members) {
		return // looked at only where it is cheap: whenever the list has to grow
	}
	var idle []int32
	for i := range p.members {
		if p.members[i].idle() {
			idle = append(idle, int32(i))
		}
	}
	if len(idle) < spare+len(p.members)/2 {
		return
	}
	slices.SortFunc(idle, func(a, b int32) int { return cmp.Compare(p.members[a].last, p.members[b].last) })
	for _, i := range idle[:len(idle)/2] {
		p.horizon = max(p.horizon, p.members[i].last)
		delete(p.index, p.members[i].name)
		p.members[i].name = ""
	}
	kept := slices.DeleteFunc(p.members, func(m member) bool {
		_, ok := p.index[m.name]
		return !ok
	})
	p.members = kept
	for i := range p.members {
		p.index[p.members[i].name] = int32(i)
	}
	p.reset()
}

// Last numbers the last grant to an ID among all: who has the lowest number waited longest.
func (p *Pool) Last(id string) uint64 {
	if i, ok := p.index[id]; ok {
		return p.members[i].last
	}
	return p.horizon
}

// Turn is a grant's place in the order of grants, and the places that it took.
type Turn struct {
	id     string
	seq    uint64
	before uint64
	groups [8]uint64 // from the ID's group up; of deeper trees the lowest
}

// Granted notes that an ID was just given units: among equals it is now the last in turn.
func (p *Pool) Granted(id string) Turn {
	i := p.member(id)
	m := &p.members[i]
	p.seq++
	p.grants++
	t := Turn{id: id, seq: p.seq, before: m.last}
	m.last = p.seq
	n := 0
	for g := m.group; g >= 0; g = p.groups[g].parent {
		if n < len(t.groups) {
			t.groups[n] = p.groups[g].last
			n++
		}
		p.groups[g].last = p.seq
	}
	p.touch(i)
	return t
}

// Ungranted is the opposite, for a grant that came to nothing: where no later one was made, the ID has the turn that it had
// before. Take several back in the reverse order, the last first.
func (p *Pool) Ungranted(t Turn) {
	i := p.member(t.id)
	m := &p.members[i]
	if m.last == t.seq {
		m.last = t.before
	}
	n := 0
	for g := m.group; g >= 0 && n < len(t.groups); g = p.groups[g].parent {
		if p.groups[g].last == t.seq {
			p.groups[g].last = t.groups[n]
		}
		n++
	}
	if p.seq == t.seq {
		p.seq--
	}
	p.grants--
	p.touch(i)
}

// before is the order of the odd units among IDs of equal weight: who waited longest, then by name.
func (m *member) before(o *member) bool {
	if m.last != o.last {
		return m.last < o.last
	}
	return m.name < o.name
}
