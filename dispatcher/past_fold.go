package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// errMissing: rows of the ledger that are needed are not there any more.
var errMissing = errors.New("rows of the ledger are missing")

// missing says whether an error means that what is needed was not kept.
func missing(err error) bool { return errors.Is(err, errMissing) }

// pastLanes reads the rows of lanes in their order, some at a time.
type pastLanes struct {
	db querier
	of map[laneID]*pastLane
}

type pastLane struct {
	seq  int64 // of the last row that was handed out
	rows []laneRow
}

// pastRows is how many rows of a lane are read at once.
const pastRows = 64

// upTo calls visit for the rows of a lane after those that it had, up to seq.
func (p *pastLanes) upTo(ctx context.Context, id laneID, seq int64, visit func(moves []move) error) error {
	l := p.of[id]
	if l == nil {
		l = &pastLane{}
		p.of[id] = l
	}
	for l.seq < seq {
		if len(l.rows) == 0 {
			rows, err := collect[laneRow](ctx, p.db, "tails", pgx.StrictNamedArgs{
				"daemons": []int64{id.Daemon}, "lanes": []int32{int32(id.Lane)}, "seqs": []int64{l.seq}, "n": pastRows})
			if err != nil {
				return err
			}
			l.rows = rows
		}
		if len(l.rows) == 0 || l.rows[0].Seq != l.seq+1 {
			return fmt.Errorf("%w: daemon %d, lane %d, row %d", errMissing, id.Daemon, id.Lane, l.seq+1)
		}
		if err := visit(l.rows[0].plain()); err != nil {
			return err
		}
		l.seq, l.rows = l.rows[0].Seq, l.rows[1:]
	}
	return nil
}

// plain is the moves of a row without the places of the jobs: nobody reads them.
func (r laneRow) plain() []move {
	moves := r.unpack()
	for i := range moves {
		moves[i].Place, moves[i].Low, moves[i].High = 0, 0, 0
	}
	return moves
}

// checkpointRow is a copy of the counters, exact at its positions.
type checkpointRow struct {
	DaemonIDs                    []int64
	Lanes                        []int32
	Seqs                         []int64
	ShareIDs, ShapeIDs, QueueIDs []int32
	Readies, Helds, HeldUnits    []int64
}

// foldTo counts what was ready and held at positions in the ledger: the checkpoint nearest to the moment, and the rows
// between its positions and those, forwards or backwards. It has no site yet: adopt comes after it.
func foldTo(ctx context.Context, db querier, near time.Time, to map[laneID]int64) (*state, error) {
	s := newState()
	s.version = shares.Version{Tree: &shares.Tree{}}
	if err := s.loadShapes(ctx, db); err != nil {
		return nil, err
	}
	found, err := collect[checkpointRow](ctx, db, "past_checkpoint", pgx.StrictNamedArgs{"at": near})
	if err != nil {
		return nil, err
	}
	from := map[laneID]int64{}
	for _, c := range found {
		for i := range c.Seqs {
			from[laneID{c.DaemonIDs[i], int(c.Lanes[i])}] = c.Seqs[i]
		}
		for i := range c.ShareIDs {
			s.count(counterRow{shares.ShareID(c.ShareIDs[i]), c.ShapeIDs[i], shares.QueueID(c.QueueIDs[i]), c.Readies[i], c.Helds[i], shares.Units(c.HeldUnits[i])})
		}
	}
	for id, seq := range to {
		if err := s.foldLane(ctx, db, id, from[id], seq); err != nil {
			return nil, err
		}
	}
	for id, seq := range from {
		if _, ok := to[id]; !ok { // nothing of it was counted then, or its rows have gone and are part of both
			if err := s.foldLane(ctx, db, id, seq, 0); err != nil && !missing(err) {
				return nil, err
			}
		}
	}
	return s, nil
}

// foldLane counts the rows of a lane between two positions; backwards where the second comes before the first.
func (s *state) foldLane(ctx context.Context, db querier, id laneID, from, to int64) error {
	lanes := pastLanes{db: db, of: map[laneID]*pastLane{id: {seq: min(from, to)}}}
	return lanes.upTo(ctx, id, max(from, to), func(moves []move) error {
		if err := s.knowShapes(ctx, db, moves); err != nil {
			return err
		}
		for _, m := range moves {
			if to < from {
				m.Before, m.After = m.After, m.Before
			}
			s.apply(m, false)
		}
		return nil
	})
}
