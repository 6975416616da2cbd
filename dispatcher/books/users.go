package books

import (
	"cmp"
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/shares"
)

// Users are those who have jobs in a leaf that gives them by fair turn among users: of those with a job that a slot may run the
// one who holds least in the pool is next, among equals the one who was served longest ago, so that where there are fewer
// slots than users nobody waits for the last job of another, and then the one whose first job comes first. Everybody weighs
// the same, so whoever holds least is furthest below an equal part that nobody can use up who wants less than that: what the
// solver of package shares makes of it at rest, without solving anything at a pull. Jobs whose shape names nobody are those
// of one user more.
type Users struct {
	site   *Site
	share  shares.ShareID
	By     map[string]*User
	before map[servedKey]uint64
}

// User is the standing of one.
type User struct {
	Name   string
	Held   map[*Pool]shares.Units
	Served map[*Pool]uint64 // the number of the last grant to the user; 0: none that is known of
}

// Of finds or makes a user.
func (us *Users) Of(name string) *User {
	u := us.By[name]
	if u == nil {
		u = us.Stranger(name)
		us.By[name] = u
	}
	return u
}

// TurnIn is the place in a pool of jobs of the user of which the first stands there. No user: the leaf gives no turns.
func (u *User) TurnIn(p *Pool, first ready.Stand) ready.Turn {
	if u == nil {
		return ready.Turn{Stand: first}
	}
	return ready.Turn{Held: u.Held[p], Served: u.Served[p], Stand: first}
}

// Stranger is a user who is not known yet, and stays so.
func (us *Users) Stranger(name string) *User {
	u := &User{Name: name, Held: map[*Pool]shares.Units{}, Served: map[*Pool]uint64{}}
	for _, p := range us.site.Pools {
		if n := us.before[servedKey{us.share, name, p.Name}]; n > 0 {
			u.Served[p] = n
		}
	}
	return u
}

// Servings number the grants to users, so that who was served longest ago is known.
type Servings struct {
	Turning map[shares.ShareID]bool // shares of the site that give turns
	N       uint64
	all     []*Users             // under the present one
	before  map[servedKey]uint64 // under the site before
}

type servedKey struct {
	share shares.ShareID
	user  string
	pool  string
}

// servedLately bounds for how many grants it is remembered who was served, over changes of the site.
const servedLately = 1 << 20

// RememberServed takes the servings of the leaves that give turns over to the next version of the site.
func (sv *Servings) RememberServed() { sv.before, sv.all = sv.known(), nil }

// Begin makes the users of a leaf that gives turns.
func (sv *Servings) Begin(t *Site, share shares.ShareID) *Users {
	us := &Users{site: t, share: share, By: map[string]*User{}, before: sv.before}
	sv.all = append(sv.all, us)
	return us
}

// known is when users were last served, under this site or one before.
func (sv *Servings) known() map[servedKey]uint64 {
	kept := map[servedKey]uint64{}
	for _, us := range sv.all {
		for key, n := range sv.before {
			if key.share == us.share && us.By[key.user] == nil && n+servedLately > sv.N {
				kept[key] = n
			}
		}
		for name, u := range us.By {
			for p, n := range u.Served {
				if n+servedLately > sv.N {
					kept[servedKey{us.share, name, p.Name}] = n
				}
			}
		}
	}
	return kept
}

// Serve puts the user of a grant behind all others who hold as much.
func (sv *Servings) Serve(u *User, p *Pool) {
	if u != nil {
		sv.N++
		u.Served[p] = sv.N
	}
}

// Kept are the last grants to users, of the shares that give turns, by pool.
func (sv *Servings) Kept() map[string][]entry.Serving {
	by := map[string][]entry.Serving{}
	for key, n := range sv.known() {
		by[key.pool] = append(by[key.pool], entry.Serving{Share: key.share, User: key.user, Grant: n})
	}
	for _, list := range by {
		slices.SortFunc(list, func(a, b entry.Serving) int {
			return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.User, b.User))
		})
	}
	return by
}

// Remind sets when users were last served under the site before, and forgets those of this one: another is to be made.
func (sv *Servings) Remind(list []entry.Stood) {
	sv.before, sv.all = map[servedKey]uint64{}, nil
	for _, of := range list {
		for _, u := range of.Users {
			sv.before[servedKey{u.Share, u.User, of.Pool}] = u.Grant
		}
		if of.Rest != nil {
			sv.N = of.Rest.Servings
		}
	}
}

// Digest adds what users hold, and who was served last.
func (sv *Servings) Digest(add func(values ...any)) {
	add(sv.N, sv.Kept())
	for _, us := range sv.all {
		for _, name := range slices.Sorted(maps.Keys(us.By)) {
			for _, p := range us.site.Pools {
				if held := us.By[name].Held[p]; held != 0 {
					add(us.share, name, p.Name, held)
				}
			}
		}
	}
}
