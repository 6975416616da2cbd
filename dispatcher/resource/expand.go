package resource

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Expansion is what a layout comes to. The order of claims and jobs is that of a walk through the layout: what two
// expansions of a layout that was scaled in between have in common stands in the same order in both, under the same keys.
type Expansion struct {
	Claims []ClaimKey // those made outside first; each is held by some job
	Jobs   []Job
}

// Job is one job of a layout and the claims that it holds while it runs.
type Job struct {
	JobKey
	Claims []int32 // indexes into Expansion.Claims, ascending; several jobs may have the same slice
}

// Expand makes claims and jobs of a layout that Validate has passed. Claims that no job would hold are not made.
func Expand(l Layout) Expansion {
	jobs, claims := l.Size()
	x := expander{Expansion: Expansion{Claims: make([]ClaimKey, 0, claims), Jobs: make([]Job, 0, jobs)}, outside: map[string]int32{}}
	l.crowds(func(c sharedBy) {
		if _, known := x.outside[c.Claim]; c.Claim != "" && !known {
			x.outside[c.Claim] = x.add(ClaimKey{Template: c.Claim, External: true, Task: every, Replica: every, Index: every})
		}
	})
	x.task(l)
	return x.Expansion.compact()
}

// Sharers counts the jobs that hold each claim when all of them run at once.
func (e Expansion) Sharers() []int {
	n := make([]int, len(e.Claims))
	for _, j := range e.Jobs {
		for _, c := range j.Claims {
			n[c]++
		}
	}
	return n
}

// expander walks through a layout.
type expander struct {
	Expansion
	outside map[string]int32
}

// held is a claim on the way down, and the entry that says who holds it.
type held struct {
	claim int32
	entry Sharing
}

func (x *expander) add(key ClaimKey) int32 {
	x.Claims = append(x.Claims, key)
	return int32(len(x.Claims) - 1)
}

// open makes the claims of the entries with this scope, at the place that key says.
func (x *expander) open(entries []Sharing, scope Scope, key ClaimKey) (opened []held) {
	for _, s := range entries {
		key.Template, key.Only = s.Template, s.filter()
		switch {
		case s.Claim != "" && scope == All:
			opened = append(opened, held{x.outside[s.Claim], s})
		case s.Claim == "" && s.Scope == scope:
			opened = append(opened, held{x.add(key), s})
		}
	}
	return opened
}

func (x *expander) task(l Layout) {
	at := ClaimKey{Task: every, Replica: every, Index: every}
	all := x.open(l.Sharing, All, at)
	for at.Task = 0; at.Task < int32(l.Replicas); at.Task++ {
		own := slices.Concat(all, x.open(l.Sharing, PerReplica, at))
		for _, g := range l.Groups {
			x.group(g, at, of(own, g.Name))
		}
		for _, r := range l.Roles {
			x.role(r, at, of(own, r.Name))
		}
	}
}

func (x *expander) group(g Group, at ClaimKey, above []int32) {
	at.Group = g.Name
	all := x.open(g.Sharing, All, at)
	for at.Replica = 0; at.Replica < int32(g.Replicas); at.Replica++ {
		own := slices.Concat(all, x.open(g.Sharing, PerReplica, at))
		for _, m := range g.Members {
			x.role(m, at, slices.Concat(above, of(own, m.Name)))
		}
	}
}

func (x *expander) role(r Role, at ClaimKey, above []int32) {
	at.Role = r.Name
	above = slices.Concat(above, of(x.open(r.Sharing, All, at), ""))
	slices.Sort(above) // claims made outside may come from any level, and twice
	above = slices.Clip(slices.Compact(above))
	for at.Index = 0; at.Index < int32(r.Count); at.Index++ {
		claims := append(above, of(x.open(r.Sharing, PerReplica, at), "")...)
		x.Jobs = append(x.Jobs, Job{JobKey{Task: at.Task, Group: at.Group, Replica: at.Replica, Role: at.Role, Index: at.Index}, claims})
	}
}

// of are the claims that those named so hold.
func of(claims []held, name string) (indexes []int32) {
	for _, h := range claims {
		if name == "" || h.entry.covers(name) {
			indexes = append(indexes, h.claim)
		}
	}
	return indexes
}

// compact leaves out claims without holders.
func (e Expansion) compact() Expansion {
	sharers := e.Sharers()
	if !slices.Contains(sharers, 0) {
		return e
	}
	place := make([]int32, len(e.Claims))
	kept := make([]ClaimKey, 0, len(e.Claims))
	for i, n := range sharers {
		place[i] = int32(len(kept))
		if n > 0 {
			kept = append(kept, e.Claims[i])
		}
	}
	for i, j := range e.Jobs { // into slices of their own: jobs share the old ones
		claims := make([]int32, len(j.Claims))
		for k, c := range j.Claims {
			claims[k] = place[c]
		}
		e.Jobs[i].Claims = claims
	}
	e.Claims = kept
	return e
}

// Change is what scaling comes to.
type Change struct {
	To      Expansion  // all that there is afterwards
	Claims  []int32    // claims of To that are new; those that drain never come back, their keys may
	Jobs    []int32    // jobs of To that are new: they hold new claims and old ones
	Drains  []ClaimKey // claims that nobody of To holds: the scaled-away event
	Leaving []JobKey   // jobs that are not wanted any more: ready ones are cancelled, running ones go on to their end
}

// ErrNotScaled says that two layouts differ by more than numbers, so that the keys of one mean nothing in the other.
var ErrNotScaled = errors.New("more than replicas and counts differ")

// Scale says what becomes of a task when the numbers of its layout change. What both have keeps its keys, its order and,
// as nothing happens to it, its state.
func Scale(from, to Layout) (Change, error) {
	if !reflect.DeepEqual(from.unsized(), to.unsized()) {
		return Change{}, ErrNotScaled
	}
	before, after := Expand(from), Expand(to)
	c := Change{To: after}
	c.Claims, c.Drains = compare(before.Claims, after.Claims, func(k ClaimKey) ClaimKey { return k })
	var left []Job
	c.Jobs, left = compare(before.Jobs, after.Jobs, func(j Job) JobKey { return j.JobKey })
	for _, j := range left {
		c.Leaving = append(c.Leaving, j.JobKey)
	}
	c.Drains = slices.DeleteFunc(c.Drains, func(k ClaimKey) bool { return k.External }) // not ours to end
	c.Claims = slices.DeleteFunc(c.Claims, func(i int32) bool { return after.Claims[i].External })
	return c, nil
}

// compare gives what only after has, by index, and what only before has.
func compare[T any, K comparable](before, after []T, key func(T) K) (added []int32, gone []T) {
	was := make(map[K]bool, len(before))
	for _, v := range before {
		was[key(v)] = true
	}
	for i, v := range after {
		if was[key(v)] {
			was[key(v)] = false // stays
		} else {
			added = append(added, int32(i))
		}
	}
	for _, v := range before {
		if was[key(v)] {
			gone = append(gone, v)
		}
	}
	return added, gone
}

// unsized is the layout with all numbers left out.
func (l Layout) unsized() Layout {
	l.Replicas, l.Groups = 0, slices.Clone(l.Groups)
	for i := range l.Groups {
		l.Groups[i].Replicas, l.Groups[i].Members = 0, uncounted(l.Groups[i].Members)
	}
	l.Roles = uncounted(l.Roles)
	return l
}

func uncounted(roles []Role) []Role {
	roles = slices.Clone(roles)
	for i := range roles {
		roles[i].Count = 0
	}
	return roles
}

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
