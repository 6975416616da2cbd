package site

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// Obstacle is one reason why a change is refused.
type Obstacle struct {
	Share   string `json:"share,omitempty" doc:"Path in the version in force."`
	Queue   string `json:"queue,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Live    *Live  `json:"live,omitempty"`
	Leases  int64  `json:"leases,omitempty" doc:"Leases of the queue."`
}

func (o Obstacle) String() string {
	s := o.Message
	if o.Hint != "" {
		s += " (" + o.Hint + ")"
	}
	return s
}

// Refused is a change that cannot be made now: every reason at once. Nothing was changed.
type Refused struct{ Obstacles []Obstacle }

func (r *Refused) Error() string {
	lines := make([]string, len(r.Obstacles))
	for i, o := range r.Obstacles {
		lines[i] = o.String()
	}
	return strings.Join(lines, "\n")
}

// checkShares settles what becomes of live work whose share does not stay a leaf.
func (c *transition) checkShares(ctx context.Context, tx pgx.Tx, wanted map[string]string) error {
	live := map[shares.ShareID]Live{}
	if c.store.hooks.Live != nil && len(c.gone)+len(c.split) > 0 {
		var err error
		if live, err = c.store.hooks.Live(ctx, tx); err != nil {
			return fmt.Errorf("site: live work: %w", err)
		}
	}
	if err := c.countHeld(ctx, tx, live); err != nil {
		return err
	}
	left := maps.Clone(wanted)
	for _, l := range c.gone {
		if l.Leaf {
			c.settle(l, "is removed", live[l.ID], left)
		}
	}
	for _, l := range c.split {
		c.settle(l, "gets children", live[l.ID], left)
	}
	for _, from := range slices.Sorted(maps.Keys(left)) {
		c.obstacles = append(c.obstacles, c.needless(from))
	}
	return nil
}

// countHeld adds what the shares that do not stay leaves hold for tasks that have gone to others.
func (c *transition) countHeld(ctx context.Context, tx pgx.Tx, live map[shares.ShareID]Live) error {
	var ids []int32
	for _, l := range slices.Concat(c.gone, c.split) {
		if l.Leaf {
			ids = append(ids, int32(l.ID))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	type count struct {
		ShareID shares.ShareID
		Leases  int64
	}
	counts, err := many[count](ctx, tx, "share_leases", pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return err
	}
	for _, n := range counts {
		work := live[n.ShareID]
		work.Leased = max(work.Leased, n.Leases)
		live[n.ShareID] = work
	}
	return nil
}

// settle finds where the work of a share goes, if it has any; the moves that were given for it are used up.
func (c *transition) settle(l liveShare, why string, work Live, moves map[string]string) {
	to, given := moves[l.Path]
	delete(moves, l.Path)
	if !given {
		if work.Any() {
			c.obstacles = append(c.obstacles, Obstacle{Share: l.Path, Live: &work,
				Message: fmt.Sprintf("share %s %s but has live work: %s", l.Path, why, work),
				Hint:    "--move " + l.Path + "=<leaf of the new tree>"})
		}
		return
	}
	i, ok := c.next.Tree.ByPath(to)
	if !ok || !c.next.Tree.Leaf(i) {
		c.obstacles = append(c.obstacles, Obstacle{Share: l.Path,
			Message: fmt.Sprintf("move %s=%s: %s is not a leaf of the new tree", l.Path, to, to),
			Hint:    strict.DidYouMean(to, leafPaths(c.next.Tree))})
		return
	}
	if work.Any() {
		c.moves = append(c.moves, move{from: l, to: i, live: work})
	}
}

// needless refuses a move that no change asks for: it was meant for something else.
func (c *transition) needless(from string) Obstacle {
	o := Obstacle{Share: from, Message: fmt.Sprintf("move %s: no such share is in force", from)}
	i, ok := c.before.Tree.ByPath(from)
	switch {
	case !ok || i == 0:
		o.Hint = strict.DidYouMean(from, leafPaths(c.before.Tree))
	case c.before.Tree.Leaf(i):
		o.Message = fmt.Sprintf("move %s: the share stays a leaf and keeps its work", from)
	default:
		o.Message = fmt.Sprintf("move %s: the share has children, so it has no work of its own", from)
	}
	return o
}

// String is the counts that are not 0.
func (l Live) String() string {
	var parts []string
	add := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, counted(n, what))
		}
	}
	add(l.Tasks, "task")
	add(l.Waiting, "waiting job")
	add(l.Ready, "ready job")
	add(l.Leased, "leased job")
	if l.Pieces > 0 {
		parts = append(parts, counted(l.Pieces, "piece")+" to come")
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// checkQueues refuses to remove queues where jobs still run.
func (c *transition) checkQueues(ctx context.Context, tx pgx.Tx) error {
	if len(c.goneQueues) == 0 {
		return nil
	}
	names := map[int32]string{}
	ids := make([]int32, len(c.goneQueues))
	for i, l := range c.goneQueues {
		ids[i] = int32(l.ID)
		names[ids[i]] = l.Name
	}
	type count struct {
		QueueID int32
		Leases  int64
	}
	counts, err := many[count](ctx, tx, "queue_leases", pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return err
	}
	for _, n := range counts {
		name := names[n.QueueID]
		c.obstacles = append(c.obstacles, Obstacle{Queue: name, Leases: n.Leases,
			Message: fmt.Sprintf("queue %s is removed but has %s", name, counted(n.Leases, "leased job")),
			Hint:    "divvy queue drain " + name + ", and wait for them; was: renames a queue"})
	}
	return nil
}

func leafPaths(t *shares.Tree) []string {
	var paths []string
	for _, i := range t.Leaves() {
		paths = append(paths, t.Nodes[i].Path)
	}
	return paths
}
