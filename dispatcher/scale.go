package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ScaledAway counts what became of jobs that a task does not want any more.
type ScaledAway struct {
	Live   int64 // now marked: those that run end for good, CancelScaledAway ends the others
	Leased int64 // of these
	Ended  int64 // failed or cancelled, and not to be tried again
	Coming int64 // of these, how many were about to be
	Claims int64 // now draining: they go with their last holder
}

// Retries are the failed and cancelled jobs of a task that are still to be tried again: the first Coming behind After.
type Retries struct {
	After  int64
	Coming int64
}

// ScaleAway has the jobs of a task with these names, their first inputs, end for good, whatever their outcome, and claims of
// it with these keys drain. The caller holds the task's row. Jobs are locked before claims, as the ends of leases do.
func ScaleAway(ctx context.Context, tx pgx.Tx, task int64, names, claims []string, r Retries) (out ScaledAway, err error) {
	args := pgx.StrictNamedArgs{"task": task, "names": names}
	rows, err := tx.Query(ctx, query["lock_named"], args)
	if err != nil {
		return out, fmt.Errorf("scale away: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return out, fmt.Errorf("scale away: %w", err)
	}
	// A statement of its own sees what ended while the jobs were waited for.
	if err := tx.QueryRow(ctx, query["scale_away"], pgx.StrictNamedArgs{"ids": ids}).Scan(&out.Live, &out.Leased); err != nil {
		return out, fmt.Errorf("scale away: %w", err)
	}
	err = tx.QueryRow(ctx, query["scale_away_ended"], pgx.StrictNamedArgs{"task": task, "names": names, "after": r.After, "coming": r.Coming}).
		Scan(&out.Ended, &out.Coming)
	if err != nil {
		return out, fmt.Errorf("scale away: %w", err)
	}
	tag, err := tx.Exec(ctx, query["drain_claims"], pgx.StrictNamedArgs{"task": task, "keys": claims})
	if err != nil {
		return out, fmt.Errorf("drain claims: %w", err)
	}
	out.Claims = tag.RowsAffected()
	return out, nil
}

// CancelScaledAway ends at most limit jobs of a task that were scaled away and do not run.
func CancelScaledAway(ctx context.Context, tx pgx.Tx, task int64, limit int) (n int, more bool, err error) {
	if err := barrierShared(ctx, tx); err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	rows, err := tx.Query(ctx, query["lock_scaled_away"], pgx.StrictNamedArgs{"task": task, "limit": limit})
	if err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	if n, err = cancelIdle(ctx, tx, ids); err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	return n, len(ids) == limit, nil
}
