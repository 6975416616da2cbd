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

// Scaled is what a task does not want any more, and what becomes other than it was.
type Scaled struct {
	Task    int64
	Names   []string // of jobs, their first inputs, that are not wanted any more
	Claims  []string // by their keys, that are to drain
	Gangs   []GangSize
	Retries Retries
}

// GangSize is a claim whose jobs start together: how many they are from now on.
type GangSize struct {
	Key     string
	Members int
	More    int // than before, those that were made and are not wanted any more included
}

// Retries are the failed and cancelled jobs of a task that are still to be tried again: the first Coming behind After.
type Retries struct {
	After  int64
	Coming int64
}

// ScaleAway has jobs of a task end for good, whatever their outcome, and claims of it drain. The caller holds the task's row.
// Jobs are locked before claims, as the ends of leases do.
func ScaleAway(ctx context.Context, tx pgx.Tx, s Scaled) (out ScaledAway, err error) {
	args := pgx.StrictNamedArgs{"task": s.Task, "names": s.Names}
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
	err = tx.QueryRow(ctx, query["scale_away_ended"], pgx.StrictNamedArgs{"task": s.Task, "names": s.Names, "after": s.Retries.After,
		"coming": s.Retries.Coming}).
		Scan(&out.Ended, &out.Coming)
	if err != nil {
		return out, fmt.Errorf("scale away: %w", err)
	}
	tag, err := tx.Exec(ctx, query["drain_claims"], pgx.StrictNamedArgs{"task": s.Task, "keys": s.Claims})
	if err != nil {
		return out, fmt.Errorf("drain claims: %w", err)
	}
	out.Claims = tag.RowsAffected()
	return out, resizeGangs(ctx, tx, s)
}

func resizeGangs(ctx context.Context, tx pgx.Tx, s Scaled) error {
	if len(s.Gangs) == 0 {
		return nil
	}
	keys, members, mores := make([]string, len(s.Gangs)), make([]int32, len(s.Gangs)), make([]int32, len(s.Gangs))
	for i, g := range s.Gangs {
		keys[i], members[i], mores[i] = g.Key, int32(g.Members), int32(g.More)
	}
	if _, err := tx.Exec(ctx, query["resize_gangs"], pgx.StrictNamedArgs{"task": s.Task, "keys": keys, "members": members, "mores": mores}); err != nil {
		return fmt.Errorf("gangs: %w", err)
	}
	return nil
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
