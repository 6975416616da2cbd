package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

// An Account adds up to so many attempts at a time to the roll-ups, and goes on for accountFor at the most. What a batch costs beside
// its attempts, a look into every day and the rows that it changes, is worth it from some thousands of them on; 20,000 take half as
// much time each as 2,000, together about a second. rateHours bounds how many hours one Rate looks at.
const (
	accountBatch = 20_000
	accountFor   = 100 * time.Millisecond
	rateHours    = 48
)

// How often the index of numbers is brought up to date: of the newest days, and of all.
const (
	summaryEvery    = 10 * time.Second
	allSummaryEvery = 15 * time.Minute
)

// Account adds attempts that ended to the roll-ups of usage (tables usage_*, wait_hours), each once, and returns how many it
// added; 0 too while another daemon is at it. Attempts of before there were roll-ups are added by the hour, and are
// what it does first. The views of usage read what is not added yet one by one: they are exact however far it is.
func (d *Dispatcher) Account(ctx context.Context) (n int, err error) {
	if err := d.summarise(ctx, time.Now()); err != nil {
		return 0, fmt.Errorf("account: %w", err)
	}
	for until := time.Now().Add(accountFor); time.Now().Before(until); {
		added, more, err := AccountBatch(ctx, d.cfg.Pool)
		n += added
		if err != nil {
			return n, fmt.Errorf("account: %w", err)
		}
		if !more {
			break
		}
	}
	return n, nil
}

// summarise has the index of numbers know the newest pages, now and then. Where somebody else has such a lock of a day, as
// vacuum, or the daemon does not own the table, it is left to the next time, or to vacuum.
func (d *Dispatcher) summarise(ctx context.Context, now time.Time) error {
	d.mu.Lock()
	due, all := now.Sub(d.summarised) >= summaryEvery, now.Sub(d.allSummarised) >= allSummaryEvery
	if due {
		d.summarised = now
	}
	d.mu.Unlock()
	if !due {
		return nil
	}
	err := pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		if ok, err := pg.TryLock(ctx, tx, pg.LockAccount, 0); err != nil || !ok {
			return err
		}
		if _, err := tx.Exec(ctx, query["account_patience"]); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, query["account_summary"], pgx.StrictNamedArgs{"all": all})
		return err
	})
	switch code := pg.Code(err); {
	case code == pg.CodeLockNotAvailable || code == codeNotOwner:
		return nil
	case err != nil:
		return fmt.Errorf("summary: %w", err)
	}
	if all {
		d.mu.Lock()
		d.allSummarised = now
		d.mu.Unlock()
	}
	return nil
}

// codeNotOwner: what only the owner of a table may do.
const codeNotOwner = "42501"

// accounted is a row of usage_state. held: somebody may commit an attempt with a number up to Upto.
type accounted struct {
	Done, Upto int64
	Past       *time.Time
	Held       bool
}

// AccountBatch is one batch of Account, which needs no daemon. It says whether there is another that can be added at once.
func AccountBatch(ctx context.Context, pool *pgxpool.Pool) (n int, more bool, err error) {
	err = pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		n, more = 0, false
		if ok, err := pg.TryLock(ctx, tx, pg.LockAccount, 0); err != nil || !ok {
			return err
		}
		if _, err := tx.Exec(ctx, query["account_bound"]); err != nil {
			return err
		}
		at, err := accountTurn(ctx, tx)
		if err != nil {
			return err
		}
		if at.Past == nil && (at.Held || at.Done == at.Upto) {
			return nil
		}
		more = true
		upto := min(at.Upto, at.Done+accountBatch)
		if at.Past != nil {
			upto = at.Done
		}
		n, err = addUsage(ctx, tx, pgx.StrictNamedArgs{"done": at.Done, "upto": upto, "past": at.Past})
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return n, more, nil
}

// accountTurn reads how far it is, and looks for more where all that was known is added. A number is read first, then who
// may have an earlier one; a statement after that sees the attempts of all others.
func accountTurn(ctx context.Context, tx pgx.Tx) (at accounted, err error) {
	rows, err := collect[accounted](ctx, tx, "account_state", nil)
	if err != nil {
		return at, err
	}
	if at = rows[0]; at.Done < at.Upto {
		return at, nil
	}
	if err := tx.QueryRow(ctx, query["account_upto"]).Scan(&at.Upto); err != nil {
		return at, fmt.Errorf("account_upto: %w", err)
	}
	if at.Upto == at.Done {
		return at, nil
	}
	var holders int
	if err := tx.QueryRow(ctx, query["account_holders"]).Scan(&holders); err != nil {
		return at, fmt.Errorf("account_holders: %w", err)
	}
	at.Held = holders > 0
	return at, nil
}

// addUsage adds the attempts of one batch to every roll-up.
func addUsage(ctx context.Context, tx pgx.Tx, args pgx.StrictNamedArgs) (n int, err error) {
	var counted int
	if err := tx.QueryRow(ctx, query["account"], args).Scan(&n, &counted); err != nil {
		return 0, fmt.Errorf("account: %w", err)
	}
	if counted != 1 {
		return 0, fmt.Errorf("usage_state is not where it was: %v", args)
	}
	for _, verb := range []string{"account_nodes", "account_waits"} {
		if _, err := tx.Exec(ctx, query[verb], args); err != nil {
			return 0, fmt.Errorf("%s: %w", verb, err)
		}
	}
	return n, nil
}

// Rate writes down, for every hour that is over, what each share was promised and given by the samples (fairness_hours),
// and returns how many rows it wrote; 0 too while another daemon is at it. An hour that is rated again comes to the same.
func (d *Dispatcher) Rate(ctx context.Context) (n int, err error) {
	for range rateHours {
		var rated int
		err := pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
			rated = 0
			if ok, err := pg.TryLock(ctx, tx, pg.LockAccount, 1); err != nil || !ok {
				return err
			}
			var hour time.Time
			err := tx.QueryRow(ctx, query["rate_next"]).Scan(&hour)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			return tx.QueryRow(ctx, query["rate"], pgx.StrictNamedArgs{"hour": hour}).Scan(&rated)
		})
		if err != nil {
			return n, fmt.Errorf("rate: %w", err)
		}
		if rated == 0 {
			break
		}
		n += rated
	}
	return n, nil
}
