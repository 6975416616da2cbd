package site

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// transition is one change on its way: who of the new version is who of the old one.
type transition struct {
	store        *Store
	before, next *Site
	dryRun       bool
	was          map[string]string
	shares       []liveShare // by node of the new tree: its former self
	queues       []liveQueue // by queue of the new version
	gone         []liveShare // removed
	split        []liveShare // leaves that get children
	goneQueues   []liveQueue
	moves        []move
	obstacles    []Obstacle
	notes        []string
}

// move is live work on its way to a node of the new tree.
type move struct {
	from liveShare
	to   int
	live Live
}

// prepare finds out all that a change needs; from here on no new work and no grant gets in its way.
func (s *Store) prepare(ctx context.Context, tx pgx.Tx, w wanted, before *Site) (*transition, error) {
	c := &transition{store: s, before: before, next: w.next, dryRun: w.dryRun}
	w.next.Number = before.Number + 1
	if err := c.match(ctx, tx, w); err != nil {
		return nil, err
	}
	c.notes = append(c.notes, c.next.Notes...)
	c.noteOvercommits(time.Now())
	c.noteCapacities()
	if !c.dryRun {
		if err := c.holdBack(ctx, tx); err != nil {
			return nil, err
		}
	}
	if err := c.checkShares(ctx, tx, w.moves); err != nil {
		return nil, err
	}
	c.noteNewLeaves()
	return c, c.checkQueues(ctx, tx)
}

// match finds who of the new version is who of those that live.
func (c *transition) match(ctx context.Context, tx pgx.Tx, w wanted) error {
	oldShares, err := many[liveShare](ctx, tx, "live_shares", pgx.StrictNamedArgs{})
	if err != nil {
		return err
	}
	oldQueues, err := many[liveQueue](ctx, tx, "live_queues", pgx.StrictNamedArgs{})
	if err != nil {
		return err
	}
	queueWas := map[string]string{}
	if w.shareIDs == nil { // was: of an old file is history when that file comes back
		c.was = freshNames(c.next.Was, c.before.Was)
		queueWas = freshNames(c.next.QueueWas, c.before.QueueWas)
	}
	c.shares = newMatcher(c.next.Tree, oldShares).match(c.was, w.shareIDs)
	c.queues = matchQueues(c.next.Queues, oldQueues, queueWas, w.queueIDs)
	kept := map[shares.ShareID]int{}
	for i, l := range c.shares {
		kept[l.ID] = i
	}
	for _, l := range oldShares {
		i, ok := kept[l.ID]
		switch {
		case !ok:
			c.gone = append(c.gone, l)
		case l.Leaf && !c.next.Tree.Leaf(i):
			c.split = append(c.split, l)
		}
	}
	keptQueues := map[shares.QueueID]bool{}
	for i, l := range c.queues {
		keptQueues[l.ID] = true
		c.next.Queues[i].State = cmp.Or(l.State, shares.Online)
	}
	c.placeholders()
	for _, l := range oldQueues {
		if !keptQueues[l.ID] {
			c.goneQueues = append(c.goneQueues, l)
		}
	}
	c.noteNames(queueWas)
	return nil
}

// placeholders gives shares and queues of the new version the ids that they keep, and new ones a negative one
// that nobody has: enough to compare by id. A try that failed leaves nothing behind.
func (c *transition) placeholders() {
	ids := make(map[string]shares.ShareID, len(c.shares))
	for i, n := range c.next.Tree.Nodes {
		ids[n.Path] = c.shares[i].ID
		if i > 0 && c.shares[i].ID == 0 {
			ids[n.Path] = shares.ShareID(-i)
		}
	}
	c.next.Tree.SetIDs(func(path string) shares.ShareID { return ids[path] })
	for i, l := range c.queues {
		c.next.Queues[i].ID = l.ID
		if l.ID == 0 {
			c.next.Queues[i].ID = shares.QueueID(-i - 1)
		}
	}
}

// noteNames says of every was: that found nobody that it did: right on a new database, else a slip.
func (c *transition) noteNames(queueWas map[string]string) {
	for i, n := range c.next.Tree.Nodes {
		if old, ok := c.was[n.Path]; ok && c.shares[i].Path != old {
			c.notes = append(c.notes, fmt.Sprintf("share %s: was: %s is not in force and has no effect", n.Path, old))
		}
	}
	for i, q := range c.next.Queues {
		if old, ok := queueWas[q.Name]; ok && c.queues[i].Name != old {
			c.notes = append(c.notes, fmt.Sprintf("queue %s: was: %s is not in force and has no effect", q.Name, old))
		}
	}
}

// holdBack keeps others from giving work to shares that will not take any: those who insert tasks and jobs
// lock the share's row first and the ledger afterwards, and so does this.
func (c *transition) holdBack(ctx context.Context, tx pgx.Tx) error {
	ids := make([]int32, 0, len(c.gone)+len(c.split))
	for _, l := range append(c.gone[:len(c.gone):len(c.gone)], c.split...) {
		ids = append(ids, int32(l.ID))
	}
	if _, err := exec(ctx, tx, "lock_shares", pgx.StrictNamedArgs{"ids": ids}); err != nil {
		return err
	}
	return c.store.hooks.barrier(ctx, tx)
}
