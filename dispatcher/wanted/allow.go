package wanted

import (
	"cmp"
	"maps"
	"slices"
)

// allowed is a kind whose Jobs are those that its share and resources allow, of all that it has.
type allowed struct {
	Kind
	all int64
}

// allow bounds the jobs of kinds by the budgets of their shares and the free units of their resources, in an order that does not depend
// on that of the input.
func (in *Input) allow(rank []int) []allowed {
	list := make([]allowed, len(in.Kinds))
	for i, k := range in.Kinds {
		list[i] = allowed{k, k.Jobs}
	}
	slices.SortFunc(list, func(a, b allowed) int {
		return cmp.Or(cmp.Compare(a.Leaf, b.Leaf), cmp.Compare(rank[a.Place], rank[b.Place]), compareSizes(a.Size, b.Size), cmp.Compare(a.all, b.all))
	})
	budgets := make([]map[int]int64, len(in.Leaves))
	for i, l := range in.Leaves {
		budgets[i] = maps.Clone(l.Budget)
	}
	supplies := slices.Clone(in.Supplies)
	for i := range list {
		k := &list[i]
		for _, u := range k.Units {
			k.Jobs = min(k.Jobs, max(0, supplies[u.Supply])/max(1, u.N))
		}
		k.Jobs = in.charge(k.Kind, budgets[k.Leaf])
		for _, u := range k.Units {
			supplies[u.Supply] -= k.Jobs * u.N
		}
	}
	return list
}

// charge takes the units of a kind from the budgets of its share, in all pools of its queues, and returns how many of its jobs they
// cover. As the solver does, it counts the highest core power of these queues in each pool.
func (in *Input) charge(k Kind, budget map[int]int64) (jobs int64) {
	powers := map[int]int64{}
	for _, q := range in.Places[k.Place] {
		p := in.Queues[q].Pool
		powers[p] = max(powers[p], in.Queues[q].Power)
	}
	for _, pool := range slices.Sorted(maps.Keys(powers)) {
		units, bounded := budget[pool]
		each := powers[pool] * int64(max(1, k.Size.Cores))
		if !bounded || each == 0 {
			return k.Jobs
		}
		// Rounded up: a target need not be a multiple of a job.
		n := min(k.Jobs-jobs, (max(0, units)+each-1)/each)
		budget[pool] = units - n*each
		jobs += n
	}
	return jobs
}
