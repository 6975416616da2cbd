package dispatcher

import "github.com/divvyhq/divvy/shares"

// servings number the grants to users, so that who was served longest ago is known. As with resources (turns.go) a daemon
// that starts reads the last ones in the ledger, and one that follows another counts that one's.
type servings struct {
	n      uint64
	before map[servedKey]uint64 // under the site before, of those who have nothing under this one yet
}

type servedKey struct {
	share shares.ShareID
	user  string
	pool  string
}

// servedLately bounds for how many grants it is remembered who was served, over changes of the site.
const servedLately = 1 << 20

// rememberServed takes the servings of the leaves that give turns over to the next version of the site.
func (s *state) rememberServed() {
	kept := map[servedKey]uint64{}
	for i := range s.leaves {
		us := s.leaves[i].users
		if us == nil {
			continue
		}
		for key, n := range s.served.before {
			if key.share == us.share && us.by[key.user] == nil && n+servedLately > s.served.n {
				kept[key] = n
			}
		}
		for name, u := range us.by {
			for p, n := range u.served {
				if n+servedLately > s.served.n {
					kept[servedKey{us.share, name, p.name}] = n
				}
			}
		}
	}
	s.served.before = kept
}

// serving is what a grant has changed in the order of users. The zero one is of a leaf that gives no turns.
type serving struct {
	user        *user
	pool        *pool
	former, now uint64
}

// serve puts the user of a grant behind all others who hold as much. Its windows are ranked when the grant is counted.
func (s *state) serve(w *window, p *pool) serving {
	us := s.leaves[w.leaf].users
	if us == nil {
		return serving{}
	}
	u := us.of(w.shape.full.User)
	s.served.n++
	v := serving{u, p, u.served[p], s.served.n}
	u.served[p] = v.now
	return v
}

// undo is for a grant that did not come true. Its windows are ranked when that is counted.
func (v serving) undo() {
	if v.user != nil && v.user.served[v.pool] == v.now {
		v.user.served[v.pool] = v.former
	}
}

// tookServing notes a grant that this daemon did not decide on, or not in this life.
func (s *state) tookServing(share shares.ShareID, sh *shape, p *pool) {
	node, ok := s.version.Tree.ByID(share)
	if !ok || !s.version.Tree.Leaf(node) || s.leaves[node].users == nil {
		return
	}
	u := s.leaves[node].users.of(sh.full.User)
	s.served.n++
	u.served[p] = s.served.n
	s.rankUser(u)
}
