package series

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// Waited is a job that has waited for its first lease, since the submission of its task.
type Waited struct {
	Share   shares.ShareID
	Queue   shares.QueueID
	Seconds float64
}

// Wait adds to wait_hours and user_wait_hours how long jobs waited whose first attempt was folded since the last call, tells Waited of them, and
// returns how many they were. Safe on several daemons at once, of which one counts a job; the fold does not wait for it.
func (s *Sampler) Wait(ctx context.Context) (n int, err error) {
	rows, err := s.DB.Query(ctx, query["add_waits"])
	if err != nil {
		return 0, fmt.Errorf("waits: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[Waited])
	if err != nil {
		return 0, fmt.Errorf("waits: %w", err)
	}
	if s.Waited != nil && len(all) > 0 {
		s.Waited(all)
	}
	return len(all), nil
}
