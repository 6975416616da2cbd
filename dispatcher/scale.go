package dispatcher

import (
	"context"
	"fmt"
	"time"

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

// ScaleAway has jobs of a task end for good, whatever their outcome, and claims of it drain. The caller holds the task's row,
// so that none are made meanwhile. Jobs are locked before claims, as the ends of leases do. Names and keys are looked up
// here: there may be a hundred thousand of them, and no plan must depend on how many PostgreSQL expects.
func ScaleAway(ctx context.Context, tx pgx.Tx, s Scaled) (out ScaledAway, err error) {
	if len(s.Names) > 0 {
		if err := s.markJobs(ctx, tx, &out); err != nil {
			return out, fmt.Errorf("scale away: %w", err)
		}
	}
	if len(s.Claims)+len(s.Gangs) > 0 {
		if err := s.changeClaims(ctx, tx, &out); err != nil {
			return out, fmt.Errorf("scale claims: %w", err)
		}
	}
	return out, nil
}

// namedJob is a job by its name.
type namedJob struct {
	ID      int64
	Name    string
	EndedAt *time.Time
}

// markJobs marks those that are not wanted, live or untried.
func (s *Scaled) markJobs(ctx context.Context, tx pgx.Tx, out *ScaledAway) error {
	wanted := make(map[string]bool, len(s.Names))
	for _, name := range s.Names {
		wanted[name] = true
	}
	live, err := collect[namedJob](ctx, tx, "named_jobs", pgx.StrictNamedArgs{"task": s.Task})
	if err != nil {
		return err
	}
	ids := []int64{}
	for _, j := range live {
		if wanted[j.Name] {
			ids = append(ids, j.ID)
		}
	}
	if _, err := tx.Exec(ctx, query["lock_jobs"], pgx.StrictNamedArgs{"ids": ids}); err != nil {
		return err
	}
	// A statement of its own sees what ended while the jobs were waited for.
	if err := tx.QueryRow(ctx, query["scale_away"], pgx.StrictNamedArgs{"ids": ids}).Scan(&out.Live, &out.Leased); err != nil {
		return err
	}
	untried, err := collect[namedJob](ctx, tx, "untried_jobs", pgx.StrictNamedArgs{"task": s.Task, "after": s.Retries.After})
	if err != nil {
		return err
	}
	ids = ids[:0]
	var first, last time.Time
	for i, j := range untried {
		if !wanted[j.Name] {
			continue
		}
		ids = append(ids, j.ID)
		if int64(i) < s.Retries.Coming {
			out.Coming++
		}
		if first.IsZero() || j.EndedAt.Before(first) {
			first = *j.EndedAt
		}
		if j.EndedAt.After(last) {
			last = *j.EndedAt
		}
	}
	if len(ids) == 0 {
		return nil
	}
	tag, err := tx.Exec(ctx, query["scale_away_ended"], pgx.StrictNamedArgs{"ids": ids, "first": first, "last": last})
	out.Ended = tag.RowsAffected()
	return err
}

// keyedClaim is a claim by its key.
type keyedClaim struct {
	ID  int64
	Key string
}

// changeClaims has claims drain, and gangs be of another size.
func (s *Scaled) changeClaims(ctx context.Context, tx pgx.Tx, out *ScaledAway) error {
	rows, err := collect[keyedClaim](ctx, tx, "keyed_claims", pgx.StrictNamedArgs{"task": s.Task})
	if err != nil {
		return err
	}
	byKey := make(map[string]int64, len(rows))
	for _, r := range rows {
		byKey[r.Key] = r.ID
	}
	ids := []int64{}
	for _, key := range s.Claims {
		if id, ok := byKey[key]; ok {
			ids = append(ids, id)
		}
	}
	tag, err := tx.Exec(ctx, query["drain_claims"], pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return err
	}
	out.Claims = tag.RowsAffected()
	ids = ids[:0]
	var members, mores []int32
	for _, g := range s.Gangs {
		if id, ok := byKey[g.Key]; ok {
			ids, members, mores = append(ids, id), append(members, int32(g.Members)), append(mores, int32(g.More))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err = tx.Exec(ctx, query["resize_gangs"], pgx.StrictNamedArgs{"ids": ids, "members": members, "mores": mores})
	return err
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
	gone, err := cancelIdle(ctx, tx, ids)
	if err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	return gone.total(), len(ids) == limit, nil
}
