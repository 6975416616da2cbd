package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// Lanes of a daemon: two for grants, two for ends, one for claims that are tended. Two batches in flight keep the disk and
// both sides busy; a lane has one transaction in flight, so its rows appear in the order of their seq.
const (
	firstGrantLane = 0
	firstEndLane   = 2
	nEndLanes      = 2
	claimLane      = 4
	nLanes         = 5
)

// lane is this daemon's right to append to one lane of the ledger. Only its worker uses it.
type lane struct {
	daemon int64 // whose lane: a daemon that starts anew gets new ones
	no     int
	seq    int64 // of the last row that is counted; written under Dispatcher.mu, together with what it counts

	// doubt is set when the fate of the transaction that sent seq+1 is unknown, until resolve finds out.
	doubt   bool
	pending leaseBatch // what a grant in doubt has counted already
}

// laneRow is a ledger row as the database has it.
type laneRow struct {
	DaemonID int64
	Lane     int
	Seq      int64
	moveArrays
}

// resolve finds out whether the transaction in doubt committed, and returns its moves if so. It takes the seq for
// an empty row: when that succeeds, the transaction can never commit any more, its own row would collide. It may be asked
// again; whoever counts the moves raises the seq with them (settled), so that nobody finds one without the other.
func (d *Dispatcher) resolve(ctx context.Context, l *lane) ([]move, error) {
	args := pgx.StrictNamedArgs{"daemon": l.daemon, "lane": l.no, "seq": l.seq + 1}
	if _, err := d.cfg.Pool.Exec(ctx, query["take_seq"], args); err != nil {
		return nil, fmt.Errorf("lane in doubt: %w", err)
	}
	rows, err := d.cfg.Pool.Query(ctx, query["read_seq"], args)
	if err != nil {
		return nil, fmt.Errorf("lane in doubt: %w", err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[laneRow])
	if err != nil {
		return nil, fmt.Errorf("lane in doubt: %w", err)
	}
	return row.unpack(), nil
}

// write appends moves to the lane, as part of a transaction; nothing when there are none. Whoever knows that it has
// committed counts them (bookEnds), or says that this is in doubt.
func (l *lane) write(ctx context.Context, tx pgx.Tx, moves []move) error {
	if len(moves) == 0 {
		return nil
	}
	args := packMoves(moves)
	args["daemon"], args["lane"], args["seq"] = l.daemon, l.no, l.seq+1
	_, err := tx.Exec(ctx, query["write_lane"], args)
	return err
}

// settled notes that the fate of the transaction in doubt is known, and its row counted. Dispatcher.mu is held.
func (l *lane) settled() {
	l.doubt, l.pending = false, leaseBatch{}
	l.seq++
}

// owns says whether the lane is still this daemon's. After a new start it belongs to the one that it was: its rows
// are read like everybody else's, and must not be counted here as well. d.mu is held.
func (d *Dispatcher) owns(l *lane) bool { return d.lanes[l.no] == l }

// uncertain says whether a statement that failed with err may have committed after all.
func uncertain(err error) bool { return pg.Code(err) == "" || pg.IsUnavailable(err) }
