package upkeep

import (
	"context"
	"fmt"
	"time"
)

// Room of the log that is made ahead, and the size of its partitions, in batches. A site that appends a hundred a second, which is more
// than any does, has room for hours, and 60 partitions a week: an append takes a microsecond for each of them.
const (
	LogRoom = 1_000_000
	LogSize = 1_000_000
)

// oldLog drops batches that are old, folded, and needed by nobody.
type oldLog struct{ Config }

func (s oldLog) run(ctx context.Context) (int, error) {
	return s.before(ctx, s.Keep.Log, func(ctx context.Context, before time.Time) (int, error) {
		last, _, err := s.Folded(ctx)
		for _, needed := range s.Needed {
			if err != nil {
				break
			}
			var seq int64
			seq, err = needed(ctx, before)
			last = min(last, seq)
		}
		if err != nil {
			return 0, fmt.Errorf("old log: %w", err)
		}
		return s.Log.Retain(ctx, before, last)
	})
}

// oldHistory drops what the log was folded into, up to where that has come, once the sums by node have it.
type oldHistory struct{ Config }

func (s oldHistory) run(ctx context.Context) (int, error) {
	return s.before(ctx, s.Keep.History, func(ctx context.Context, before time.Time) (int, error) {
		_, at, err := s.Folded(ctx)
		if err == nil {
			err = s.Roll(ctx)
		}
		if err != nil {
			return 0, fmt.Errorf("old history: %w", err)
		}
		if at.Before(before) {
			before = at
		}
		return s.History(ctx, before)
	})
}
