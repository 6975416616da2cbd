package series

import (
	"context"
	"fmt"
)

// Wait adds to wait_hours and user_wait_hours how long jobs waited whose first attempt was folded since the last call, and returns how many
// they were. Safe on several daemons at once; the fold does not wait for it.
func (s *Sampler) Wait(ctx context.Context) (n int, err error) {
	if err := s.DB.QueryRow(ctx, query["add_waits"]).Scan(&n); err != nil {
		return 0, fmt.Errorf("waits: %w", err)
	}
	return n, nil
}
