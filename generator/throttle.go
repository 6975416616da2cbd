package generator

import (
	"context"
	"fmt"

	"github.com/divvyhq/divvy/generator/throttle"
	"github.com/divvyhq/divvy/internal/site"
)

// Throttle keeps tasks within the limits of the site: those that are over wait, throttled, and come back when there is room.
// It returns how many tasks it changed; 0 also when another daemon is at it.
func (g *Generator) Throttle(ctx context.Context) (n int, err error) {
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return 0, fmt.Errorf("throttle: site: %w", err)
	}
	n, waiting, err := throttle.Step(ctx, g.cfg.Pool, st)
	if err != nil {
		return 0, fmt.Errorf("throttle: %w", err)
	}
	if waiting >= 0 {
		g.metrics.throttled.Set(float64(waiting))
	}
	if n > 0 {
		g.wrote()
		g.hint()
	}
	return n, nil
}

func (t *lockedTask) entry(st *site.Site, state string) string {
	return throttle.Entry(st, t.UserName, t.Attributes["label"], t.share(), state)
}
