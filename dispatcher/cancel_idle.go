package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// CancelIdle ends at most limit jobs of the task that do not run; what runs is left alone. It is the soft half of
// CancelTask.
func CancelIdle(ctx context.Context, tx pgx.Tx, task int64, limit int) (n int, more bool, err error) {
	if err := barrierShared(ctx, tx); err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	ids, err := lockIdle(ctx, tx, task, []string{"waiting", "ready"}, limit)
	if err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	if n, err = cancelIdle(ctx, tx, ids); err != nil {
		return 0, false, fmt.Errorf("cancel: %w", err)
	}
	return n, len(ids) == limit, nil
}
