package stored

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
)

// Spec is a task as it was submitted, and what it was scaled to since.
func Spec(ctx context.Context, tx pgx.Tx, task int64) (s spec.Spec, scaled []spec.Scaling, err error) {
	err = tx.QueryRow(ctx, query["read_spec"], pgx.StrictNamedArgs{"task": task}).Scan(&s, &scaled)
	return s, scaled, err
}
