package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// plans is which figures of the shares are in force: those of one moment, which stands beside the limits. All daemons,
// and one that starts, have targets and limits of the same moment so, whatever their own clocks say.
type plans struct {
	at   time.Time
	next time.Time // when others come into force; zero: never
}

// due says whether figures other than those in force belong to now. A clock that was set back counts too.
func (p plans) due(now time.Time) bool {
	return !p.next.IsZero() && (now.Before(p.at) || !now.Before(p.next))
}

// Switch brings the plans into force whose time has come, and ends target slots whose time is over. It kills nothing:
// targets and limits change as with a new version of the site, and what a share holds beyond its new figures runs out. It
// returns 1 if it did so; where another daemon has, 0. Do it every second: where nothing of that is to come it costs
// nothing, else one small statement.
func (d *Dispatcher) Switch(ctx context.Context) (n int, err error) {
	d.mu.Lock()
	known := d.state.plans
	d.mu.Unlock()
	if known.next.IsZero() {
		return 0, nil
	}
	now, err := planTime(ctx, d.cfg.Pool, d.cfg.Now)
	if err != nil || !known.due(now) {
		return 0, err
	}
	// The tail is read while grants wait: fold most of it first. If that fails it is only longer.
	if _, err := d.Fold(ctx); err != nil {
		d.cfg.Log.Debug("not folded before plans are switched", "err", err)
	}
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		n, err = d.switchTo(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("switch plans: %w", err)
	}
	return n, nil
}

func (d *Dispatcher) switchTo(ctx context.Context, tx pgx.Tx) (n int, err error) {
	if err := Barrier(ctx, tx); err != nil {
		return 0, err
	}
	// Behind the barrier nobody else switches, and no version comes in between.
	var e epochNow
	if e, err = readEpoch(ctx, tx); err != nil {
		return 0, err
	}
	v, err := d.cfg.Load(ctx)
	if err != nil {
		return 0, err
	}
	now, err := planTime(ctx, tx, d.cfg.Now)
	if err != nil {
		return 0, err
	}
	targets, err := targetsAt(ctx, tx, e.PlansAt)
	if err != nil {
		return 0, err
	}
	inForce := plans{at: e.PlansAt, next: nextChange(v.Tree, targets, e.PlansAt)}
	if !inForce.due(now) {
		return 0, nil
	}
	if err := rebaseAt(ctx, tx, v, now); err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, query["notify"], pgx.StrictNamedArgs{"what": "site"})
	return 1, err
}

// planTime is the moment whose plans should be in force: the database's, so that several daemons agree on it.
func planTime(ctx context.Context, db querier, clock func() time.Time) (time.Time, error) {
	if clock != nil {
		return clock(), nil
	}
	rows, err := db.Query(ctx, query["clock"])
	if err != nil {
		return time.Time{}, fmt.Errorf("clock: %w", err)
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[time.Time])
}

// epochNow is the epoch of the limits.
type epochNow struct {
	Epoch   int64
	PlansAt time.Time
}

func readEpoch(ctx context.Context, db querier) (epochNow, error) {
	rows, err := db.Query(ctx, query["epoch"])
	if err != nil {
		return epochNow{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[epochNow])
}
