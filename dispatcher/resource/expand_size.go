package resource

import (
	"fmt"
	"math"
)

// Size is how many jobs a layout has and how many claims it makes at most (some may have no job that holds them),
// as §5's table counts; claims made outside do not count. Sums too large for a number are math.MaxInt64.
func (l Layout) Size() (jobs, claims int64) {
	l.crowds(func(c sharedBy) {
		if c.Claim == "" {
			claims = plus(claims, c.claims)
		}
	})
	all := Sharing{}
	each := all.jobs(l.Roles)
	for _, g := range l.Groups {
		each = plus(each, times(int64(g.Replicas), all.jobs(g.Members)))
	}
	return times(int64(l.Replicas), each), claims
}

// sharedBy is a sharing entry with the claims that it makes, and how many jobs share each of them; of a claim made outside, those that the
// entry adds.
type sharedBy struct {
	Sharing
	field        string // groups[0].members[1].sharing[0]
	claims, each int64
}

// jobs are those of some roles that hold a claim of the entry.
func (s Sharing) jobs(roles []Role) (n int64) {
	for _, r := range roles {
		if s.covers(r.Name) {
			n = plus(n, int64(r.Count))
		}
	}
	return n
}

// crowds goes through all sharing entries, in the order of the file.
func (l Layout) crowds(visit func(sharedBy)) {
	level := func(field string, entries []Sharing, instances, replicas int64, jobs func(Sharing) int64) {
		for i, s := range entries {
			c := sharedBy{s, fmt.Sprintf("%ssharing[%d]", field, i), instances, jobs(s)}
			if s.Scope == PerReplica {
				c.claims = times(instances, replicas)
			} else {
				c.each = times(c.each, replicas)
			}
			visit(c)
		}
	}
	roles := func(field string, list []Role, instances int64) {
		for i, r := range list {
			level(fmt.Sprintf("%s[%d].", field, i), r.Sharing, instances, int64(r.Count), func(Sharing) int64 { return 1 })
		}
	}
	task := int64(l.Replicas)
	level("", l.Sharing, 1, task, func(s Sharing) int64 {
		n := s.jobs(l.Roles)
		for _, g := range l.Groups {
			if s.covers(g.Name) {
				n = plus(n, times(int64(g.Replicas), Sharing{}.jobs(g.Members)))
			}
		}
		return n
	})
	for i, g := range l.Groups {
		field := fmt.Sprintf("groups[%d].", i)
		level(field, g.Sharing, task, int64(g.Replicas), func(s Sharing) int64 { return s.jobs(g.Members) })
		roles(field+"members", g.Members, times(task, int64(g.Replicas)))
	}
	roles("roles", l.Roles, task)
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
