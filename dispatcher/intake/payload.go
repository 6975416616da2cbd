package intake

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
)

// AddPayload stores what the jobs of tasks run; once a task, before its first job.
func AddPayload(ctx context.Context, tx pgx.Tx, payloads ...job.Payload) error {
	for _, p := range payloads {
		if err := p.Check(); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, query["add_payload"], pgx.StrictNamedArgs{"payloads": payloads}); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	return nil
}
