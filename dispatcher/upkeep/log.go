package upkeep

import (
	"context"
	"fmt"
	"time"
)

// Room of the log that is made ahead, and the size of its partitions, in batches. A site that appends a hundred a second, which is more
// than any does, has room for hours.
const (
	LogRoom = 1_000_000
	LogSize = 250_000
)

// oldLog drops batches that are old, folded, and needed by nobody.
type oldLog struct{ Config }

func (s oldLog) run(ctx context.Context) (n int, err error) {
	if s.Keep.Log == 0 {
		return 0, nil
	}
	last, _, err := s.Folded(ctx)
	if err != nil {
		return 0, fmt.Errorf("old log: %w", err)
	}
	for _, needed := range s.Needed {
		seq, err := needed(ctx)
		if err != nil {
			return 0, fmt.Errorf("old log: %w", err)
		}
		last = min(last, seq)
	}
	return s.before(ctx, s.Keep.Log, func(ctx context.Context, at time.Time) (int, error) { return s.Log.Retain(ctx, at, last) })
}
