package intake

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares/retry"
)

// AddPayload stores what the jobs of tasks run; once a task, before its first job.
func AddPayload(ctx context.Context, tx pgx.Tx, payloads ...job.Payload) error {
	type row struct {
		Task    int64               `json:"task_id"`
		Command []string            `json:"command"`
		Env     map[string]string   `json:"env"`
		Matrix  []job.Axis          `json:"matrix"`
		Roles   map[string][]string `json:"roles,omitempty"`
		Retry   *retry.Terms        `json:"retry,omitempty"`
	}
	rows := make([]row, len(payloads))
	for i, p := range payloads {
		if err := p.Check(); err != nil {
			return err
		}
		rows[i] = row{Task: p.Task, Command: p.Command, Env: p.Env, Matrix: p.Matrix, Roles: p.Roles, Retry: p.Retry}
		if p.Env == nil {
			rows[i].Env = map[string]string{}
		}
		if p.Matrix == nil {
			rows[i].Matrix = []job.Axis{}
		}
	}
	if _, err := tx.Exec(ctx, query["add_payload"], pgx.StrictNamedArgs{"payloads": rows}); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	return nil
}
