package machine

import (
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/shares"
)

func (s *state) givesTurns(share shares.ShareID) bool { return s.served.Turning[share] }

// adoptUsers makes the users of the leaves that give turns, and has jobs and leases be known by user in these and in no others: the site
// is another one, and nothing hangs on it yet. Buffers of users who have no jobs go.
func (s *state) adoptUsers() {
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
			s.countHeld(s.leases.Run(l.Job), 1)
		}
	}
}

// splitBuffer puts jobs where they belong now that their share gives turns to users, or does so no more.
func (s *state) splitBuffer(b *buffer) {
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
