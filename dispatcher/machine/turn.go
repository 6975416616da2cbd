package machine

import (
	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// adoptUsers makes the users of the leaves that give turns.
func (s *state) adoptUsers() {
	for i, n := range s.site.Version.Tree.Nodes {
		if s.site.Version.Tree.Leaf(i) && n.Plan.Within == shares.FairUser {
			s.leaves[i].users, s.leaves[i].mine = s.served.Begin(s.site, n.ID), map[*books.User][]*buffer{}
		}
	}
}

// hangUser ties a buffer to its user, where its leaf gives turns.
func (s *state) hangUser(b *buffer) {
	b.user = nil
	l := &s.leaves[b.leaf]
	if l.users == nil {
		return
	}
	b.user = l.users.Of(b.shape.full.User)
	if !b.shape.guest {
		l.mine[b.user] = append(l.mine[b.user], b)
	}
}

// holdUser counts what a user of a leaf holds, and brings the places of the user's buffers up to date.
func (s *state) holdUser(l *leaf, u *books.User, p *books.Pool, units shares.Units) {
	u.Held[p] += units
	for _, b := range l.mine[u] {
		if b.opened && b.shape.headed {
			s.kinds.rank(b)
		}
	}
}

// turn is the place in a pool of a buffer whose first job stands there.
func (b *buffer) turn(p *books.Pool, first ready.Stand) ready.Turn { return b.user.TurnIn(p, first) }
