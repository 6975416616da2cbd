package site

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// dueBatch bounds one ApplyDue: a daemon that was away for long has the rest at its next step.
const dueBatch = 20

// dueRow is a file whose time has come.
type dueRow struct {
	ID          int64
	EffectiveAt time.Time
	StoredBy    string
	Note        string
	File        string
	Source      string
	Moves       map[string]string
	BaseVersion int64
}

// ApplyDue applies the files for later whose time has come, in their order, each in a transaction of its own, and
// returns how many it dealt with. One that cannot be applied any more is kept as failed with its error, and nothing of
// it was applied; the next one is tried all the same. Any number of daemons may call it at once: each file is dealt
// with once.
func (s *Store) ApplyDue(ctx context.Context) (n int, err error) {
	for range dueBatch {
		due, err := one[struct{ Due bool }](ctx, s.db, "any_due", pgx.StrictNamedArgs{})
		if err != nil || !due.Due {
			return n, err
		}
		switch err := s.aheadOfDue(ctx); {
		case errors.Is(err, ErrMoving):
			return n, nil // the next step goes on
		case err != nil && !errors.Is(err, pgx.ErrNoRows):
			return n, fmt.Errorf("site: later versions: %w", err)
		}
		did, err := s.applyNext(ctx)
		if err != nil {
			return n, fmt.Errorf("site: later versions: %w", err)
		}
		if did {
			n++
		}
	}
	return n, nil
}

// applyNext deals with the first file that is due; false when another daemon was faster.
func (s *Store) applyNext(ctx context.Context) (did bool, err error) {
	var due dueRow
	var out Applied
	var refused error
	err = pg.InTx(ctx, s.db, func(tx pgx.Tx) error {
		did, out, refused = false, Applied{}, nil
		if err := pg.Lock(ctx, tx, pg.LockSite, 0); err != nil {
			return err
		}
		due, err = one[dueRow](ctx, tx, "next_due", pgx.StrictNamedArgs{})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		// In a savepoint: a refusal leaves nothing behind but what end_later says of it.
		err = pg.InTx(ctx, tx, func(part pgx.Tx) (err error) {
			out, err = s.applyDue(ctx, part, due)
			return err
		})
		end := pgx.StrictNamedArgs{"id": due.ID, "state": "applied", "version": out.Version, "error": ""}
		if err != nil {
			if !final(err) {
				return err
			}
			refused = err
			end["state"], end["version"], end["error"] = "failed", int64(0), err.Error()
		}
		did = true
		_, err = exec(ctx, tx, "end_later", end)
		return err
	})
	if err != nil || !did {
		return false, err
	}
	s.tell(due, out, refused)
	return true, nil
}

func (s *Store) applyDue(ctx context.Context, tx pgx.Tx, due dueRow) (Applied, error) {
	next, err := Parse(due.File, []byte(due.Source))
	if err != nil {
		return Applied{}, err
	}
	next.AppliedBy, next.Note = due.StoredBy, due.Note
	if next.Note == "" {
		next.Note = fmt.Sprintf("later version %d, for %s", due.ID, due.EffectiveAt.UTC().Format(time.RFC3339))
	}
	return s.changeIn(ctx, tx, wanted{next: next, moves: due.Moves})
}

// final says whether a file is wrong itself: a repeat would end the same way. The rest, as a database that is away, is
// tried again.
func final(err error) bool {
	var problems strict.Problems
	var refused *Refused
	return errors.As(err, &problems) || errors.As(err, &refused) || errors.Is(err, errNoMove)
}

func (s *Store) tell(due dueRow, out Applied, refused error) {
	log := s.log.With("later", due.ID, "effective_at", due.EffectiveAt, "by", due.StoredBy)
	if refused != nil {
		s.due.WithLabelValues("failed").Inc()
		log.Error("a later version could not be applied and is not in force", "error", refused)
		return
	}
	s.due.WithLabelValues("applied").Inc()
	if note := passed(due.BaseVersion, out.Version-1); note != "" && !out.Unchanged {
		log = log.With("note", note)
	}
	log.Info("a later version is in force", "version", out.Version)
}
