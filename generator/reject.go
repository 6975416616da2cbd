package generator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Rejected is a task that cannot be, for callers that look for faults at the task and not in the answer.
type Rejected struct {
	Name       string
	User       string
	Reason     string          // what is wrong with it
	Parameters json.RawMessage // what was asked for, as in SubmitRequest
}

// Reject keeps such a task: aborted from the start, with the reason, without jobs. Error: ErrInvalid.
func (g *Generator) Reject(ctx context.Context, r Rejected) (Task, error) {
	switch {
	case r.Name == "":
		return Task{}, fault("name", "is missing", "what people call the task")
	case r.User == "":
		return Task{}, fault("user", "is missing", "on whose behalf it runs")
	case len(r.Parameters) > maxParameters:
		return Task{}, fault("parameters", fmt.Sprintf("have %d bytes, more than %d", len(r.Parameters), maxParameters), "")
	}
	spec, err := json.Marshal(Spec{Name: r.Name, User: r.User})
	if err != nil {
		return Task{}, fmt.Errorf("reject: %w", err)
	}
	args := pgx.StrictNamedArgs{"name": r.Name, "user": r.User, "reason": r.Reason, "spec": string(spec),
		"attributes": map[string]string{"name": r.Name, "user": r.User}, "parameters": textArg(string(r.Parameters))}
	var id int64
	if err := g.cfg.Pool.QueryRow(ctx, query["reject"], args).Scan(&id); err != nil {
		return Task{}, fmt.Errorf("reject: %w", err)
	}
	return g.Task(ctx, id)
}
