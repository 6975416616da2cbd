package intake

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// TaskMove asks that live jobs of a task go to another share.
type TaskMove struct {
	Task    int64
	From    shares.ShareID // those of this share; 0: whatever share they have
	To      shares.ShareID
	Running bool // leased ones too: their units are charged to the share from then on
}

// MoveTask gives live jobs of one task to another share. The caller holds the task's row.
func MoveTask(ctx context.Context, tx pgx.Tx, m TaskMove) error {
	by, err := agings(ctx, tx)
	if err != nil {
		return fmt.Errorf("move task: %w", err)
	}
	blocks, err := collect[blockRow](ctx, tx, "move_task", pgx.StrictNamedArgs{"task": m.Task, "from": int32(m.From), "to": int32(m.To)})
	if err != nil {
		return fmt.Errorf("move task: %w", err)
	}
	return wrap("move task", say(ctx, tx, moved(blocks, by[m.To], m)))
}

// moved are blocks in another share. Blocks that lie between are not meant where the move says from which share; else all are.
func moved(blocks []blockRow, aging *shares.Aging, m TaskMove) []entry.Entry {
	all := places(blocks, func(b *blockRow) int64 { return aging.Place(b.Priority, b.MadeAt) })
	return list(all, func(p placed) entry.Entry {
		return entry.Moved{Task: p.TaskID, Low: p.Low, High: p.High, From: m.From, Share: m.To, Place: p.place, Running: m.Running}
	})
}

// MoveShare gives all live jobs and leases of one share to another: the site file said so. The caller holds Barrier.
func MoveShare(ctx context.Context, tx pgx.Tx, from, to shares.ShareID) error {
	by, err := agings(ctx, tx)
	if err != nil {
		return fmt.Errorf("move share: %w", err)
	}
	blocks, err := collect[blockRow](ctx, tx, "move_share", pgx.StrictNamedArgs{"from": int32(from), "to": int32(to)})
	if err != nil {
		return fmt.Errorf("move share: %w", err)
	}
	return wrap("move share", say(ctx, tx, moved(blocks, by[to], TaskMove{From: from, To: to, Running: true})))
}
