package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// A purge takes purgeBatch rows of each lane of the ledger at a time, and goes on with the ledger for purgeFor at most: a
// lane that writes more rows in a minute than a batch has must not outgrow it, and the rest waits for the next minute.
const (
	purgeBatch = 5000
	purgeFor   = 20 * time.Second

	// Of each roll-up so many rows a minute: more than two million a day of the largest make.
	rollupBatch = 2000
)

// Purge drops what is over: request ids after ten minutes, ledger rows that all readers have folded and that are
// older than Config.Keep, closed daemons without rows, counts of ends of more than eight days ago, reports that their end
// has left behind, ranges of ids whose jobs have all ended, claims that were released long ago, and by the day what else is kept for
// replays, samples and history. It returns
// how many rows, and days, went. All that was over when it began goes, unless that takes longer than purgeFor; something is
// over again a moment later, so it need not be repeated until nothing is.
func (d *Dispatcher) Purge(ctx context.Context) (n int, err error) {
	ledger := statement{"purge_ledger", pgx.StrictNamedArgs{"keep_s": d.cfg.Keep.Seconds(), "n": purgeBatch}}
	for until := time.Now().Add(purgeFor); ; {
		went, err := d.purge(ctx, ledger)
		n += went
		if err != nil {
			return n, err
		}
		if went < purgeBatch || time.Now().After(until) {
			break
		}
	}
	went, err := d.purge(ctx, statement{"purge_pulls", nil}, statement{"purge_daemons", nil}, statement{"purge_reclaims", nil},
		statement{"purge_memory", nil}, statement{"purge_ends", nil},
		statement{"purge_claims", pgx.StrictNamedArgs{"keep_s": d.cfg.Keep.Seconds()}})
	n += went
	if err != nil {
		return n, err
	}
	var failed error // what these leave behind keeps no day from being dropped
	for _, step := range []func(context.Context) (int, error){d.purgeReports, d.purgeRanges, d.purgeReadyRanges} {
		went, err := step(ctx)
		n += went
		failed = errors.Join(failed, err)
	}
	went, err = d.purge(ctx, append(d.strays(), d.rollups()...)...)
	n += went
	if err != nil {
		return n, errors.Join(failed, err)
	}
	days, err := d.dropDays(ctx) // by itself: its lock is held for no other's work
	if err != nil {
		err = fmt.Errorf("purge: %w", err)
	}
	return n + days, errors.Join(failed, err)
}

// strays deletes from the default partitions what is older than the days that are kept.
func (d *Dispatcher) strays() (list []statement) {
	for _, of := range []struct{ table, verb string }{ // the others have no default
		{"attempts", "purge_rest_attempts"}, {"ended_jobs", "purge_rest_ended_jobs"}, {"share_samples", "purge_rest_share_samples"},
		{"attempts", "purge_pieces"},
	} {
		if days := d.keepDays(of.table); days > 0 {
			list = append(list, statement{of.verb, pgx.StrictNamedArgs{"keep": days, "n": purgeBatch}})
		}
	}
	return list
}

// rollups deletes from the roll-ups what is older than they are kept, whole days of it.
func (d *Dispatcher) rollups() (list []statement) {
	for _, of := range []struct {
		keep  time.Duration
		verbs []string
	}{
		{d.cfg.KeepHours, []string{"purge_usage_hours", "purge_wait_hours", "purge_user_wait_hours", "purge_fairness_hours"}},
		{d.cfg.KeepDays, []string{"purge_usage_days", "purge_usage_tasks", "purge_usage_nodes"}},
	} {
		if of.keep == 0 {
			continue
		}
		for _, verb := range of.verbs {
			list = append(list, statement{verb, pgx.StrictNamedArgs{"keep": wholeDays(of.keep), "n": rollupBatch}})
		}
	}
	return list
}

// purge runs statements in a transaction; nothing while another daemon is at it.
func (d *Dispatcher) purge(ctx context.Context, list ...statement) (n int, err error) {
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		n = 0
		if ok, err := pg.TryLock(ctx, tx, pg.LockPurge, 0); err != nil || !ok {
			return err
		}
		for _, st := range list {
			tag, err := tx.Exec(ctx, query[st.verb], st.list()...)
			if err != nil {
				return fmt.Errorf("%s: %w", st.verb, err)
			}
			n += int(tag.RowsAffected())
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("purge: %w", err)
	}
	return n, nil
}
