package machine

import (
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/shares"
)

// turns are those of users, in the shares that give some.
type turns struct{ *state }

// givesTurns says whether a share gives turns to users.
func (s *state) givesTurns(share shares.ShareID) bool { return s.served.Turning[share] }

// adoptUsers makes the users of the leaves that give turns, and has jobs and leases be known by user in these and in no others: the site
// is another one, and nothing hangs on it yet. Buffers of users who have no jobs go.
func (s turns) adoptUsers() {
	was := s.served.Turning
	s.served.Turning = map[shares.ShareID]bool{}
	for i, n := range s.site.Version.Tree.Nodes {
		if s.site.Version.Tree.Leaf(i) && n.Plan.Within == shares.FairUser {
			s.leaves[i].users, s.leaves[i].mine = s.served.Begin(s.site, n.ID), map[*books.User][]*buffer{}
			s.served.Turning[n.ID] = true
		}
	}
	for _, b := range slices.Collect(maps.Values(s.buffers)) {
		key := b.Key()
		if s.givesTurns(key.Share) != was[key.Share] {
			s.splitBuffer(b)
		}
		if key.User != "" && b.Count() == 0 {
			s.drop(b)
		}
	}
	changed := map[shares.ShareID]bool{}
	for share := range s.held {
		if s.givesTurns(share) != was[share] {
			changed[share] = true
			delete(s.held, share)
		}
	}
	if len(changed) == 0 {
		return
	}
	for l := range s.leases.All() {
		if changed[l.Share] {
			s.countHeld(l.Share, s.leases.Run(l.Job), 1)
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
