package resource

import (
	"errors"
	"reflect"
	"slices"
)

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
