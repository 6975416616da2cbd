package suite

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// holding is what a share holds at a queue, recounted.
type holding struct {
	ShareID shares.ShareID
	QueueID shares.QueueID
	Jobs    int64
	Cores   int64
	Units   shares.Units
}

// holdings recounts what is held, from the leases alone.
func (s *stage) holdings(ctx context.Context) ([]holding, error) {
	rows, err := s.place.reader().Query(ctx, query["held"])
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[holding])
}

// overLimits names every hard limit of the site under which more is held than it allows: slots of a queue, capacity
// of a pool, max of a share.
func overLimits(v shares.Version, held []holding) (wrong []error) {
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

// limits is the problems of this moment with hard limits.
func (s *stage) limits(ctx context.Context) ([]error, error) {
	held, err := s.holdings(ctx)
	if err != nil {
		return nil, err
	}
	v, err := s.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return overLimits(v.Version(), held), nil
}

// offNode is how far a node stands from what it should hold, in jobs of one unit.
type offNode struct {
	path         string
	held, target float64
}

func (o offNode) off() float64 { return math.Abs(o.held - o.target) }

// stand is what the shares of a pool hold and could use beyond that, at one moment.
type stand struct {
	version shares.Version
	pool    string
	held    []holding
	wants   map[shares.ShareID]shares.Units // units
}

// used is what is held in all.
func (s stand) used() (u shares.Units) {
	for _, h := range s.held {
		u += h.Units
	}
	return u
}

// nodes says how far every node stands from its target where so many units are to be had, in the order of the tree.
func (s stand) nodes(units shares.Units) []offNode {
	v, pool := s.version, s.pool
	at := map[shares.QueueID]bool{}
	for _, q := range v.Queues {
		at[q.ID] = q.Pool == pool
	}
	book := shares.NewPool(v.Tree, pool)
	for _, h := range s.held {
		if node, ok := v.Tree.ByID(h.ShareID); ok && at[h.QueueID] {
			book.Hold(node, h.Units)
		}
	}
	for id, want := range s.wants {
		if node, ok := v.Tree.ByID(id); ok {
			book.SetWant(node, want)
		}
	}
	var nodes []offNode
	targets := book.Targets(shares.Round(units, book.Held(0), shares.Unlimited/2))
	for i, n := range v.Tree.Nodes {
		if i > 0 {
			nodes = append(nodes, offNode{n.Path, book.Held(i).Float(), targets[i] / 1000})
		}
	}
	return nodes
}

// worst is the node that is furthest from its target.
func worst(nodes []offNode) (w offNode) {
	for _, n := range nodes {
		if n.off() > w.off() {
			w = n
		}
	}
	return w
}

// look reads what the shares of a pool hold and want.
func (s *stage) look(ctx context.Context, pool string) (st stand, err error) {
	st.pool = pool
	site, err := s.store.Load(ctx)
	if err != nil {
		return st, err
	}
	st.version = site.Version()
	if st.held, err = s.holdings(ctx); err != nil {
		return st, err
	}
	rows, err := s.place.reader().Query(ctx, query["wants"])
	if err != nil {
		return st, err
	}
	type want struct {
		ShareID shares.ShareID
		Cores   int64
	}
	wants, err := pgx.CollectRows(rows, pgx.RowToStructByName[want])
	st.wants = make(map[shares.ShareID]shares.Units, len(wants))
	for _, w := range wants {
		st.wants[w.ShareID] = shares.Units(w.Cores) * 1000
	}
	return st, err
}

// atRest checks a pool that is full and where nothing moves: with n daemons every node is within its bound, 1 + (n - 1)
// jobs (sharing.md §2). It returns the node that is furthest from its target.
func (s *stage) atRest(ctx context.Context, pool string, daemons int) (offNode, error) {
	st, err := s.look(ctx, pool)
	if err != nil {
		return offNode{}, err
	}
	bound := float64(daemons)
	var wrong []error
	c := capacityOf(st.version, pool)
	if used := st.used(); used != c {
		wrong = append(wrong, fmt.Errorf("pool %s is not full: %s of %s are held although jobs wait", pool, used, c))
	}
	nodes := st.nodes(c)
	for _, n := range nodes {
		if n.off() > bound+float64(shares.Tolerance)/1000 {
			wrong = append(wrong, fmt.Errorf("share %s holds %.3f at rest, its target is %.3f: more than %g off", n.path, n.held, n.target, bound))
		}
	}
	if len(wrong) > 0 {
		return worst(nodes), &CheckError{wrong}
	}
	return worst(nodes), nil
}
