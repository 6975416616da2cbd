package site

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// ErrMoving refuses a change for now: live work is on its way to where the change sends it, ahead of it. A repeat goes on.
var ErrMoving = errors.New("live work is moving ahead of the change")

// aheadFrom is how many jobs of a share move ahead of the change that sends them elsewhere. Fewer move in its transaction.
const aheadFrom = 10_000

// ahead moves much live work before the change that sends it elsewhere: in the transaction of the change grants would stand still
// until the last job has moved, and a million takes longer than a request may. A change that would be refused moves nothing, nor does
// one to shares that are not there yet: nobody could give their jobs to slots before the change.
func (s *Store) ahead(ctx context.Context, w wanted) error {
	if s.hooks.Ahead == nil || w.dryRun || len(w.moves) == 0 {
		return nil
	}
	var c *transition
	err := pg.InTx(ctx, s.db, func(tx pgx.Tx) (err error) {
		c, err = s.rehearsal(ctx, tx, w)
		return err
	})
	if err != nil || c == nil {
		return err
	}
	for _, m := range c.moves {
		jobs, to := m.live.Waiting+m.live.Ready+m.live.Leased, c.shares[m.to]
		if jobs < aheadFrom || !to.Leaf {
			continue
		}
		left, err := s.hooks.Ahead(ctx, m.from.ID, to.ID)
		if err != nil {
			return fmt.Errorf("site: move %s ahead: %w", m.from.Path, err)
		}
		if left {
			return fmt.Errorf("site: %w: about %d jobs of share %s were left when this began; nothing is applied yet", ErrMoving, jobs, m.from.Path)
		}
	}
	return nil
}

// rehearsal is the change as far as it gets without writing anything; nil: it would be refused, or changes nothing.
func (s *Store) rehearsal(ctx context.Context, tx pgx.Tx, w wanted) (*transition, error) {
	if err := pg.LockShared(ctx, tx, pg.LockSite, 0); err != nil {
		return nil, err
	}
	before, err := s.load(ctx, tx, inForce)
	switch {
	case err != nil && !errors.Is(err, ErrUnreadable):
		return nil, err
	case before.Number > 0 && before.Source == w.next.Source:
		return nil, nil
	}
	w.dryRun = true
	c, err := s.prepare(ctx, tx, w, before)
	if err != nil || len(c.obstacles) > 0 || w.check != nil && w.check(diff(c.before, c.next)) != nil {
		return nil, err
	}
	return c, nil
}

// aheadOfDue is ahead for the file for later that is due first.
func (s *Store) aheadOfDue(ctx context.Context) error {
	due, err := one[dueRow](ctx, s.db, "next_due", pgx.StrictNamedArgs{})
	if err != nil || len(due.Moves) == 0 {
		return err
	}
	next, err := Parse(due.File, []byte(due.Source))
	if err != nil {
		return nil // the apply reports its faults
	}
	return s.ahead(ctx, wanted{next: next, moves: due.Moves})
}

// noteNewLeaves says of much live work that goes to a share that is not there yet what it costs, and what to do instead.
func (c *transition) noteNewLeaves() {
	for _, m := range c.moves {
		jobs := m.live.Waiting + m.live.Ready + m.live.Leased
		if to := c.next.Tree.Nodes[m.to].Path; jobs >= aheadFrom && !c.shares[m.to].Leaf {
			c.notes = append(c.notes, fmt.Sprintf("no job is given to a slot until all %d jobs of %s have moved to %s, since that is new: "+
				"apply a file that adds a leaf first, then one that moves them there", jobs, m.from.Path, to))
		}
	}
}
