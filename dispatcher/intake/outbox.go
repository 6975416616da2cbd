package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
)

// ErrGone: a row of the outbox is in the log already, or is refused.
var ErrGone = errors.New("a row of the outbox is not there any more")

// Row is a row of the outbox: entries that are applied together or not at all.
type Row struct {
	ID      int64
	MadeAt  time.Time
	Entries []entry.Entry // Site of Adopted is for the caller to look up
	Err     error         // why Entries could not be read. ledger.ErrUnknown: a newer version wrote them; leave the row to one
}

// Say puts entries into the outbox, as one row of the caller's transaction. Those without a verb of their own below are put in by it.
func Say(ctx context.Context, tx pgx.Tx, entries ...entry.Entry) error { return say(ctx, tx, entries) }

// say puts rows into the outbox, in their order. Rows without entries are left out.
func say(ctx context.Context, tx pgx.Tx, rows ...[]entry.Entry) error {
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
	if _, err := tx.Exec(ctx, query["say"], pgx.StrictNamedArgs{"rows": texts}); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

// Pending returns rows with ids after one that are not in the log and not refused, in the order of their ids, in which they have to be
// applied. after is for pages of one look: begin each look with 0, since transactions do not commit in the order of their ids.
func Pending(ctx context.Context, db DB, after int64, limit int) ([]Row, error) {
	rows, err := collect[struct {
		ID      int64
		MadeAt  time.Time
		Entries string
	}](ctx, db, "pending", pgx.StrictNamedArgs{"after": after, "n": limit})
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i] = Row{ID: r.ID, MadeAt: r.MadeAt.UTC()}
		out[i].Entries, out[i].Err = ledger.UnpackRare(r.Entries)
	}
	return out, nil
}

// Take removes rows in the transaction that appends their entries. ErrGone: some of them are not there, and the append must not be
// committed. It waits for another transaction that has taken one of them.
func Take(ctx context.Context, tx pgx.Tx, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	tag, err := tx.Exec(ctx, query["take"], pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if tag.RowsAffected() != int64(len(ids)) {
		return fmt.Errorf("take %d rows, of which %d are there: %w", len(ids), tag.RowsAffected(), ErrGone)
	}
	return nil
}

// Refuse notes why the machine does not take a row; it stays for people to see. ErrGone: somebody else was faster.
func Refuse(ctx context.Context, db DB, id int64, reason string) error {
	tag, err := db.Exec(ctx, query["refuse"], pgx.StrictNamedArgs{"id": id, "reason": reason})
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("refuse row %d: %w", id, ErrGone)
	}
	return nil
}

// Refused is a row that the machine did not take.
type Refused struct {
	ID      int64
	MadeAt  time.Time
	Entries string // as JSON
	Reason  string
}

// Refusals returns up to so many refused rows, the newest first.
func Refusals(ctx context.Context, db DB, limit int) ([]Refused, error) {
	all, err := collect[Refused](ctx, db, "refusals", pgx.StrictNamedArgs{"n": limit})
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return all, nil
}
