package intake

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
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
	args := pgx.StrictNamedArgs{"task": m.Task, "from": int32(m.From), "to": int32(m.To)}
	return wrap("move task", m.blocks(ctx, tx, "move_task", args))
}

// MoveShare gives all live jobs and leases of one share to another: the site file said so. The caller holds Barrier.
func MoveShare(ctx context.Context, tx pgx.Tx, from, to shares.ShareID) error {
	args := pgx.StrictNamedArgs{"from": int32(from), "to": int32(to)}
	return wrap("move share", TaskMove{From: from, To: to, Running: true}.blocks(ctx, tx, "move_share", args))
}

// blocks has blocks be in another share. Those that lie between are not meant where the move says from which share; else all are.
func (m TaskMove) blocks(ctx context.Context, tx pgx.Tx, verb string, args pgx.StrictNamedArgs) error {
	by, err := agings(ctx, tx)
	if err != nil {
		return err
	}
	blocks, err := pg.Collect[blockRow](ctx, tx, query[verb], args)
	if err != nil {
		return err
	}
	all := places(blocks, func(b *blockRow) int64 { return by[m.To].Place(b.Priority, b.MadeAt) })
	return Say(ctx, tx, list(all, func(p placed) entry.Entry {
		return entry.Moved{Task: p.TaskID, Low: p.Low, High: p.High, From: m.From, Share: m.To, Place: p.place, Running: m.Running}
	}))
}
