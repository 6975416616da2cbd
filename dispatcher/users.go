package dispatcher

import (
	"cmp"

	"github.com/divvyhq/divvy/shares"
)

// users are those who have jobs in a leaf that gives them by fair turn among users: of those with a job that a slot may run the
// one who holds least in the pool is next, among equals the one who was served longest ago, so that where there are fewer
// slots than users nobody waits for the last job of another, and then the one whose first job comes first. Everybody weighs
// the same, so whoever holds least is furthest below an equal part that nobody can use up who wants less than that: what the
// solver of package shares makes of it at rest, without solving anything at a pull. Jobs whose shape names nobody, as those
// that were there before their share gave turns, are those of one user more, until TendUsers has given them their shapes.
// Guarded by Dispatcher.mu.
type users struct {
	state *state
	share shares.ShareID
	by    map[string]*user
}

// user is the standing of one.
type user struct {
	name    string
	held    map[*pool]shares.Units
	served  map[*pool]uint64 // the number of the last grant to the user; 0: none that is known of
	windows []*window        // that others than gangs have jobs in
}

// userTurn is a place in the order of a leaf: whoever holds less is first, then who was served longer ago, then the one whose
// first job is. Where a leaf gives no turns nobody holds anything in this sense, nor was served.
type userTurn struct {
	held   shares.Units
	served uint64
	stand
}

func (a userTurn) compare(b userTurn) int {
	return cmp.Or(cmp.Compare(a.held, b.held), cmp.Compare(a.served, b.served))
}

func (a userTurn) before(b userTurn) bool {
	c := a.compare(b)
	return c < 0 || c == 0 && a.stand.before(b.stand)
}

// adoptUsers makes those of the leaves that give turns.
func (s *state) adoptUsers() {
	for i, n := range s.version.Tree.Nodes {
		if s.version.Tree.Leaf(i) && n.Plan.Within == shares.FairUser {
			s.leaves[i].users, s.turns = &users{state: s, share: n.ID, by: map[string]*user{}}, true
		}
	}
}

// of finds or makes a user.
func (us *users) of(name string) *user {
	u := us.by[name]
	if u == nil {
		u = &user{name: name, held: map[*pool]shares.Units{}, served: map[*pool]uint64{}}
		us.by[name] = u
		for at, p := range us.state.pools {
			if n := us.state.served.before[servedKey{us.share, name, at}]; n > 0 {
				u.served[p] = n
			}
		}
	}
	return u
}

// hangUser ties a window to its user, where its leaf gives turns.
func (s *state) hangUser(w *window) {
	w.user = nil
	if us := s.leaves[w.leaf].users; us != nil {
		w.user = us.of(w.shape.full.User)
		if !w.shape.need.Claims.Starts() {
			w.user.windows = append(w.user.windows, w)
		}
	}
}

// holdUser counts what a user holds; the user's turn is another one from now on.
func (s *state) holdUser(us *users, sh *shape, p *pool, units shares.Units) {
	if sh == nil || sh.need.Charges() {
		return
	}
	u := us.of(sh.full.User)
	u.held[p] += units
	s.rankUser(u)
}

// rankUser brings the places of a user's windows up to date.
func (s *state) rankUser(u *user) {
	for _, w := range u.windows {
		if w.opened && w.shape.headed {
			s.rank(w)
		}
	}
}

// turn is the place in a pool of a window whose first job stands there.
func (w *window) turn(p *pool, first stand) userTurn {
	if w.user == nil {
		return userTurn{stand: first}
	}
	return userTurn{w.user.held[p], w.user.served[p], first}
}
