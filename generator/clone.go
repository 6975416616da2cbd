package generator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pg"
)

// CloneRequest asks for a task like another one.
type CloneRequest struct {
	Task           int64
	Changes        json.RawMessage // part of a Spec, as in RFC 7396: what it has is other, null is absent, the rest as it was
	IdempotencyKey string
	Check          func(context.Context, *spec.Spec) error // may refuse what comes of it, or change it; nil: all may be
}

// Clone submits a task as another one was submitted, with changes, and with the same inputs unless the changes say how the
// work is split. A repeat with the same key gets the same task, and goes on where it broke off. Errors: ErrNoTask and those of
// Submit and Commit.
func (g *Submissions) Clone(ctx context.Context, r CloneRequest) (view.Task, error) {
	s, stored, err := g.alike(ctx, r)
	if err != nil {
		return view.Task{}, err
	}
	t, err := g.Submit(ctx, SubmitRequest{Spec: s, IdempotencyKey: r.IdempotencyKey})
	if err != nil || !stored || t.State != "submitting" {
		return t, err
	}
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, query["copy_inputs"], pgx.StrictNamedArgs{"task": t.ID, "source": r.Task})
		return err
	})
	if err != nil {
		return view.Task{}, fmt.Errorf("clone inputs: %w", err)
	}
	return g.Commit(ctx, t.ID)
}

// alike is the spec of a task with changes; stored says that its inputs are to be copied.
func (g *Submissions) alike(ctx context.Context, r CloneRequest) (s spec.Spec, stored bool, err error) {
	var body []byte
	var split string
	err = g.cfg.Pool.QueryRow(ctx, query["read_clone"], pgx.StrictNamedArgs{"task": r.Task}).Scan(&body, &split)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, false, fmt.Errorf("clone: %w", view.ErrNoTask)
	}
	if err != nil {
		return s, false, fmt.Errorf("clone: %w", err)
	}
	if s, err = spec.Patched(body, r.Changes); err != nil {
		return s, false, err
	}
	if r.Check != nil {
		if err := r.Check(ctx, &s); err != nil {
			return s, false, err
		}
	}
	if stored = split == "inputs" && !s.Splits(); stored {
		s.InputsStreamed = true
	}
	return s, stored, nil
}
