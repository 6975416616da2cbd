package machine

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/books"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
)

// headsKey is for which decisions heads are.
type headsKey struct {
	queue *books.Queue // at that queue alone, where resources are per queue; nil: at all
	pool  *books.Pool  // in that pool alone, where the leaf gives turns to users; nil: in all
}

// Opened says whether it has something to give; see gate.Head.
func (b *buffer) Opened() bool { return b.opened }

// Needs is what its jobs want of resources; see gate.Head.
func (b *buffer) Needs() *gate.Wants { return &b.wants }

// rank brings the place of a buffer among the heads up to date. Where resources are per queue there are heads for every queue
// at which pilots pull: a grant costs O(queues), so that many hundreds of them are better served by resources for all.
func (k *kinds) rank(b *buffer) {
	k.makeHeads(b.group)
	for _, h := range b.group.heads {
		h.Rank(b)
	}
}

// makeHeads makes those that kinds of slots look at and that are not there yet.
func (k *kinds) makeHeads(g *group) {
	s := k.state
	oneForAll := !s.supplies.ByQueue && s.leaves[g.leaf].users == nil
	if len(g.heads) > 0 && (g.kinds == k.made || oneForAll) {
		return
	}
	g.kinds = k.made
	for _, c := range k.all {
		if key := c.headsOf(g); c.runs(g.outline) && g.heads[key] == nil {
			k.headsAt(g, key)
			k.offered(g, &key)
		}
	}
}

func (c *kind) headsOf(g *group) (key headsKey) {
	if c.at != nil && c.state.supplies.Own(&c.at.Queue) {
		key.queue = c.at
	}
	if c.state.leaves[g.leaf].users != nil {
		key.pool = c.pool
	}
	return key
}

// headsAt are heads of a group, or nil if it has no buffer that could be among them.
func (k *kinds) headsAt(g *group, key headsKey) *gate.Heads {
	if !slices.ContainsFunc(g.buffers, func(b *buffer) bool { return b.headed }) {
		return nil
	}
	if h := g.heads[key]; h != nil {
		return h
	}
	h := &gate.Heads{Supplies: k.state.supplies.Supplies, Turn: func(h gate.Head) ready.Turn {
		b := h.(*buffer)
		return b.user.TurnIn(key.pool, b.first())
	}}
	if key.queue != nil {
		h.Queue = &key.queue.Queue
	}
	if g.heads == nil {
		g.heads = map[headsKey]*gate.Heads{}
	}
	g.heads[key] = h
	for _, b := range g.buffers {
		if b.opened && b.headed {
			h.Rank(b)
		}
	}
	by := key // which is on the heap from here on only
	h.Changed = func() { k.offered(g, &by) }
	return h
}
