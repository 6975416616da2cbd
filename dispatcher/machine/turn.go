package machine

import (
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/shares"
)

// turns are those of users, in the shares that give some.
type turns struct{ *state }

// adoptUsers makes the users of the leaves that give turns.
func (s turns) adoptUsers() {
	for i, n := range s.site.Version.Tree.Nodes {
		if s.site.Version.Tree.Leaf(i) && n.Plan.Within == shares.FairUser {
			s.leaves[i].users, s.leaves[i].mine = s.served.Begin(s.site, n.ID), map[*books.User][]*buffer{}
		}
	}
}

// givesTurns says whether a share gives turns to users.
func (s *state) givesTurns(share shares.ShareID) bool {
	leaf, ok := s.site.Leaf(share)
	return ok && s.leaves[leaf].users != nil
}

// splitUsers has jobs and leases be known by user in the shares that give turns, and in no others: the site is another one, and nothing
// hangs on it yet. Buffers of users who have no jobs go.
func (s turns) splitUsers() {
	for _, b := range slices.Collect(maps.Values(s.buffers)) {
		key := b.Key()
		if s.givesTurns(key.Share) != s.served.Turning[key.Share] {
			s.splitBuffer(b)
		}
		if key.User != "" && b.Count() == 0 {
			s.drop(b)
		}
	}
	begin := map[shares.ShareID]bool{}
	for share, of := range s.held {
		switch is := s.givesTurns(share); {
		case is && !s.served.Turning[share]:
			begin[share] = true
			s.held[share] = map[books.HeldKey]*books.HeldCount{}
		case !is && s.served.Turning[share]:
			delete(s.held, share)
			for key, n := range of {
				key.User = ""
				s.held.Add(share, key, *n)
			}
		}
	}
	for l := range s.leases.All() {
		if begin[l.Share] {
			s.held.Add(l.Share, books.HeldKey{Shape: l.Shape, Queue: l.Queue, User: l.User},
				books.HeldCount{Jobs: 1, Units: l.Units, Class: s.words.shapes[l.Shape].ClassAt})
		}
		if len(begin) == 0 {
			break
		}
	}
	s.served.Turning = map[shares.ShareID]bool{}
	for _, n := range s.site.Version.Tree.Nodes {
		if s.givesTurns(n.ID) {
			s.served.Turning[n.ID] = true
		}
	}
}

// splitBuffer puts jobs where they belong now that their share gives turns to users, or does so no more.
func (s turns) splitBuffer(b *buffer) {
	for _, r := range slices.Collect(b.Ranges()) {
		to := b.Key()
		if to.User = ""; s.givesTurns(to.Share) {
			to.User, _ = s.ready.User(r.Task)
		}
		if s.buffers[to] == nil {
			s.newBuffer(to, b.shape)
		}
		s.ready.Move(r.Task, b.Key(), to, r.Low, r.High)
	}
}

// hangUser ties a buffer to its user, where its leaf gives turns.
func (s turns) hangUser(b *buffer) {
	b.user = nil
	l := &s.leaves[b.leaf]
	if l.users == nil {
		return
	}
	b.user = l.users.Of(b.Key().User)
	if !b.shape.guest {
		l.mine[b.user] = append(l.mine[b.user], b)
	}
}

// holdUser counts what a user of a leaf holds, and brings the places of the user's buffers up to date.
func (s turns) holdUser(l *leaf, u *books.User, p *books.Pool, units shares.Units) {
	u.Held[p] += units
	for _, b := range l.mine[u] {
		if b.opened {
			s.kinds.rank(b)
		}
	}
}
