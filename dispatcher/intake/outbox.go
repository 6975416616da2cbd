package intake

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/pg"
)

// Say puts rows of entries into the outbox, in their order. Rows without entries are left out.
func Say(ctx context.Context, tx pgx.Tx, rows ...[]entry.Entry) error {
	texts := make([]string, 0, len(rows))
	for _, entries := range rows {
		if len(entries) == 0 {
			continue
		}
		text, err := ledger.PackRare(entries)
		if err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, query["say"], pgx.StrictNamedArgs{"rows": texts})
	return pg.Named("outbox", err)
}

// Outbox is what the leader reads of the outbox; appends take the rows out, or mark those that the machine refuses (package ledger).
type Outbox struct{ db *pgxpool.Pool }

// NewOutbox returns that of a database.
func NewOutbox(db *pgxpool.Pool) Outbox { return Outbox{db} }

// Pending returns up to so many rows that are not in the log and not refused, in the order of their ids, in which they have to be applied.
// Transactions do not commit in that order, so there may be an older row the next time. A row that a newer version wrote is left to one,
// with all that come after it; an error where it is the first.
func (o Outbox) Pending(ctx context.Context, most int) ([]ledger.Row, error) {
	rows, err := pg.Collect[struct {
		ID      int64
		Entries string
	}](ctx, o.db, query["pending"], pgx.StrictNamedArgs{"n": most})
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	out := make([]ledger.Row, 0, len(rows))
	for _, r := range rows {
		entries, err := ledger.UnpackRare(r.Entries)
		if errors.Is(err, ledger.ErrUnknown) {
			if len(out) == 0 {
				return nil, fmt.Errorf("row %d of the outbox: %w", r.ID, err)
			}
			break
		}
		out = append(out, ledger.Row{ID: r.ID, Entries: entries, Err: err})
	}
	return out, nil
}
