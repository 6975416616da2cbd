package resource

import "math"

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
