package client

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
)

// backoff is the pause after the try-th failure, from 0: what the daemon asked for, else doubled each time, half
// of it jitter.
func backoff(try int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked + rand.N(asked/4+1)
	}
	pause := min(mostPause, firstPause<<min(try, 10))
	return pause/2 + rand.N(pause/2+1)
}

// sleep is false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
