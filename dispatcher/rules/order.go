package rules

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Coming is how many jobs of a shape a share has to come.
type Coming struct {
	Share shares.ShareID
	Shape int32
	Jobs  int64
}

// mostOrdered bounds an Order: nodes of the tree, for each share in it.
const mostOrdered = 1 << 20

// Order says in which order jobs are to be made for shares that have some to come and none ready: that in which they come first at the pulls
// to come. Jobs to come that the machine does not know of (Expected) count as well.
func Order(v machine.View, coming []Coming) (order []shares.ShareID) {
	tree, cold := v.Site.Tree, unmade(v, coming)
	var lines [][]int
	longest := 0
	for _, name := range pools(v.Site) {
		var of []shares.Candidate
		for _, g := range cold {
			if power := g.power(v.Site, name); power > 0 {
				of = append(of, shares.Candidate{Leaf: g.leaf, Units: shares.Units(int64(g.need.Cores) * power)})
			}
		}
		if len(of) == 0 {
			continue
		}
		leaves := []int{of[0].Leaf}
		if p, ok := v.Pool(name); len(of) > 1 && ok {
			full := p.Capacity
			if full != shares.Unlimited {
				full += p.Offline
			}
			leaves = p.Book.Order(full, of, mostOrdered/len(tree.Nodes))
		}
		lines, longest = append(lines, leaves), max(longest, len(leaves))
	}
	for i := range longest { // no pool's pulls wait until all of another pool is made
		for _, leaves := range lines {
			if i < len(leaves) {
				order = append(order, tree.Nodes[leaves[i]].ID)
			}
		}
	}
	return order
}

// cold is a leaf's jobs that the same slots run, all of which are still to be made.
type cold struct {
	leaf          int
	need          job.Requirements
	coming, ready int64
}

// unmade finds the leaves and kinds of jobs of which none is ready and some are to come.
func unmade(v machine.View, coming []Coming) (list []*cold) {
	type key struct {
		leaf    int
		outline string
	}
	all, expected := map[key]*cold{}, map[[2]int32]bool{}
	of := func(leaf int, shape int32) *cold {
		need, known := v.Shape(shape)
		if leaf < 0 || !known {
			return &cold{}
		}
		k := key{leaf, outline(need)}
		if all[k] == nil {
			all[k] = &cold{leaf: leaf, need: need}
			list = append(list, all[k])
		}
		return all[k]
	}
	for w := range v.Ready() {
		if w.Ready+w.Expected > 0 {
			c := of(w.Leaf, w.Shape)
			c.ready, c.coming = c.ready+w.Ready, c.coming+w.Expected
			expected[[2]int32{int32(w.Share), w.Shape}] = w.Expected > 0
		}
	}
	for _, c := range coming {
		if leaf, ok := v.Site.Tree.ByID(c.Share); ok && v.Site.Tree.Leaf(leaf) && !expected[[2]int32{int32(c.Share), c.Shape}] {
			of(leaf, c.Shape).coming += c.Jobs
		}
	}
	n := 0
	for _, c := range list {
		if c.ready == 0 && c.coming > 0 {
			list[n] = c
			n++
		}
	}
	list = list[:n]
	slices.SortFunc(list, func(a, b *cold) int {
		return cmp.Or(cmp.Compare(a.leaf, b.leaf), cmp.Compare(outline(a.need), outline(b.need)))
	})
	return list
}

// outline is what says which slots may run jobs, in one way to write it.
func outline(need job.Requirements) string {
	need.Resources, need.SharingID, need.User = nil, "", ""
	text, _ := json.Marshal(need) // plain values
	return string(text)
}

// power is that of the strongest queue of a pool that may run the jobs; 0: none may.
func (c *cold) power(site shares.Version, pool string) (most int64) {
	for _, q := range site.Queues {
		if q.Pool == pool && job.RunsAt(c.need, q) && q.Runs(site.Tree.Nodes[c.leaf].Path) {
			most = max(most, q.CorePowerMilli)
		}
	}
	return most
}

// endRate is how many attempts of a share ended at a queue.
type endRate struct {
	Queue shares.QueueID
	Share shares.ShareID
	N     int64
	Units int64
}

// EndsWithin is the time of which EndRates are.
const EndsWithin = 5 * time.Minute

// EndRates returns how fast attempts ended lately, by queue and share, as far as they are folded.
func EndRates(ctx context.Context, db querier) (rates []explain.EndRate, err error) {
	rows, err := collect[endRate](ctx, db, "ends", args{"within_s": EndsWithin.Seconds()})
	if err != nil {
		return nil, fmt.Errorf("rates of ends: %w", err)
	}
	for _, e := range rows {
		rates = append(rates, explain.EndRate{Queue: e.Queue, Share: e.Share, PerSecond: float64(e.N) / EndsWithin.Seconds(),
			UnitsPerS: float64(e.Units) / EndsWithin.Seconds()})
	}
	return rates, nil
}
