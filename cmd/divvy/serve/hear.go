package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/internal/loops"
	"github.com/divvyhq/divvy/internal/pg"
)

// channel is what transactions of all daemons notify on; the payload says what changed. A hint only: whoever
// misses one finds the change at the next tick.
const channel = "divvy"

// hintNews is said by daemons whose tasks have changed.
const hintNews = "news"

// hearing is what a daemon listens for, and who is told.
type hearing struct {
	news       *loops.News
	dispatcher *dispatcher.Dispatcher
	generator  *generator.Generator
	direct     string // DSN for LISTEN
	log        *slog.Logger
}

// heard passes a hint on; generators look anew at what they went by.
func (h *hearing) heard(hint string) {
	h.news.Hear(true)
	if hint == "" || hint == "tasks" || hint == "site" {
		h.generator.Heard()
	}
	if hint == "site" {
		h.dispatcher.Written() // whoever changed it may be gone
	}
	h.news.Wake(hint)
}

// hear listens until ctx ends, on a connection of its own that is made anew when it breaks.
func (h *hearing) hear(ctx context.Context) {
	for n := 1; ; n++ {
		began := time.Now()
		err := pg.Listen(ctx, h.direct, channel, h.heard)
		h.news.Hear(false)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > time.Minute {
			n = 1
		}
		if n == 1 {
			h.log.Warn("notifications are away; ticks go on", "error", err)
		}
		if !loops.Pause(ctx, loops.Backoff(n, err)) {
			return
		}
	}
}

// hearGenerator wakes the generators of this daemon at once after its own submissions.
func (h *hearing) hearGenerator(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.generator.Hints():
			h.news.Wake("tasks")
		}
	}
}

// tell tells other daemons, if there are any, that something has changed here. Where that fails they find it by themselves.
func (c *company) tell(ctx context.Context) {
	if c.member.Daemons() == 1 {
		return
	}
	if err := pg.Notify(ctx, c.member.DB, channel, hintNews); err != nil && ctx.Err() == nil {
		c.member.Log.Debug("other daemons were not told of a change; they find it within seconds", "error", err)
	}
}
