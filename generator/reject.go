package generator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pg"
)

// Rejected is a task that cannot be, for callers that look for faults at the task and not in the answer.
type Rejected struct {
	Name       string
	User       string
	Reason     string          // what is wrong with it
	Parameters json.RawMessage // what was asked for, as in SubmitRequest
}

// Reject keeps such a task: aborted from the start, with the reason, without jobs. Error: ErrInvalid.
func (g *Submissions) Reject(ctx context.Context, r Rejected) (view.Task, error) {
	switch {
	case r.Name == "":
		return view.Task{}, spec.Invalid("name", "is missing", "what people call the task")
	case r.User == "":
		return view.Task{}, spec.Invalid("user", "is missing", "on whose behalf it runs")
	case len(r.Parameters) > maxParameters:
		return view.Task{}, spec.Invalid("parameters", fmt.Sprintf("have %d bytes, more than %d", len(r.Parameters), maxParameters), "")
	}
	kept := spec.Spec{Name: r.Name, User: r.User}
	s, err := json.Marshal(kept)
	if err != nil {
		return view.Task{}, fmt.Errorf("reject: %w", err)
	}
	args := pgx.StrictNamedArgs{"name": r.Name, "user": r.User, "reason": r.Reason, "spec": string(s),
		"attributes": map[string]string{"name": r.Name, "user": r.User}, "parameters": textArg(string(r.Parameters))}
	var id int64
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, query["reject"], args).Scan(&id); err != nil {
			return err
		}
		return recordSubmitted(ctx, tx, []newTask{{spec: kept}}, []int64{id})
	})
	if err != nil {
		return view.Task{}, fmt.Errorf("reject: %w", err)
	}
	return g.tasks.Task(ctx, id)
}
