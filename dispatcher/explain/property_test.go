package explain

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// drawTree draws some shares with limits of all kinds.
func drawTree(t *rapid.T) (specs []shares.Spec) {
	oneIn := func(n int) bool { return rapid.IntRange(1, n).Draw(t, "dice") == n }
	spec := func(name string) shares.Spec {
		s := node(name, float64(rapid.IntRange(1, 4).Draw(t, "weight")))
		amount := func(most int) shares.Units { return shares.Units(rapid.IntRange(0, most).Draw(t, "units")) * 1000 }
		if oneIn(4) {
			s.Plan.Max = shares.Of(amount(8))
		}
		if oneIn(4) {
			s.Plan.Owned = shares.Of(amount(4))
		}
		if oneIn(5) {
			u := amount(3)
			s.Plan.Lend.Any = &u
		}
		if oneIn(5) {
			u := amount(3)
			s.Plan.Borrow.Any = &u
		}
		if oneIn(3) {
			s.Plan.Within = shares.FairUser
		}
		return s
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "top") {
		s := spec(fmt.Sprintf("s%d", i))
		for k := range rapid.IntRange(0, 2).Draw(t, "below") {
			s.Children = append(s.Children, spec(fmt.Sprintf("t%d", k)))
		}
		specs = append(specs, s)
	}
	return specs
}

// drawQueues draws three queues in two pools.
func drawQueues(t *rapid.T) (list []shares.Queue) {
	for i, pool := range []string{"main", "main", "side"} {
		q := slots(fmt.Sprintf("q%d", i), rapid.IntRange(1, 8).Draw(t, "slots"))
		q.Pool, q.Cores = pool, rapid.SampledFrom([]int{0, 2, 4}).Draw(t, "cores")
		q.CorePowerMilli = rapid.SampledFrom([]int64{1000, 2000}).Draw(t, "power")
		q.State = rapid.SampledFrom([]shares.QueueState{shares.Online, shares.Online, shares.Online, shares.Drain}).Draw(t, "state")
		q.Prefer = rapid.SampledFrom([]string{"", "", "wide"}).Draw(t, "prefer")
		if rapid.IntRange(0, 4).Draw(t, "deny") == 0 {
			q.DenyShares = []string{"s0"}
		}
		list = append(list, q)
	}
	return list
}

// A job with gate none gets the next slot as large as its queue, one with another gate does not; all figures add up, and asking
// leaves the machine as it was.
func TestGatesAreDecisions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		specs := drawTree(rt)
		if _, err := shares.Build(specs); err != nil {
			rt.Skip("not a tree: ", err)
		}
		p := newPlant(t, specs, drawQueues(rt)...)
		licences(int64(rapid.IntRange(1, 4).Draw(rt, "licences")))(p)
		var all []Subject
		leaves := p.site.Tree.Leaves()
		enqueue := func(t *rapid.T) {
			b := batch{share: p.site.Tree.Nodes[leaves[rapid.IntRange(0, len(leaves)-1).Draw(t, "leaf")]].Path, n: rapid.IntRange(1, 4).Draw(t, "n"),
				cores: rapid.IntRange(1, 3).Draw(t, "cores"), priority: rapid.IntRange(0, 2).Draw(t, "priority"), user: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user")}
			if rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
				b.need = lic(int64(rapid.IntRange(1, 2).Draw(t, "lic")))
			}
			all = append(all, p.enqueue(b)...)
		}
		enqueue(rt)
		ask := func(t *rapid.T) {
			if len(all) == 0 {
				return
			}
			s := rapid.SampledFrom(all).Draw(t, "job")
			before := p.m.Digest()
			m := p.moment()
			e := m.Job(s)
			m.checkFigures(t)
			if p.m.Digest() != before {
				t.Fatal("asking has changed the state")
			}
			q := p.site.Queues[rapid.IntRange(0, 2).Draw(t, "queue")]
			cores := q.Cores
			if need, _ := m.View.Shape(s.Shape); cores == 0 {
				cores = need.Cores
			}
			g := p.decide(q.ID, job.Slot{Cores: cores})
			if gate := e.Queues[q.ID-1].Gate; (gate == GateNone) != (g.Job == s.Job) {
				t.Fatalf("job %d at %s: %+v, the slot got %d", s.Job, q.Name, e.Queues[q.ID-1], g.Job)
			}
			all = slices.DeleteFunc(all, func(s Subject) bool { return s.Job == g.Job })
		}
		seconds := 0
		rt.Repeat(map[string]func(*rapid.T){"enqueue": enqueue, "enqueue more": enqueue, "ask": ask, "ask again": ask, "ask more": ask,
			"end": func(t *rapid.T) {
				for _, l := range slices.SortedFunc(p.m.Leases(), byJob) {
					p.apply(entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Finished, Next: entry.Over})
					return
				}
			},
			"tick": func(t *rapid.T) {
				seconds += rapid.IntRange(1, 40).Draw(t, "seconds")
				p.apply(entry.Tick{Now: start.Add(time.Duration(seconds) * time.Second)})
			}})
	})
}

// checkFigures compares figures with each other: those of children with their parents', of queues with pools', of counts with both.
func (m Moment) checkFigures(t *rapid.T) {
	held, ready := map[string]int64{}, map[string]int64{}
	for _, c := range m.Counts() {
		if c.State == "leased" {
			held[c.Pools[0]] += c.N
			continue
		}
		for _, pool := range c.Pools {
			ready[pool] += c.N
		}
	}
	atQueues := map[string]int64{}
	for _, q := range m.Queues() {
		atQueues[q.Pool] += q.HeldJobs
	}
	nodes := m.View.Site.Tree.Nodes
	for _, p := range m.Outlook().Pools {
		heldJobs, readyJobs, sums := int64(0), int64(0), make([]float64, len(nodes))
		for i, s := range p.Shares {
			if s.Depth == 1 {
				heldJobs, readyJobs = heldJobs+s.HeldJobs, readyJobs+s.Ready
			}
			sums[nodes[i+1].Parent] += s.Held
			if d := s.Target - s.Held - s.Deficit; d > 1e-9 || d < -1e-9 {
				t.Fatalf("%+v", s)
			}
		}
		for i, s := range p.Shares {
			if !s.Leaf && sums[i+1] != s.Held {
				t.Fatalf("%s holds %v, its children %v", s.Path, s.Held, sums[i+1])
			}
		}
		if sums[0] != p.Held || heldJobs != held[p.Pool] || heldJobs != atQueues[p.Pool] || readyJobs != ready[p.Pool] {
			t.Fatalf("%+v: counts %v and %v, queues %v", p, held, ready, atQueues)
		}
	}
}
