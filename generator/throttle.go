package generator

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// throttleBatch is how many tasks one Throttle changes.
const throttleBatch = 1000

// limitedTask is a live task as limits see it.
type limitedTask struct {
	ID         int64
	State      string
	UserName   string
	Label      string
	Share      string
	Cores      int64
	NJobs      int64
	NGenerated int64
	NLeased    int64
	Ended      int64
	Quota      *int64
	Limited    string
}

// ruling is what limits make of a task: nil is no quota, "" no limit that keeps it from anything.
type ruling struct {
	task      int64
	before    string
	quota     *int64
	limited   string
	throttled bool
}

// Throttle keeps tasks within the limits of the site: those that are over wait, throttled, and come back when there is room.
// It returns how many tasks it changed; 0 also when another daemon is at it. All of them have what they may make from here,
// one decision after the other, so no two of them take the same room. A site without limits costs a look at an index.
func (g *Generator) Throttle(ctx context.Context) (n int, err error) {
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return 0, fmt.Errorf("throttle: site: %w", err)
	}
	if len(st.Limits) == 0 {
		var left bool
		if err := g.cfg.Pool.QueryRow(ctx, query["any_limited"]).Scan(&left); err != nil || !left {
			g.metrics.throttled.Set(0)
			return 0, err
		}
	}
	waiting := -1 // unless this daemon has looked
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		n = 0
		mine, err := pg.TryLock(ctx, tx, pg.LockThrottle, 0)
		if err != nil || !mine {
			return err
		}
		rows, err := tx.Query(ctx, query["limited"])
		if err != nil {
			return err
		}
		tasks, err := pgx.CollectRows(rows, pgx.RowToStructByName[limitedTask])
		if err != nil {
			return err
		}
		rulings := judgeLimits(st, tasks)
		rulings = rulings[:min(len(rulings), throttleBatch)]
		waiting = throttledAfter(tasks, rulings)
		n, err = rule(ctx, tx, rulings)
		return err
	})
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

// throttledAfter counts the tasks that wait for a limit once the rulings are written.
func throttledAfter(tasks []limitedTask, rulings []ruling) (n int) {
	for i := range tasks {
		if tasks[i].State == "throttled" {
			n++
		}
	}
	for _, r := range rulings {
		switch was := r.before == "throttled"; {
		case r.throttled && !was:
			n++
		case was && !r.throttled:
			n--
		}
	}
	return n
}

// rule writes rulings, in the order of ids as everybody locks tasks, and has the jobs of those that it lets in get slots again.
func rule(ctx context.Context, tx pgx.Tx, rulings []ruling) (int, error) {
	if len(rulings) == 0 {
		return 0, nil
	}
	var ids []int64
	var befores, limiteds []string
	var quotas []*int64
	var throttleds []bool
	for _, r := range rulings {
		ids, befores, quotas = append(ids, r.task), append(befores, r.before), append(quotas, r.quota)
		limiteds, throttleds = append(limiteds, r.limited), append(throttleds, r.throttled)
	}
	if _, err := tx.Exec(ctx, query["lock_tasks"], pgx.StrictNamedArgs{"tasks": ids}); err != nil {
		return 0, err
	}
	rows, err := tx.Query(ctx, query["throttle"], pgx.StrictNamedArgs{
		"tasks": ids, "befores": befores, "quotas": quotas, "limiteds": limiteds, "throttleds": throttleds})
	if err != nil {
		return 0, err
	}
	n := 0
	var id int64
	var resumes bool
	var paused []int64
	_, err = pgx.ForEachRow(rows, []any{&id, &resumes}, func() error {
		if n++; resumes {
			paused = append(paused, id)
		}
		return nil
	})
	if err == nil && len(paused) > 0 {
		err = intake.Resume(ctx, tx, paused...)
	}
	return n, err
}

// corePower is the largest of all queues, in thousandths: a job that has no slot yet counts as if it had one of these.
func corePower(st *site.Site) shares.Units {
	power := shares.Units(0)
	for _, q := range st.Queues {
		power = max(power, shares.Units(q.CorePowerMilli))
	}
	if power == 0 {
		return 1000
	}
	return power
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
