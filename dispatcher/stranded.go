package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// A daemon that was closed goes on for a moment: it hears of it at its next Refresh. Its grants take nothing, but the ends
// that pilots tell it count. The limits were computed before them, and nobody has its escrow any more: the units that came
// free so would be nobody's. It is many at once where the database was away, as all pilots have an end to tell when it is back.

// regain gives units that closed daemons have to everybody: the limits are computed anew. It looks where there may be some:
// after the start, when a daemon was closed, and when a row of a closed one has come. It returns whether there were some.
func (d *Dispatcher) regain(ctx context.Context) (regained bool, err error) {
	d.mu.Lock()
	due := d.stranded
	d.stranded = false
	d.mu.Unlock()
	if !due {
		return false, nil
	}
	defer func() {
		if err != nil {
			d.mu.Lock()
			d.stranded = true
			d.mu.Unlock()
		}
	}()
	if regained, err = stranded(ctx, d.cfg.Pool); err != nil || !regained {
		return false, err
	}
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		if err := Barrier(ctx, tx); err != nil {
			return fmt.Errorf("regain units: %w", err)
		}
		if still, err := stranded(ctx, tx); err != nil || !still {
			return err // another daemon was first
		}
		return d.rebaseNewest(ctx, tx)
	})
	return err == nil, err
}

// stranded says whether closed daemons have units that the limits do not count.
func stranded(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (some bool, err error) {
	if err = db.QueryRow(ctx, query["stranded"]).Scan(&some); err != nil {
		return false, fmt.Errorf("units of closed daemons: %w", err)
	}
	return some, nil
}

// rebaseNewest is Rebase for the newest version of the site, and says so to the others. The caller holds the Barrier: no
// newer one can come in between.
func (d *Dispatcher) rebaseNewest(ctx context.Context, tx pgx.Tx) error {
	v, err := d.cfg.Load(ctx)
	if err != nil {
		return fmt.Errorf("the site: %w", err)
	}
	if err := rebase(ctx, tx, v, d.cfg.Now); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, query["notify"], pgx.StrictNamedArgs{"what": "site"})
	return err
}

// lookForClosed notes that a daemon has been closed since this one looked last: it may have units. d.mu is held.
func (d *Dispatcher) lookForClosed(before map[int64]Peer) {
	for id := range before {
		if _, open := d.daemons[id]; !open {
			d.stranded = true
		}
	}
}

// lookForStranded notes that a closed daemon has ended something. d.mu is held.
func (d *Dispatcher) lookForStranded(r laneRow, m move) {
	if _, open := d.daemons[r.DaemonID]; !open && r.DaemonID != 0 && m.Before == isLeased {
		d.stranded = true
	}
}
