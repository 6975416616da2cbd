package intake

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
)

// Scaled is what a task does not want any more, and what becomes other than it was.
type Scaled struct {
	Task    int64
	Names   []string // of jobs, their first inputs, that are not wanted any more
	Claims  []string // by their keys, that are to drain
	Sizes   []ClaimSize
	Untried []int64 // failed and cancelled jobs that nothing has tried again, in the order in which they would be
	Coming  int     // so many of these, the first, are still to be tried again
}

// ClaimSize is a claim of the task that more or fewer jobs share from now on.
type ClaimSize struct {
	NewClaim     // Members and Made do not count here
	More     int // jobs than before, those that were made and are not wanted any more included; below 0: fewer
}

// ScaledAway says what became of jobs that a task does not want any more.
type ScaledAway struct {
	Jobs   []int64 // all that have the names, those that are over too, by rising id
	Ended  int64   // of Untried, not to be tried again
	Coming int64   // of these, how many were about to be
	Claims int64   // that go with their last holder
}

// ScaleAway has jobs of a task end for good: those without a lease now, those that run at the end of their attempt, whatever its outcome.
// The caller holds the task's row, so that none are made meanwhile. Names and keys are looked up here: there may be a hundred thousand
// of them, and no plan must depend on how many PostgreSQL expects.
func ScaleAway(ctx context.Context, tx pgx.Tx, s Scaled) (out ScaledAway, err error) {
	if len(s.Names) > 0 {
		if err := s.jobs(ctx, tx, &out); err != nil {
			return out, fmt.Errorf("scale away: %w", err)
		}
	}
	if len(s.Claims)+len(s.Sizes) > 0 {
		if err := s.claims(ctx, tx, &out); err != nil {
			return out, fmt.Errorf("scale claims: %w", err)
		}
	}
	return out, nil
}

// jobs kills those that are not wanted.
func (s *Scaled) jobs(ctx context.Context, tx pgx.Tx, out *ScaledAway) error {
	wanted := make(map[string]bool, len(s.Names))
	for _, name := range s.Names {
		wanted[name] = true
	}
	named, err := pg.Collect[struct {
		ID   int64
		Name string
		Away bool // it was scaled away before: there may be others of its name
	}](ctx, tx, query["named_jobs"], pgx.StrictNamedArgs{"task": s.Task})
	if err != nil {
		return err
	}
	away := map[int64]bool{}
	var spans []taskSpan
	open := false // the last span goes on where no other job of the task lies between
	for _, j := range named {
		if j.Away || !wanted[j.Name] {
			open = false
			continue
		}
		out.Jobs, away[j.ID] = append(out.Jobs, j.ID), true
		if !open {
			spans = append(spans, taskSpan{s.Task, j.ID, j.ID})
		}
		spans[len(spans)-1].High, open = j.ID, true
	}
	for i, id := range s.Untried {
		if away[id] {
			out.Ended++
			if i < s.Coming {
				out.Coming++
			}
		}
	}
	if len(spans) == 0 {
		return nil
	}
	_, err = tx.Exec(ctx, query["scale_away"], pg.Columns(spans))
	if err != nil {
		return err
	}
	return Killing{Reason: "scaled", Idle: true}.spans(ctx, tx, spans, nil)
}

// claims has claims drain, and others be of another size.
func (s *Scaled) claims(ctx context.Context, tx pgx.Tx, out *ScaledAway) error {
	rows, err := pg.Collect[keyed](ctx, tx, query["task_claims"], pgx.StrictNamedArgs{"task": s.Task})
	if err != nil {
		return err
	}
	byKey := make(map[string]*keyed, len(rows))
	for i := range rows {
		byKey[rows[i].Key] = &rows[i]
	}
	var told []entry.Entry
	ids := []int64{}
	for _, key := range s.Claims {
		if row := byKey[key]; row != nil {
			delete(byKey, key)
			ids, told = append(ids, row.ID), append(told, entry.Unclaimed{Claim: row.ID})
		}
	}
	if _, err := tx.Exec(ctx, query["forget_claims"], pgx.StrictNamedArgs{"ids": ids}); err != nil {
		return err
	}
	out.Claims = int64(len(ids))
	for _, size := range s.Sizes {
		if row := byKey[size.Key]; row != nil {
			told = append(told, size.change(row)...)
		}
	}
	if err := countClaims(ctx, tx, rows); err != nil {
		return err
	}
	return Say(ctx, tx, told)
}

func (c ClaimSize) change(row *keyed) []entry.Entry {
	if c.More > 0 {
		row.Members += int64(c.More)
		return []entry.Entry{entry.Claimed{Claim: row.ID, Task: row.TaskID, Key: row.Key, Jobs: c.More, Template: c.Template, Missing: c.Missing,
			SharingID: c.SharingID, Label: c.Label}}
	}
	fewer := min(int64(-c.More), row.Members-row.Made)
	if fewer <= 0 {
		return nil
	}
	row.Members -= fewer
	return []entry.Entry{entry.Dropped{Claim: row.ID, Unmade: int(fewer)}}
}
