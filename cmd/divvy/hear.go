package main

import (
	"context"
	"time"

	"github.com/divvyhq/divvy/internal/pg"
)

// channel is what transactions of all daemons notify on; the payload says what changed. A hint only: whoever
// misses one finds the change at the next tick.
const channel = "divvy"

// wakes passes hints on to the loops that asked for them.
type wakes struct {
	by map[string][]chan struct{}
}

func newWakes() *wakes { return &wakes{by: map[string][]chan struct{}{}} }

// on returns a channel that gets something soon after any of these hints. Hints that come close together are
// one. Call it before hear runs.
func (w *wakes) on(hints ...string) <-chan struct{} {
	c := make(chan struct{}, 1)
	for _, h := range hints {
		w.by[h] = append(w.by[h], c)
	}
	return c
}

// wake passes one hint on; "" stands for all, after a connection was lost.
func (w *wakes) wake(hint string) {
	for h, cs := range w.by {
		if hint != "" && h != hint {
			continue
		}
		for _, c := range cs {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}

// heard passes a hint on; generators look anew at what they went by.
func (d *daemon) heard(hint string) {
	if hint == "" || hint == "tasks" || hint == "site" {
		d.generator.Heard()
	}
	d.wakes.wake(hint)
}

// hear listens until ctx ends, on a connection of its own that is made anew when it breaks.
func (d *daemon) hear(ctx context.Context) {
	for n := 1; ; n++ {
		began := time.Now()
		err := pg.Listen(ctx, d.db.direct, channel, d.heard)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > time.Minute {
			n = 1
		}
		if n == 1 {
			d.log.Warn("notifications are away; ticks go on", "error", err)
		}
		if !pause(ctx, backoff(n, err)) {
			return
		}
	}
}

// hearGenerator wakes the generators of this daemon at once after its own submissions.
func (d *daemon) hearGenerator(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.generator.Hints():
			d.wakes.wake("tasks")
		}
	}
}
