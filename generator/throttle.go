package generator

import (
	"context"
	"fmt"

	"github.com/divvyhq/divvy/generator/throttle"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
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

// whyThrottled is what a task says that Throttle has not seen yet.
const whyThrottled = "a limit of the site concerns it: within seconds it is let in, or says what it waits for"

// entryState is the state that a task comes to when it would be in that one: where a limit concerns it, Throttle lets it in.
func entryState(st *site.Site, user, label string, share shares.ShareID, state string) string {
	switch state {
	case "ready", "scouting", "running":
		if len(st.Limits) > 0 && len(st.LimitsOf(user, label, pathOf(st, share))) > 0 {
			return "throttled"
		}
	}
	return state
}

func (t *lockedTask) entry(st *site.Site, state string) string {
	return entryState(st, t.UserName, t.Attributes["label"], t.share(), state)
}
