package dispatcher

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

// Strays is what MoveStrays came to.
type Strays struct {
	Rows int64 // that moved
	Days int   // of a table each, that have a partition now
	Left int   // that have not: somebody read or wrote the rows, attempts among them are in no roll-up yet, or it took too long
}

// MoveStrays gives a partition to the days that have rows in a default partition since theirs could not be made: the rows move
// there, a day at a time, each in a transaction. Only days that have been over for an hour, of tables of which today has its
// partition: then nobody adds rows there. Whoever reads the table waits for a second at the most. Left out days may be tried again.
func MoveStrays(ctx context.Context, db *pgxpool.Pool, log *slog.Logger, note Note) (of Strays, err error) {
	rows, err := db.Query(ctx, query["stray_days"])
	if err != nil {
		return of, fmt.Errorf("stray_days: %w", err)
	}
	days, err := pgx.CollectRows(rows, pgx.RowToStructByName[strayDay])
	if err != nil {
		return of, fmt.Errorf("stray_days: %w", err)
	}
	for _, day := range days {
		n, err := day.move(ctx, db, note)
		switch code := pg.Code(err); {
		case ctx.Err() != nil:
			return of, ctx.Err()
		case err == nil && n > 0:
			of.Rows, of.Days = of.Rows+n, of.Days+1
		case err == nil, code == pg.CodeLockNotAvailable, code == pg.CodeQueryCanceled, code == pg.CodeCheckViolation:
			of.Left++
			log.Info("rows stay in the default partition for now", "table", day.Name, "day", day.Day.Format(time.DateOnly), "rows", day.N, "err", err)
		default:
			return of, fmt.Errorf("move rows of %s: %w", day.Name, err)
		}
	}
	return of, nil
}

// strayDay is a day of a table that has rows in the default partition.
type strayDay struct {
	Name string
	Day  time.Time
	N    int64
}

// move returns how many rows moved; 0 when they may not, or when somebody else is at the days.
func (s strayDay) move(ctx context.Context, db *pgxpool.Pool, note Note) (n int64, err error) {
	args := pgx.StrictNamedArgs{"parent": s.Name, "day": s.Day}
	err = pg.InTx(ctx, db, func(tx pgx.Tx) error {
		n = 0
		if ok, err := pg.TryLock(ctx, tx, pg.LockDays, 0); err != nil || !ok {
			return err
		}
		if _, err := tx.Exec(ctx, query["bound_moves"]); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, query["move_day"], args).Scan(&n); err != nil || n == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, query["bound_days"]); err != nil { // the default partition is locked from here on
			return err
		}
		if _, err := tx.Exec(ctx, query["attach_day"], args); err != nil {
			return err
		}
		return note.tell(ctx, tx, "%d rows of %s moved into the partition of %s", n, s.Name, s.Day.Format(time.DateOnly))
	})
	return n, err
}
