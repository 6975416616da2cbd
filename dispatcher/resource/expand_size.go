package resource

import (
	"fmt"
	"math"
)

// Size is how many jobs a layout has and how many claims it makes at most (some may have no job that holds them),
// as §5's table counts; claims made outside do not count. Sums too large for a number are math.MaxInt64.
func (l Layout) Size() (jobs, claims int64) {
	made := func(entries []Sharing, all, each int64) {
		for _, s := range entries {
			switch {
			case s.Claim != "":
			case s.Scope == All:
				claims = plus(claims, all)
			default:
				claims = plus(claims, each)
			}
		}
	}
	task := int64(l.Replicas)
	made(l.Sharing, 1, task)
	role := func(r Role, instances int64) {
		n := times(instances, int64(r.Count))
		jobs = plus(jobs, n)
		made(r.Sharing, instances, n)
	}
	for _, g := range l.Groups {
		groups := times(task, int64(g.Replicas))
		made(g.Sharing, task, groups)
		for _, m := range g.Members {
			role(m, groups)
		}
	}
	for _, r := range l.Roles {
		role(r, task)
	}
	return jobs, claims
}

// crowds goes through all sharing entries, in the order of the file, with the number of jobs that share each of the claims
// that the entry makes; of a claim made outside, those that the entry adds.
func (l Layout) crowds(visit func(field string, s Sharing, jobs int64)) {
	inGroup := func(g Group, s Sharing) (n int64) { // jobs of a replica of the group
		for _, m := range g.Members {
			if s.covers(m.Name) {
				n = plus(n, int64(m.Count))
			}
		}
		return n
	}
	each := func(s Sharing, replicas int, n int64) int64 {
		if s.Scope == PerReplica {
			return n
		}
		return times(n, int64(replicas))
	}
	for i, s := range l.Sharing {
		n := int64(0)
		for _, g := range l.Groups {
			if s.covers(g.Name) {
				n = plus(n, times(int64(g.Replicas), inGroup(g, Sharing{})))
			}
		}
		visit(fmt.Sprintf("sharing[%d]", i), s, each(s, l.Replicas, plus(n, inGroup(Group{Members: l.Roles}, s))))
	}
	for i, g := range l.Groups {
		for j, s := range g.Sharing {
			visit(fmt.Sprintf("groups[%d].sharing[%d]", i, j), s, each(s, g.Replicas, inGroup(g, s)))
		}
		for j, m := range g.Members {
			for k, s := range m.Sharing {
				visit(fmt.Sprintf("groups[%d].members[%d].sharing[%d]", i, j, k), s, each(s, m.Count, 1))
			}
		}
	}
	for i, r := range l.Roles {
		for j, s := range r.Sharing {
			visit(fmt.Sprintf("roles[%d].sharing[%d]", i, j), s, each(s, r.Count, 1))
		}
	}
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
