package recount

import (
	"context"
	"fmt"
	"math"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Holding is what a share holds at a queue, recounted.
type Holding struct {
	ShareID shares.ShareID
	QueueID shares.QueueID
	Jobs    int64
	Cores   int64
	Units   shares.Units
}

// Holdings recounts what is held, from the leases alone.
func Holdings(ctx context.Context, db pg.Querier) ([]Holding, error) {
	return pg.Collect[Holding](ctx, db, query["held"])
}

// OverLimits names every hard limit of the site under which more is held than it allows: slots of a queue, capacity
// of a pool, max of a share.
func OverLimits(v shares.Version, held []Holding) (wrong []error) {
	over := func(what string, has, cap shares.Units) {
		if has > cap {
			wrong = append(wrong, fmt.Errorf("%s holds %s, over its limit of %s", what, has, cap))
		}
	}
	atQueue, inPool := map[shares.QueueID]shares.Units{}, map[string]shares.Units{}
	below := make([]map[string]shares.Units, len(v.Tree.Nodes)) // by node, and pool
	byID := map[shares.QueueID]shares.Queue{}
	for _, q := range v.Queues {
		byID[q.ID] = q
	}
	for _, h := range held {
		q, ok := byID[h.QueueID]
		if !ok {
			continue // its queue has gone: it runs out outside of all limits
		}
		atQueue[q.ID] += shares.Units(h.Cores) * 1000
		if q.State == shares.Online {
			inPool[q.Pool] += h.Units
		}
		for i, ok := v.Tree.ByID(h.ShareID); ok && i >= 0; i = v.Tree.Nodes[i].Parent {
			if below[i] == nil {
				below[i] = map[string]shares.Units{}
			}
			below[i][q.Pool] += h.Units
		}
	}
	for _, q := range v.Queues {
		if q.Slots != nil {
			over("queue "+q.Name, atQueue[q.ID], shares.Units(*q.Slots)*1000)
		}
	}
	for pool, has := range inPool {
		if c := capacityOf(v, pool); c != shares.Unlimited {
			over("pool "+pool, has, c)
		}
	}
	for i, pools := range below {
		for pool, has := range pools {
			if most, ok := v.Tree.Nodes[i].Plan.Max.In(pool); ok {
				over("share "+v.Tree.Nodes[i].Path, has, most)
			}
		}
	}
	return wrong
}

// capacityOf is C of a pool: the slots of its online queues.
func capacityOf(v shares.Version, pool string) (c shares.Units) {
	for _, q := range v.Queues {
		if q.Pool != pool || q.State != shares.Online {
			continue
		}
		u, limited := q.Capacity()
		if !limited {
			return shares.Unlimited
		}
		c += u
	}
	return c
}

// Node is how far a node stands from what it should hold, in jobs of one unit.
type Node struct {
	Path         string
	Held, Target float64
}

// Off is how far.
func (n Node) Off() float64 { return math.Abs(n.Held - n.Target) }

// Stand is what the shares of a pool hold and could use beyond that, at one moment.
type Stand struct {
	Site  shares.Version
	Held  []Holding
	pool  string
	wants map[shares.ShareID]shares.Units // units
}

// Used is what is held in all.
func (s Stand) Used() (u shares.Units) {
	for _, h := range s.Held {
		u += h.Units
	}
	return u
}

// Nodes says how far every node stands from its target where so many units are to be had, in the order of the tree.
func (s Stand) Nodes(units shares.Units) []Node {
	v, pool := s.Site, s.pool
	at := map[shares.QueueID]bool{}
	for _, q := range v.Queues {
		at[q.ID] = q.Pool == pool
	}
	book := shares.NewPool(v.Tree, pool)
	for _, h := range s.Held {
		if node, ok := v.Tree.ByID(h.ShareID); ok && at[h.QueueID] {
			book.Hold(node, h.Units)
		}
	}
	for id, want := range s.wants {
		if node, ok := v.Tree.ByID(id); ok {
			book.SetWant(node, want)
		}
	}
	var nodes []Node
	targets := book.Targets(shares.Round(units, book.Held(0), shares.Unlimited/2))
	for i, n := range v.Tree.Nodes {
		if i > 0 {
			nodes = append(nodes, Node{n.Path, book.Held(i).Float(), targets[i] / 1000})
		}
	}
	return nodes
}

// Worst is the node that is furthest from its target.
func Worst(nodes []Node) (w Node) {
	for _, n := range nodes {
		if n.Off() > w.Off() {
			w = n
		}
	}
	return w
}

// Look reads what the shares of a pool hold and want.
func Look(ctx context.Context, db pg.Querier, site shares.Version, pool string) (s Stand, err error) {
	s = Stand{Site: site, pool: pool, wants: map[shares.ShareID]shares.Units{}}
	if s.Held, err = Holdings(ctx, db); err != nil {
		return s, err
	}
	type want struct {
		ShareID shares.ShareID
		Cores   int64
	}
	wants, err := pg.Collect[want](ctx, db, query["wants"])
	for _, w := range wants {
		s.wants[w.ShareID] = shares.Units(w.Cores) * 1000
	}
	return s, err
}

// AtRest checks a pool that is full and where nothing moves: with n daemons every node is within its bound, 1 + (n - 1)
// jobs (sharing.md §2). It returns the node that is furthest from its target.
func (s Stand) AtRest(daemons int) (Node, error) {
	bound := float64(daemons)
	var wrong []error
	c := capacityOf(s.Site, s.pool)
	if used := s.Used(); used != c {
		wrong = append(wrong, fmt.Errorf("pool %s is not full: %s of %s are held although jobs wait", s.pool, used, c))
	}
	nodes := s.Nodes(c)
	for _, n := range nodes {
		if n.Off() > bound+float64(shares.Tolerance)/1000 {
			wrong = append(wrong, fmt.Errorf("share %s holds %.3f at rest, its target is %.3f: more than %g off", n.Path, n.Held, n.Target, bound))
		}
	}
	return Worst(nodes), Failed(wrong...)
}
