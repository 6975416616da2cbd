package rules

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pg"
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

// Order says in which order jobs are to be made for shares that have some to come and none ready: that in which they come first
// at the pulls to come. Jobs to come that the machine does not know of (Expected) count as well.
func Order(v machine.View, coming []Coming) (order []shares.ShareID) {
	tree, kinds := v.Site.Tree, kindsOf(v, coming)
	var lines [][]int
	longest := 0
	for _, name := range pools(v.Site) {
		p, _ := v.Pool(name)
		var of []shares.Candidate
		for _, g := range kinds {
			power, reach := g.reach(v.Site.Queues, name)
			job := shares.Units(int64(g.need.Cores) * power)
			if g.unknown > 0 { // what the machine knows is wanted already
				want := p.Book.Want(g.leaf)
				p.Book.SetWant(g.leaf, max(want, min(want+shares.Units(g.unknown)*job, reach-p.Book.Held(g.leaf))))
			}
			if job > 0 && g.ready == 0 && g.coming > 0 {
				of = append(of, shares.Candidate{Leaf: g.leaf, Units: job})
			}
		}
		if len(of) > 0 {
			full := p.Capacity
			if full != shares.Unlimited {
				full += p.Offline
			}
			lines = append(lines, p.Book.Order(full, of, mostOrdered/len(tree.Nodes)))
			longest = max(longest, len(lines[len(lines)-1]))
		}
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

// kind is a leaf's jobs that the same slots run.
type kind struct {
	leaf          int
	outline       string
	need          job.Requirements
	runs          []bool // queues that may run them
	coming, ready int64
	unknown       int64 // of coming, those that the machine does not know of
}

// kindsOf lists the kinds of jobs that are to come, as long as none of a kind is ready or the machine does not know that they are
// to come.
func kindsOf(v machine.View, coming []Coming) (list []*kind) {
	type key struct {
		leaf    int
		outline string
	}
	all, expected := map[key]*kind{}, map[[2]int32]bool{}
	of := func(leaf int, shape int32) *kind {
		need, known := v.Shape(shape)
		if leaf < 0 || !known {
			return &kind{}
		}
		at := key{leaf, outline(need)}
		if all[at] == nil {
			all[at] = &kind{leaf: leaf, outline: at.outline, need: need}
		}
		return all[at]
	}
	for w := range v.Ready() {
		if w.Ready+w.Expected > 0 {
			k := of(w.Leaf, w.Shape)
			k.ready, k.coming = k.ready+w.Ready, k.coming+w.Expected
			pair := [2]int32{int32(w.Share), w.Shape}
			expected[pair] = expected[pair] || w.Expected > 0
		}
	}
	for _, c := range coming {
		if leaf, ok := v.Site.Tree.ByID(c.Share); ok && v.Site.Tree.Leaf(leaf) && !expected[[2]int32{int32(c.Share), c.Shape}] {
			k := of(leaf, c.Shape)
			k.coming, k.unknown = k.coming+c.Jobs, k.unknown+c.Jobs
		}
	}
	for _, k := range all {
		if k.unknown == 0 && (k.ready > 0 || k.coming == 0) {
			continue
		}
		for _, q := range v.Site.Queues {
			k.runs = append(k.runs, job.RunsAt(k.need, q) && q.Runs(v.Site.Tree.Nodes[k.leaf].Path))
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *kind) int { return cmp.Or(cmp.Compare(a.leaf, b.leaf), cmp.Compare(a.outline, b.outline)) })
	return list
}

// outline is what says which slots may run jobs, in one way to write it.
func outline(need job.Requirements) string {
	need.Resources, need.SharingID, need.User = nil, "", ""
	text, _ := json.Marshal(need) // plain values
	return string(text)
}

// reach is the power of the strongest queue of a pool that may run the jobs (0: none may), and the units that all of these have.
func (k *kind) reach(queues []shares.Queue, pool string) (power int64, units shares.Units) {
	for i, q := range queues {
		if q.Pool != pool || !k.runs[i] {
			continue
		}
		power = max(power, q.CorePowerMilli)
		if has, bounded := q.Capacity(); bounded && units != shares.Unlimited {
			units += has
		} else {
			units = shares.Unlimited
		}
	}
	return power, units
}

// EndsWithin is the time of which EndRates are.
const EndsWithin = 5 * time.Minute

// EndRates returns how fast attempts ended lately, by queue and share, as far as they are folded.
func EndRates(ctx context.Context, db pg.Querier) ([]explain.EndRate, error) {
	rates, err := pg.Collect[explain.EndRate](ctx, db, query["ends"], args{"within_s": EndsWithin.Seconds()})
	return rates, pg.Named("rates of ends", err)
}
