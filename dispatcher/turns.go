package dispatcher

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// Of units that do not come out even who waited longest gets one. A daemon that starts, or follows another one, would go by
// names if it did not know who was granted something last: where there are fewer units than sharing IDs some would wait
// as long as others begin anew. The ledger says so, no other record is needed.

// turnRow is a grant to jobs that ask for resources, or of shares that give turns to users.
type turnRow struct {
	ShareID shares.ShareID
	ShapeID int32
	QueueID shares.QueueID
}

// mostTurns is how many rows of each lane are read back: a row has a batch of grants.
const mostTurns = 200

// readTurns reads the last grants, the longest ago first; none where no job asks for resources or has turns among users.
func (s *state) readTurns(ctx context.Context, db querier) ([]turnRow, error) {
	for _, sh := range s.shapes {
		if sh.asks != nil || sh.full.User != "" {
			return collect[turnRow](ctx, db, "last_grants", pgx.StrictNamedArgs{"n": mostTurns, "ready": isReady, "leased": isLeased})
		}
	}
	return nil, nil
}

// tookTurn notes that jobs were granted that this daemon did not decide on, or not in this life: their ID is the last in turn.
func (s *state) tookTurn(r turnRow) {
	sh, q := s.shapes[r.ShapeID], s.queues[r.QueueID]
	if sh == nil || q == nil {
		return
	}
	s.tookServing(r.ShareID, sh, q.pool)
	if sh.unknown {
		return
	}
	for i := range sh.asks {
		a := &sh.asks[i]
		sup := s.supplyAt(a, q)
		id := s.sharingID(a.of, sh, r.ShareID)
		sup.book.Granted(id)
		sup.tookTurn(id)
	}
}

// takenTurn is whose turn a grant was.
type takenTurn struct {
	by *supply
	id string
}

// tookTurn follows that the book has put an ID behind all others.
func (sup *supply) tookTurn(id string) {
	sup.seq++
	sup.moved(id)
	sup.ease() // an odd unit may be somebody else's by now
}
