package resource

import "slices"

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

// compact leaves out claims that nobody holds.
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
