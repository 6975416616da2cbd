package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// TaskMove asks that live jobs of a task go to another share.
type TaskMove struct {
	Task    int64
	From    int64          // the first job, by id
	Only    shares.ShareID // those of this share; 0: whatever share they have
	To      shares.ShareID
	Running bool // leased ones too: their units are charged to the share from then on
	Limit   int  // of jobs
}

// TaskMoved counts the jobs that went.
type TaskMoved struct {
	Waiting int64
	Ready   int64
	Leased  int64
	More    bool  // there may be more jobs than the limit: call again
	Next    int64 // from here on
}

// MoveTask gives live jobs of one task to another share. The caller holds the Barrier, so that no grant is decided by
// the old share, and calls Rebase afterwards. Jobs are locked in the order of their ids before leases are touched, as
// ends of attempts do it; leases that have ended by then are left alone, with their jobs.
func MoveTask(ctx context.Context, tx pgx.Tx, m TaskMove) (out TaskMoved, err error) {
	args := pgx.StrictNamedArgs{"task": m.Task, "from": m.From, "only": int32(m.Only), "to": int32(m.To), "running": m.Running, "limit": m.Limit}
	ids, err := column(ctx, tx, "lock_task_jobs", args)
	if err != nil || len(ids) == 0 {
		return out, wrapMove(err)
	}
	out.More, out.Next = len(ids) == m.Limit, ids[len(ids)-1]+1
	args = pgx.StrictNamedArgs{"ids": ids, "to": int32(m.To)}
	var leased []movedGroup
	var moves []move
	if m.Running {
		if leased, err = collect[movedGroup](ctx, tx, "move_task_leases", args); err != nil {
			return out, wrapMove(err)
		}
		if moves, err = moveCharges(ctx, tx, m.Task, m.Only, m.To); err != nil {
			return out, wrapMove(err)
		}
	}
	idle, err := collect[movedGroup](ctx, tx, "move_task_jobs", args)
	if err != nil {
		return out, wrapMove(err)
	}
	for _, g := range append(leased, idle...) {
		switch g.State {
		case "leased":
			out.Leased += int64(g.N)
		case "waiting":
			out.Waiting += int64(g.N)
		case "ready":
			out.Ready += int64(g.N)
		}
		moves = append(moves, g.moves(m.To)...)
	}
	return out, wrapMove(record(ctx, tx, moves))
}

func wrapMove(err error) error {
	if err != nil {
		return fmt.Errorf("move task: %w", err)
	}
	return nil
}

func column(ctx context.Context, db querier, verb string, args pgx.StrictNamedArgs) ([]int64, error) {
	rows, err := db.Query(ctx, query[verb], args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// movedGroup counts moved jobs that are alike: leased ones by queue, others by place.
type movedGroup struct {
	TaskID  int64
	FromID  shares.ShareID
	ShapeID int32
	QueueID shares.QueueID
	State   string
	Place   int64
	N       int32
	Units   shares.Units
	LowID   int64
	HighID  int64
}

// moves takes them out of the old share and puts them into the new one.
func (g movedGroup) moves(to shares.ShareID) []move {
	state := letter[g.State]
	if g.State == "leased" {
		state = isLeased
	}
	out := move{Task: g.TaskID, Share: g.FromID, Shape: g.ShapeID, Queue: g.QueueID, Before: state, After: isNone, N: g.N,
		Units: g.Units, Place: g.Place, Low: g.LowID, High: g.HighID}
	in := out
	in.Share, in.Before, in.After = to, isNone, state
	return []move{out, in}
}
