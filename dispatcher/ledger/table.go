package ledger

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Table is the log on PostgreSQL.
type Table struct{ db pg.DB }

// New returns the log of a database that has its table. With a pgx.Tx appends commit with whatever else it writes.
func New(db pg.DB) *Table { return &Table{db} }

// Append is Log's.
func (t *Table) Append(ctx context.Context, b entry.Batch) (at time.Time, err error) {
	return t.AppendWith(ctx, b, Beside{})
}

// codeGone is what divvy_all_gone raises.
const codeGone = "DV001"

// AppendWith is Log's. Inside of a transaction (New with a pgx.Tx) ErrGone fails all of it.
func (t *Table) AppendWith(ctx context.Context, b entry.Batch, beside Beside) (at time.Time, err error) {
	if err := CheckBatch(b, &beside); err != nil {
		return at, err
	}
	packed, err := Pack(b.Entries)
	if err != nil {
		return at, fmt.Errorf("append batch %d: %w", b.Seq, err)
	}
	args := packed.args()
	args["seq"], args["id"], args["after"], args["by"] = b.Seq, uuid(b.ID), uuid(b.After), b.By
	if b.Seq == 1 { // whose partition may be dropped
		if last, _, err := t.Last(ctx); err != nil || last > 0 {
			return at, refused(b, cmp.Or(err, ErrTaken))
		}
	}
	if beside.empty() {
		err = t.db.QueryRow(ctx, query["append"], args).Scan(&at)
	} else {
		at, err = t.appendWith(ctx, args, &beside)
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = ErrGap
		if last, _, failed := t.Last(ctx); failed != nil || last >= b.Seq {
			err = cmp.Or(failed, pg.Secure(ctx, t.db), ErrTaken)
		}
	case pg.Code(err) == codeGone:
		err = fmt.Errorf("%w: %w", ErrGone, err)
	case err != nil && (pg.Code(err) == "" || pg.IsUnavailable(err)):
		err = fmt.Errorf("%w: %w", ErrDoubt, err)
	}
	if err != nil {
		return time.Time{}, refused(b, err)
	}
	return at.UTC(), nil
}

// appendWith appends in one round trip, which is one transaction.
func (t *Table) appendWith(ctx context.Context, args pg.Args, beside *Beside) (at time.Time, err error) {
	with := beside.args()
	with["seq"], with["id"] = args["seq"], args["id"]
	var both pgx.Batch
	var missing error
	both.Queue(query["append"], args).QueryRow(func(row pgx.Row) error {
		if missing = row.Scan(&at); errors.Is(missing, pgx.ErrNoRows) {
			return nil // nothing is written beside it
		}
		return missing
	})
	both.Queue(query["beside"], with)
	return at, cmp.Or(t.db.SendBatch(ctx, &both).Close(), missing)
}

func refused(b entry.Batch, why error) error { return fmt.Errorf("append batch %d: %w", b.Seq, why) }

// row is a batch as the table has it.
type row struct {
	Seq   int64
	ID    pgtype.UUID
	After pgtype.UUID
	At    time.Time
	By    int64
	Columns
}

// Read is Log's.
func (t *Table) Read(ctx context.Context, seq int64, most int) ([]entry.Batch, error) {
	unpack := func(r pgx.CollectableRow) (entry.Batch, error) {
		v, err := pgx.RowToStructByName[row](r)
		if err != nil {
			return entry.Batch{}, err
		}
		b := entry.Batch{Seq: v.Seq, ID: v.ID.Bytes, After: v.After.Bytes, At: v.At.UTC(), By: v.By}
		if b.Entries, err = v.Unpack(); err != nil {
			return b, fmt.Errorf("batch %d: %w", v.Seq, err)
		}
		return b, nil
	}
	batches, err := pg.CollectTo(ctx, unpack, t.db, query["read"], pg.Args{"seq": seq, "most": most})
	if err != nil {
		return nil, fmt.Errorf("read after %d: %w", seq, err)
	}
	if len(batches) == 0 {
		last, _, err := t.Last(ctx)
		if err == nil && last > seq+int64(most) {
			err = fmt.Errorf("read after %d: %w", seq, ErrDropped)
		}
		return nil, err
	}
	return Chained(seq, batches)
}

// Last is Log's.
func (t *Table) Last(ctx context.Context) (seq int64, id entry.ID, err error) {
	var last pgtype.UUID
	err = t.db.QueryRow(ctx, query["last"]).Scan(&seq, &last)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, id, fmt.Errorf("last batch: %w", err)
	}
	return seq, last.Bytes, nil
}

// Extend makes partitions of size rows each until there is room for that many more rows, and returns how many it made. Without
// room an append fails, so it is called at the start and long before the room is used up. Safe on several daemons at once; what it
// cannot lock within a fifth of a second it leaves for the next time.
func (t *Table) Extend(ctx context.Context, room, size int64) (n int, err error) {
	if room < 1 || size < 1 {
		return 0, fmt.Errorf("extend the ledger by %d rows in partitions of %d: both count from 1", room, size)
	}
	if n, err = pg.Partitions(ctx, t.db, query["extend"], pg.Args{"room": room, "size": size}); err != nil {
		return 0, fmt.Errorf("extend the ledger: %w", err)
	}
	return n, nil
}

// Retain drops partitions, oldest first, whose rows are all from before a time and have a seq up to folded, and returns how many.
// The newest row stays. Each drop waits for those who have the table for at most a fifth of a second, then it is left for the next
// time; appends wait behind it for as long.
func (t *Table) Retain(ctx context.Context, before time.Time, folded int64) (n int, err error) {
	for dropped := 1; dropped > 0; n += dropped {
		if dropped, err = pg.Partitions(ctx, t.db, query["retain"], pg.Args{"before": before, "folded": folded}); err != nil {
			return n, fmt.Errorf("retain the ledger: %w", err)
		}
	}
	return n, nil
}
