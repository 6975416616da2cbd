package dispatcher

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/internal/pg"
)

// outbox is table outbox, but for what the entries are: those are in memory.
type outbox struct {
	db   *pgxpool.Pool
	mu   sync.Mutex
	rows map[int64][]entry.Entry
}

// Pending is Outbox's.
func (o *outbox) Pending(ctx context.Context, most int) ([]ledger.Row, error) {
	rows, err := o.db.Query(ctx, "SELECT id FROM outbox WHERE refused IS NULL ORDER BY id LIMIT $1", most)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []ledger.Row
	for _, id := range ids {
		out = append(out, ledger.Row{ID: id, Entries: append([]entry.Entry{}, o.rows[id]...)})
	}
	return out, err
}

// write commits a row.
func (o *outbox) write(tb testing.TB, entries ...entry.Entry) (id int64) {
	tb.Helper()
	err := pg.InTx(tb.Context(), o.db, func(tx pgx.Tx) error {
		err := tx.QueryRow(tb.Context(), "INSERT INTO outbox (entries) VALUES ('[]') RETURNING id").Scan(&id)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.rows[id] = entries
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// await waits until all rows but for so many are in the log.
func (o *outbox) await(tb testing.TB, most int) {
	tb.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var n, refused int
		if err := o.db.QueryRow(tb.Context(), "SELECT count(*), count(refused) FROM outbox").Scan(&n, &refused); err != nil || refused > 0 {
			tb.Fatalf("%d rows were refused, %v", refused, err)
		}
		if n <= most {
			return
		}
		if time.Since(began) > 30*time.Second {
			tb.Fatalf("%d rows stay in the outbox", n)
		}
	}
}
