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

// listener hears of changes, and wakes what waits for them.
type listener struct {
	news       *loops.News
	dispatcher *dispatcher.Dispatcher
	generator  *generator.Generator
	direct     string // DSN for LISTEN
	log        *slog.Logger
}

// heard passes a hint on; generators look anew at what they went by.
func (l *listener) heard(hint string) {
	l.news.Hear(true)
	if hint == "" || hint == "tasks" || hint == "site" {
		l.generator.Heard()
	}
	if hint == "site" {
		l.dispatcher.Written() // the writer may be gone
	}
	l.news.Wake(hint)
}

// hear listens until ctx ends, on a connection of its own that is made anew when it breaks.
func (l *listener) hear(ctx context.Context) {
	for n := 1; ; n++ {
		began := time.Now()
		err := pg.Listen(ctx, l.direct, channel, l.heard)
		l.news.Hear(false)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > time.Minute {
			n = 1
		}
		if n == 1 {
			l.log.Warn("notifications are away; ticks go on", "error", err)
		}
		if !loops.Pause(ctx, loops.Backoff(n, err)) {
			return
		}
	}
}

// hearGenerator wakes the generators of this daemon at once after its own submissions.
func (l *listener) hearGenerator(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.generator.Hints():
			l.news.Wake("tasks")
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
