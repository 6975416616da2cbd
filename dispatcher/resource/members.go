package resource

import (
	"cmp"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/shares"
)

// groups are the inner nodes of a Split's tree; groups[0] is the root, and the only one without a tree.
type groups []group

type group struct {
	parent int32 // −1 for the root
	weight float64
	last   uint64 // sequence number of the last grant in or below
	places map[string]float64
}

// groupsOf lists the inner nodes of a tree, parents first. The weights of IDs stand in the places of the group that they
// are in, under shares.Others that of everybody who is not named; without a tree in those of the root.
func groupsOf(s Split) groups {
	root := group{parent: -1, weight: 1, places: map[string]float64{}}
	for id, w := range s.Weights {
		root.places[id] = w
	}
	out := groups{root}
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

func (gs groups) place(id string) (g int32, weight float64) {
	for _, name := range []string{id, shares.Others} {
		for g := range gs {
			if w, ok := gs[g].places[name]; ok {
				return int32(g), w
			}
		}
	}
	return 0, 1
}

// granted notes a grant in a group and all above it.
func (gs groups) granted(g int32, seq uint64) {
	for ; g >= 0; g = gs[g].parent {
		gs[g].last = max(gs[g].last, seq)
	}
}

// member finds an ID, or adds it.
func (p *Pool) member(id string) int32 {
	if i, ok := p.index[id]; ok {
		return i
	}
	p.forget()
	g, w := p.groups.place(id)
	i := int32(len(p.members))
	p.members = append(p.members, member{name: id, group: g, weight: w, exempt: slices.Contains(p.spec.Exempt, id), last: p.horizon})
	p.index[id] = i
	p.split.touch(i)
	return i
}

// known is an ID as it stands; one that is not remembered has waited since the last of the forgotten grants.
func (p *Pool) known(id string) *member {
	if i, ok := p.index[id]; ok {
		return &p.members[i]
	}
	return &member{last: p.horizon}
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
	}
	p.members = slices.DeleteFunc(p.members, func(m member) bool {
		_, ok := p.index[m.name]
		return !ok
	})
	p.split = newSplit(p) // it goes by the numbers of members
	for i := range p.members {
		p.index[p.members[i].name] = int32(i)
		p.split.touch(int32(i))
	}
}

// Last numbers the last grant to an ID among all: who has the lowest number waited longest.
func (p *Pool) Last(id string) uint64 { return p.known(id).last }

// Granted notes that an ID was just given units: among equals it is now the last in turn.
func (p *Pool) Granted(id string) {
	i := p.member(id)
	p.seq++
	p.members[i].last = p.seq
	p.groups.granted(p.members[i].group, p.seq)
	p.split.touch(i)
}

// compare is the order of the odd units among IDs of equal weight: who waited longest, then by name.
func (m *member) compare(o *member) int {
	if by := cmp.Compare(m.last, o.last); by != 0 {
		return by
	}
	return strings.Compare(m.name, o.name)
}
