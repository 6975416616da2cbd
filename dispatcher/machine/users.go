package machine

import (
	"cmp"

	"github.com/divvyhq/divvy/shares"
)

// users are those who have jobs in a leaf that gives them by fair turn among users: of those with a job that a slot may run the
// one who holds least in the pool is next, among equals the one who was served longest ago, so that where there are fewer
// slots than users nobody waits for the last job of another, and then the one whose first job comes first. Everybody weighs
// the same, so whoever holds least is furthest below an equal part that nobody can use up who wants less than that: what the
// solver of package shares makes of it at rest, without solving anything at a pull. Jobs whose shape names nobody are those
// of one user more.
type users struct {
	site   *site
	share  shares.ShareID
	by     map[string]*user
	before map[servedKey]uint64
}

// user is the standing of one.
type user struct {
	name    string
	held    map[*pool]shares.Units
	served  map[*pool]uint64 // the number of the last grant to the user; 0: none that is known of
	buffers []*buffer
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
func (sv *servings) adoptUsers() {
	s := sv.state
	for i, n := range s.site.version.Tree.Nodes {
		if s.site.version.Tree.Leaf(i) && n.Plan.Within == shares.FairUser {
			s.leaves[i].users = &users{site: s.site, share: n.ID, by: map[string]*user{}, before: sv.before}
		}
	}
}

// of finds or makes a user.
func (us *users) of(name string) *user {
	u := us.by[name]
	if u == nil {
		u = &user{name: name, held: map[*pool]shares.Units{}, served: map[*pool]uint64{}}
		us.by[name] = u
		for _, p := range us.site.pools {
			if n := us.before[servedKey{us.share, name, p.name}]; n > 0 {
				u.served[p] = n
			}
		}
	}
	return u
}

// hangUser ties a buffer to its user, where its leaf gives turns.
func (sv *servings) hangUser(b *buffer) {
	s := sv.state
	b.user = nil
	if us := s.leaves[b.leaf].users; us != nil {
		b.user = us.of(b.shape.full.User)
		if !b.shape.guest {
			b.user.buffers = append(b.user.buffers, b)
		}
	}
}

// holdUser counts what a user holds; the user's turn is another one from now on.
func (sv *servings) holdUser(u *user, p *pool, units shares.Units) {
	u.held[p] += units
	sv.rankUser(u)
}

// rankUser brings the places of a user's buffers up to date.
func (sv *servings) rankUser(u *user) {
	s := sv.state
	for _, b := range u.buffers {
		if b.opened && b.shape.headed {
			s.kinds.rank(b)
		}
	}
}

// turn is the place in a pool of a buffer whose first job stands there.
func (b *buffer) turn(p *pool, first stand) userTurn {
	if b.user == nil {
		return userTurn{stand: first}
	}
	return userTurn{b.user.held[p], b.user.served[p], first}
}

// servings number the grants to users, so that who was served longest ago is known.
type servings struct {
	state  *state
	n      uint64
	before map[servedKey]uint64 // under the site before
}

type servedKey struct {
	share shares.ShareID
	user  string
	pool  string
}

// servedLately bounds for how many grants it is remembered who was served, over changes of the site.
const servedLately = 1 << 20

// rememberServed takes the servings of the leaves that give turns over to the next version of the site.
func (sv *servings) rememberServed() { sv.before = sv.known() }

// known is when users were last served, under this site or one before.
func (sv *servings) known() map[servedKey]uint64 {
	kept := map[servedKey]uint64{}
	for i := range sv.state.leaves {
		us := sv.state.leaves[i].users
		if us == nil {
			continue
		}
		for key, n := range sv.before {
			if key.share == us.share && us.by[key.user] == nil && n+servedLately > sv.n {
				kept[key] = n
			}
		}
		for name, u := range us.by {
			for p, n := range u.served {
				if n+servedLately > sv.n {
					kept[servedKey{us.share, name, p.name}] = n
				}
			}
		}
	}
	return kept
}

// serve puts the user of a grant behind all others who hold as much. Its buffers are ranked when the grant is counted.
func (sv *servings) serve(b *buffer, p *pool) {
	if b.user != nil {
		sv.n++
		b.user.served[p] = sv.n
	}
}
