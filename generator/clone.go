package generator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// CloneRequest asks for a task like another one.
type CloneRequest struct {
	Task           int64
	Changes        json.RawMessage // part of a Spec, as in RFC 7396: what it has is other, null is absent, the rest as it was
	IdempotencyKey string
	Check          func(context.Context, *Spec) error // may refuse what comes of it, or change it; nil: all may be
}

// Clone submits a task as another one was submitted, with changes, and with the same inputs unless the changes say how the
// work is split. A repeat with the same key gets the same task, and goes on where it broke off. Errors: ErrNoTask and those of
// Submit and Commit.
func (g *Generator) Clone(ctx context.Context, r CloneRequest) (Task, error) {
	spec, stored, err := g.alike(ctx, r)
	if err != nil {
		return Task{}, err
	}
	t, err := g.Submit(ctx, SubmitRequest{Spec: spec, IdempotencyKey: r.IdempotencyKey})
	if err != nil || !stored || t.State != "submitting" {
		return t, err
	}
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, query["copy_inputs"], pgx.StrictNamedArgs{"task": t.ID, "source": r.Task})
		return err
	})
	if err != nil {
		return Task{}, fmt.Errorf("clone inputs: %w", err)
	}
	return g.Commit(ctx, t.ID)
}

// alike is the spec of a task with changes; stored says that its inputs are to be copied.
func (g *Generator) alike(ctx context.Context, r CloneRequest) (spec Spec, stored bool, err error) {
	var body []byte
	var split string
	err = g.cfg.Pool.QueryRow(ctx, query["read_clone"], pgx.StrictNamedArgs{"task": r.Task}).Scan(&body, &split)
	if errors.Is(err, pgx.ErrNoRows) {
		return spec, false, fmt.Errorf("clone: %w", ErrNoTask)
	}
	if err != nil {
		return spec, false, fmt.Errorf("clone: %w", err)
	}
	if body, err = mergePatch(body, r.Changes); err != nil {
		return spec, false, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&spec); err != nil {
		return spec, false, fault("changes", err.Error(), "keys of a task file, as in POST /v1/tasks")
	}
	if r.Check != nil {
		if err := r.Check(ctx, &spec); err != nil {
			return spec, false, err
		}
	}
	if stored = split == "inputs" && !spec.splits(); stored {
		spec.InputsStreamed = true
	}
	return spec, stored, nil
}

// splits says that the spec itself says what its work is.
func (s *Spec) splits() bool {
	return s.Count != 0 || len(s.Inputs) > 0 || s.InputsFile != "" || s.Events != nil || len(s.Matrix) > 0 || s.grouped()
}

// mergePatch changes an object as RFC 7396 says. A new way to split the work takes the place of the old one.
func mergePatch(body, patch json.RawMessage) ([]byte, error) {
	if len(patch) == 0 {
		return body, nil
	}
	if strict.ManyValues(patch, maxInline) {
		return nil, fault("changes", fmt.Sprintf("have more than %d values", maxInline), "say inputs_streamed, and send the inputs for themselves")
	}
	var target, changes map[string]any
	if err := unmarshalExact(patch, &changes); err != nil {
		return nil, fault("changes", "is not a JSON object: "+err.Error(), `for instance {"priority": 5}`)
	}
	if err := unmarshalExact(body, &target); err != nil {
		return nil, err
	}
	for _, key := range splits {
		if changes[key] != nil {
			for _, other := range splits {
				delete(target, other)
			}
			break
		}
	}
	return json.Marshal(merge(target, changes))
}

// unmarshalExact keeps numbers as they are written.
func unmarshalExact(body []byte, into *map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return d.Decode(into)
}

func merge(target, changes map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for key, value := range changes {
		switch v := value.(type) {
		case nil:
			delete(target, key)
		case map[string]any:
			inner, _ := target[key].(map[string]any)
			target[key] = merge(inner, v)
		default:
			target[key] = v
		}
	}
	return target
}
