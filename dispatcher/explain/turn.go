package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// share says which share comes first.
func (l *look) share(q shares.Queue, a machine.Answer, out *QueueGate) {
	tree, book := l.tree, l.pool(q.Pool).Book
	first, own := tree.Part(a.First.Leaf, l.leaf)
	side := func(leaf, node int, deficit float64) *Side {
		held := book.Held(node).Float()
		target := deficit/1000 + held
		return &Side{Leaf: tree.Nodes[leaf].Path, Share: tree.Nodes[node].Path, Deficit: deficit / 1000, Target: &target, Held: &held}
	}
	out.Gate = GateShare
	out.First, out.Own = side(a.First.Leaf, first, a.Deficit), side(l.leaf, own, a.Own)
	out.Reason = fmt.Sprintf("%s comes first: %s; %s: %s", out.First.Share, out.First.words(), out.Own.Share, out.Own.words())
	switch ahead := a.Deficit - a.Own; {
	case a.Floor != nil:
		out.Reason += "; " + floorWords(l.View.Site, *a.Floor)
	case ahead < -shares.Tolerance:
		out.Reason += "; units were reclaimed for the first"
	case ahead < shares.Tolerance:
		out.Reason += "; it was served later"
	}
	if a.First.Job == 0 {
		out.Reason += fmt.Sprintf("; jobs of %s are not made yet, pulls wait for them %s at the most", out.First.Leaf, l.View.Patience)
	}
}

// user says which user of the share comes first.
func (l *look) user(q shares.Queue, a machine.Answer, out *QueueGate) {
	p := l.pool(q.Pool)
	users := l.View.Users(l.subject.Share, q.Pool)
	parts := userParts(users, p.Book.Targets(roundOf(p.PoolView, 0))[l.leaf])
	served := map[string]uint64{}
	side := func(name string) *UserStanding {
		s := &UserStanding{User: name, Part: parts[name]}
		for _, u := range users {
			if u.Name == name {
				s.Held, served[name] = u.Held.Float(), u.Served
			}
		}
		return s
	}
	first, own := side(a.First.User), side(l.subject.User)
	out.Gate, out.FirstUser, out.OwnUser = GateUser, first, own
	out.Reason = fmt.Sprintf("%s; %s", first.words("comes first"), own.words("holds as much or more"))
	if first.Held == own.Held {
		why := "with an earlier job"
		if a.First.Served != served[l.subject.User] {
			why = "served longer ago"
		}
		out.Reason = fmt.Sprintf("%s, %s; %s", first.words("comes first"), why, own.words("holds as much"))
	}
}

// userParts are the targets of users in units, by name: those of a tree with one share a user, all of one weight, at the leaf's target.
func userParts(users []machine.UserView, target float64) map[string]float64 {
	slices.SortFunc(users, func(a, b machine.UserView) int { return cmp.Compare(a.Name, b.Name) })
	specs := make([]shares.Spec, len(users))
	for i := range users {
		specs[i] = shares.Spec{Name: strconv.Itoa(i), Plan: shares.DefaultPlan()}
	}
	tree, err := shares.Build(specs)
	if err != nil {
		return nil // there is no user
	}
	book := shares.NewPool(tree, "")
	for i, u := range users {
		book.Hold(i+1, u.Held)
		book.SetWant(i+1, u.Wants)
	}
	targets, parts := book.Targets(shares.Units(target)), make(map[string]float64, len(users))
	for i, u := range users {
		parts[u.Name] = targets[i+1] / 1000
	}
	return parts
}

// userPart is how much of what its leaf gets the user of the job gets, of parts by name; 1 where the share gives no turns.
func userPart(users []machine.UserView, parts map[string]float64, name string) float64 {
	if users == nil {
		return 1
	}
	sum := 0.0
	for _, part := range parts {
		sum += part
	}
	if sum == 0 {
		return 0
	}
	return parts[name] / sum
}

// priority says what of the share comes first, if anything does.
func (l *look) priority(a machine.Answer, e *Explanation, out *QueueGate) {
	p := e.Position
	out.Gate, out.Remote = GatePriority, a.Remote
	switch {
	case a.Turn == machine.TurnNone && (!l.subject.Piece || p.Before == 0 && !p.More):
		out.Gate, out.Remote, out.Reason = GateNone, false, "the next slot that pulls here"+l.near()+" gets it"
		if out.Pilots == 0 {
			out.Reason += ", but no pilot has pulled here in the last five minutes"
		}
	case a.Floor != nil:
		out.Reason = fmt.Sprintf("other jobs of %s come first here: %s", e.Share, floorWords(l.View.Site, *a.Floor))
	case a.Remote:
		out.Reason = fmt.Sprintf("other jobs of %s come first here: it prefers a queue near its inputs", e.Share)
	case a.Wider:
		out.Reason = fmt.Sprintf("wider jobs of %s go first at this queue", e.Share)
	default:
		out.Reason = fmt.Sprintf("%s of %s come before it", p.words(), e.Share)
	}
}

func (p *Position) words() string {
	s := fmt.Sprintf("%d ready jobs", p.Before)
	if p.Before == 1 {
		s = "1 ready job"
	}
	if p.More {
		s = "more than " + s
	}
	return s
}

func (s *Side) words() string {
	return fmt.Sprintf("%s (target %s, held %s)", fromTarget(s.Deficit), figure(*s.Target), figure(*s.Held))
}

func (u *UserStanding) words(what string) string {
	who := u.User
	if who == "" {
		who = "whoever's jobs were there before users had turns"
	}
	return fmt.Sprintf("%s %s (holds %s, part %s)", who, what, figure(u.Held), figure(u.Part))
}
