package throttle

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

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
	MaxRunning *int64 // as its user says
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

// Step puts what limits of the site make of tasks into force. It returns how many tasks it changed, and how many wait for a limit then; -1
// when another daemon is at it. One decision comes after the other, so no two of them take the same room. A site without limits costs a
// look at an index, and what it shows.
func Step(ctx context.Context, pool *pgxpool.Pool, st *site.Site) (changed, waiting int, err error) {
	limits := len(st.Limits) > 0
	if !limits {
		var left bool
		if err := pool.QueryRow(ctx, query["any_limited"]).Scan(&left); err != nil || !left {
			return 0, 0, err
		}
	}
	err = pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		changed, waiting = 0, -1
		mine, err := pg.TryLock(ctx, tx, pg.LockThrottle, 0)
		if err != nil || !mine {
			return err
		}
		tasks, err := pg.Collect[limitedTask](ctx, tx, query["limited"], pgx.StrictNamedArgs{"limits": limits})
		if err != nil {
			return err
		}
		rulings := judge(st, tasks)
		rulings = rulings[:min(len(rulings), throttleBatch)]
		waiting = throttledAfter(tasks, rulings)
		changed, err = rule(ctx, tx, rulings)
		return err
	})
	return changed, waiting, err
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
	rows, _ := tx.Query(ctx, query["throttle"], pgx.StrictNamedArgs{
		"tasks": ids, "befores": befores, "quotas": quotas, "limiteds": limiteds, "throttleds": throttleds}) // its error is ForEachRow's
	n := 0
	var id int64
	var resumes bool
	var paused []int64
	_, err := pgx.ForEachRow(rows, []any{&id, &resumes}, func() error {
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
