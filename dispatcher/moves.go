package dispatcher

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// The states of a job as the ledger writes them.
const (
	isNone      = "-" // not there: before it was enqueued, or under another share
	isWaiting   = "w"
	isReady     = "r"
	isLeased    = "l"
	isFinished  = "f"
	isFailed    = "x"
	isCancelled = "c"
)

// move is one entry of a ledger row: n jobs that are alike went from one state to another.
// queue and units belong to the lease that begins or ends, else they are 0. For jobs that became ready,
// place and the range of ids say where readers find them.
type move struct {
	Task      int64
	Share     shares.ShareID
	Shape     int32
	Queue     shares.QueueID
	Before    string
	After     string
	N         int32
	Units     shares.Units
	Place     int64
	Low, High int64
}

// moveArrays is the shape in which moves travel: one array a column. In the ledger an array that is shorter than
// TaskIDs holds one value for all moves: most rows are grants, whose moves differ in little.
type moveArrays struct {
	TaskIDs  []int64
	ShareIDs []int32
	ShapeIDs []int32
	QueueIDs []int32
	Befores  []string
	Afters   []string
	Ns       []int32
	Units    []int64
	Places   []int64
	LowIDs   []int64
	HighIDs  []int64
}

func packMoves(moves []move) pgx.StrictNamedArgs {
	var a moveArrays
	for _, m := range moves {
		a.TaskIDs = append(a.TaskIDs, m.Task)
		a.ShareIDs = append(a.ShareIDs, int32(m.Share))
		a.ShapeIDs = append(a.ShapeIDs, m.Shape)
		a.QueueIDs = append(a.QueueIDs, int32(m.Queue))
		a.Befores = append(a.Befores, m.Before)
		a.Afters = append(a.Afters, m.After)
		a.Ns = append(a.Ns, m.N)
		a.Units = append(a.Units, int64(m.Units))
		a.Places = append(a.Places, m.Place)
		a.LowIDs = append(a.LowIDs, m.Low)
		a.HighIDs = append(a.HighIDs, m.High)
	}
	return pgx.StrictNamedArgs{
		"task_ids": a.TaskIDs, "share_ids": a.ShareIDs, "shape_ids": a.ShapeIDs, "queue_ids": a.QueueIDs,
		"befores": a.Befores, "afters": a.Afters, "ns": a.Ns, "units": a.Units,
		"places": a.Places, "low_ids": a.LowIDs, "high_ids": a.HighIDs,
	}
}

func (a moveArrays) unpack() []move {
	moves := make([]move, len(a.TaskIDs))
	for i := range moves {
		moves[i] = move{
			Task: a.TaskIDs[i], Share: shares.ShareID(nth(a.ShareIDs, i)), Shape: nth(a.ShapeIDs, i),
			Queue: shares.QueueID(nth(a.QueueIDs, i)), Before: nth(a.Befores, i), After: nth(a.Afters, i), N: nth(a.Ns, i),
			Units: shares.Units(nth(a.Units, i)), Place: nth(a.Places, i), Low: nth(a.LowIDs, i), High: nth(a.HighIDs, i),
		}
	}
	return moves
}

// nth is the value of the i-th move.
func nth[T any](column []T, i int) T { return column[min(i, len(column)-1)] }

// record writes the moves of a transaction that has no lane of its own. The lane's row stays locked until the
// transaction ends, so it is the last thing a transaction should do. All calls of one backend share a lane:
// a transaction that records twice cannot deadlock with another.
func record(ctx context.Context, tx pgx.Tx, moves []move) error {
	if len(moves) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, query["record"], packMoves(moves))
	return err
}
