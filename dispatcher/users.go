package dispatcher

import "github.com/divvyhq/divvy/shares"

// users are those who have jobs in a leaf that gives them by fair turn among users: of those with a job that a slot may run the
// one who holds least in the pool is next, among equals the one whose first job comes first. Everybody weighs the same, so whoever
// holds least is furthest below an equal part that nobody can use up who wants less than that: what the solver of package
// shares makes of it at rest, without solving anything at a pull. Jobs whose shape names nobody, as those that
// were there before their share gave turns, are those of one user more, until TendUsers has given them their shapes.
// Guarded by Dispatcher.mu.
type users struct {
	by map[string]*user
}

// user is the standing of one.
type user struct {
	name    string
	held    map[*pool]shares.Units
	windows []*window // that others than gangs have jobs in
}

// userTurn is a place in the order of a leaf: whoever holds less is first, then the one whose first job is. Where a leaf gives no
// turns nobody holds anything in this sense.
type userTurn struct {
	held shares.Units
	stand
}

func (a userTurn) before(b userTurn) bool {
	return a.held < b.held || a.held == b.held && a.stand.before(b.stand)
}

// adoptUsers makes those of the leaves that give turns.
func (s *state) adoptUsers() {
	for i := range s.version.Tree.Nodes {
		if s.version.Tree.Leaf(i) && s.version.Tree.Nodes[i].Plan.Within == shares.FairUser {
			s.leaves[i].users, s.turns = &users{by: map[string]*user{}}, true
		}
	}
}

// of finds or makes a user.
func (us *users) of(name string) *user {
	u := us.by[name]
	if u == nil {
		u = &user{name: name, held: map[*pool]shares.Units{}}
		us.by[name] = u
	}
	return u
}

// hangUser ties a window to its user, where its leaf gives turns.
func (s *state) hangUser(w *window) {
	w.user = nil
	if us := s.leaves[w.leaf].users; us != nil {
		w.user = us.of(w.shape.full.User)
		if !w.shape.need.Claims.gang() {
			w.user.windows = append(w.user.windows, w)
		}
	}
}

// holdUser counts what a user holds; the user's turn is another one from now on.
func (s *state) holdUser(us *users, sh *shape, p *pool, units shares.Units) {
	if sh == nil || sh.need.charges() {
		return
	}
	u := us.of(sh.full.User)
	u.held[p] += units
	for _, w := range u.windows {
		if w.opened && w.shape.headed {
			s.rank(w)
		}
	}
}

// heldBy is what the user of a window holds in a pool; 0 where its leaf gives no turns.
func (w *window) heldBy(p *pool) shares.Units {
	if w.user == nil {
		return 0
	}
	return w.user.held[p]
}
