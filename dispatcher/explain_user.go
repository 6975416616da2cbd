package dispatcher

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/divvyhq/divvy/shares"
)

// otherUser says whose turn it is, if not that of the job's user. Who has just come to the share, or whose jobs do not have the shapes
// of users yet, may be nobody.
func (g *gates) otherUser(first *user, q *queue, out *QueueGate) bool {
	us := g.s.leaves[g.leaf].users
	if us == nil || first == nil || first.name == g.shape.full.User {
		return false
	}
	parts := g.s.userParts(us, q.pool, q.pool.book.Targets(g.s.round(q.pool, 0))[g.leaf])
	side := func(u *user) *UserStanding {
		return &UserStanding{User: u.name, Held: u.held[q.pool].Float(), Part: parts[u.name]}
	}
	out.Gate, out.FirstUser, out.OwnUser = GateUser, side(first), side(us.of(g.shape.full.User))
	out.Reason = fmt.Sprintf("%s; %s", userStandingWords(out.FirstUser, "comes first"), userStandingWords(out.OwnUser, "holds as much or more"))
	if out.FirstUser.Held == out.OwnUser.Held {
		why := "with an earlier job"
		if first.served[q.pool] != us.of(g.shape.full.User).served[q.pool] {
			why = "served longer ago"
		}
		out.Reason = fmt.Sprintf("%s, %s; %s", userStandingWords(out.FirstUser, "comes first"), why, userStandingWords(out.OwnUser, "holds as much"))
	}
	return true
}

func userStandingWords(u *UserStanding, what string) string {
	who := u.User
	if who == "" {
		who = "whoever's jobs were there before users had turns"
	}
	return fmt.Sprintf("%s %s (holds %s, part %s)", who, what, figure(u.Held), figure(u.Part))
}

// userParts are the targets of users in units, by name: those of a tree with one share a user, all of one weight, at the leaf's target.
func (s *state) userParts(us *users, p *pool, target float64) map[string]float64 {
	names := slices.Sorted(maps.Keys(us.by))
	specs := make([]shares.Spec, len(names))
	for i := range names {
		specs[i] = shares.Spec{Name: strconv.Itoa(i), Plan: shares.DefaultPlan()}
	}
	tree, err := shares.Build(specs)
	if err != nil {
		return nil // there is no user
	}
	book := shares.NewPool(tree, "")
	for i, name := range names {
		u := us.by[name]
		book.Hold(i+1, u.held[p])
		book.SetWant(i+1, u.wants(p))
	}
	targets, parts := book.Targets(shares.Units(target)), make(map[string]float64, len(names))
	for i, name := range names {
		parts[name] = targets[i+1] / 1000
	}
	return parts
}

// wants are the units that the ready jobs of a user could use in a pool.
func (u *user) wants(p *pool) (units shares.Units) {
	for _, w := range u.windows {
		units += shares.Units(max(0, w.ready)*int64(w.shape.need.Cores)) * w.shape.power[p.name]
	}
	return units
}

// userPart is how much of what its leaf gets the user of a shape gets, at R = r.
func (s *state) userPart(leaf int, sh *shape, p *pool, r shares.Units) float64 {
	us := s.leaves[leaf].users
	if us == nil {
		return 1
	}
	parts, sum := s.userParts(us, p, p.book.Targets(r)[leaf]), 0.0
	for _, part := range parts {
		sum += part
	}
	if sum == 0 {
		return 0
	}
	return parts[sh.full.User] / sum
}
