package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// blockRow is what the places of the jobs of a block follow from.
type blockRow struct {
	Low      int64
	High     int64
	TaskID   int64
	ShareID  shares.ShareID
	Priority int
	MadeAt   time.Time
}

// placed is jobs of a task at one place.
type placed struct {
	taskSpan
	place int64
}

// places joins blocks that follow each other in the list where task and place are the same: other jobs of the task may not lie between.
func places(blocks []blockRow, place func(b *blockRow) int64) (all []placed) {
	for i := range blocks {
		b := &blocks[i]
		p := placed{taskSpan{b.TaskID, b.Low, b.High}, place(b)}
		if k := len(all) - 1; k >= 0 && all[k].TaskID == p.TaskID && all[k].place == p.place {
			all[k].High = p.High
			continue
		}
		all = append(all, p)
	}
	return all
}

// agings are the plans of all shares that let jobs rise as they wait.
func agings(ctx context.Context, tx pgx.Tx) (by map[shares.ShareID]*shares.Aging, err error) {
	if err := steady(ctx, tx); err != nil {
		return nil, err
	}
	err = tx.QueryRow(ctx, query["agings"]).Scan(&by)
	return by, err
}

// Prioritise gives the jobs of a task another priority; those that run have it if they come back. The caller holds the task's row,
// so that no job of it is made meanwhile with the priority of before. The same again changes nothing.
func Prioritise(ctx context.Context, tx pgx.Tx, task int64, priority int) error {
	by, err := agings(ctx, tx)
	if err != nil {
		return fmt.Errorf("prioritise: %w", err)
	}
	tag, err := tx.Exec(ctx, query["prioritise"], pgx.StrictNamedArgs{"task": task, "priority": priority})
	if err != nil || tag.RowsAffected() == 0 {
		return pg.Named("prioritise", err)
	}
	blocks, err := pg.Collect[blockRow](ctx, tx, query["task_blocks"], pgx.StrictNamedArgs{"task": task})
	if err != nil {
		return fmt.Errorf("prioritise: %w", err)
	}
	all := places(blocks, func(b *blockRow) int64 { return by[b.ShareID].Place(b.Priority, b.MadeAt) })
	return pg.Named("prioritise", Say(ctx, tx, list(all, placed.entry)))
}

func (p placed) entry() entry.Entry {
	return entry.Placed{Task: p.TaskID, Low: p.Low, High: p.High, Place: p.place}
}

// Adopt puts a version of the site in force. The caller holds Barrier and has written the version's shares. Where the aging of a share
// is another than before, Reorder has work from now on.
func Adopt(ctx context.Context, tx pgx.Tx, number int64) error {
	if _, err := tx.Exec(ctx, query["adopt_agings"]); err != nil {
		return fmt.Errorf("adopt: %w", err)
	}
	return pg.Named("adopt", Say(ctx, tx, []entry.Entry{entry.Adopted{Number: number}}))
}

// reorderBlocks is how many blocks one Reorder looks at.
const reorderBlocks = 1000

// Reorder gives jobs the places that the aging of their share makes of their priority and age, after it has changed: places by two
// plans do not compare, so those that were ready before would be first or last for ever. It looks at the next blocks of one share and
// returns how many; 0 when all jobs have their places, or another daemon is at it. Jobs that are made meanwhile have them at once.
func Reorder(ctx context.Context, db *pgxpool.Pool) (n int, err error) {
	err = pg.InTx(ctx, db, func(tx pgx.Tx) error {
		n, err = reorder(ctx, tx)
		return err
	})
	return n, pg.Named("reorder", err)
}

func reorder(ctx context.Context, tx pgx.Tx) (n int, err error) {
	var share shares.ShareID
	var aging *shares.Aging
	var after int64
	if err := steady(ctx, tx); err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, query["next_placing"]).Scan(&share, &aging, &after)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	blocks, err := pg.Collect[blockRow](ctx, tx, query["share_blocks"], pgx.StrictNamedArgs{"share": int32(share), "after": after, "n": reorderBlocks})
	if err != nil {
		return 0, err
	}
	args := pgx.StrictNamedArgs{"share": int32(share), "after": nil}
	if len(blocks) == reorderBlocks {
		args["after"] = blocks[len(blocks)-1].Low
	}
	if _, err := tx.Exec(ctx, query["placing_on"], args); err != nil {
		return 0, err
	}
	var entries []entry.Entry
	for i := range blocks { // others of the task may lie between
		for _, p := range places(blocks[i:i+1], func(b *blockRow) int64 { return aging.Place(b.Priority, b.MadeAt) }) {
			entries = append(entries, p.entry())
		}
	}
	return max(len(blocks), 1), Say(ctx, tx, entries)
}

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
	return pg.Named("move task", m.blocks(ctx, tx, "move_task", args))
}

// MoveShare gives all live jobs and leases of one share to another: the site file said so. The caller holds Barrier.
func MoveShare(ctx context.Context, tx pgx.Tx, from, to shares.ShareID) error {
	args := pgx.StrictNamedArgs{"from": int32(from), "to": int32(to)}
	return pg.Named("move share", TaskMove{From: from, To: to, Running: true}.blocks(ctx, tx, "move_share", args))
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
