package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pg"
)

// Recent selects tasks for a list that begins with the newest. Zero fields select nothing away.
type Recent struct {
	User    string
	Label   string
	Name    string
	Request string     // the reqID of PanDA's task parameters; a task without one has its id
	States  []string   // in one of these
	Since   *time.Time // not over, or over since then
	After   int64      // ids above this one
	Limit   int        // 1 … 10000; 0 = 500
}

// Bounds of a list of recent tasks: how many, and without a user how many ids back they are looked for.
const (
	someRecent = 500
	mostRecent = 10_000
	reach      = 100_000
)

// Recent lists tasks with their Specs, the newest first.
func (rd *Reader) Recent(ctx context.Context, r Recent) ([]Task, error) {
	limit := min(max(r.Limit, 1), mostRecent)
	if r.Limit == 0 {
		limit = someRecent
	}
	states := r.States
	if states == nil {
		states = []string{}
	}
	args := pgx.StrictNamedArgs{"label": r.Label, "name": r.Name, "request": r.Request, "states": states, "since": r.Since,
		"after": r.After, "limit": limit}
	sql, more := query["recent"], pgx.StrictNamedArgs{"reach": reach}
	if r.User != "" {
		sql, more = query["recent_of"], pgx.StrictNamedArgs{"user": r.User}
	}
	maps.Copy(args, more)
	return rd.listed(ctx, sql, args)
}

// TasksByID returns the tasks that there are among ids, with their Specs, the newest first.
func (rd *Reader) TasksByID(ctx context.Context, ids []int64) ([]Task, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return rd.listed(ctx, query["tasks_by_id"], pgx.StrictNamedArgs{"ids": ids})
}

func (rd *Reader) listed(ctx context.Context, sql string, args pgx.StrictNamedArgs) ([]Task, error) {
	all, err := pg.CollectTo(ctx, pgx.RowToStructByNameLax[taskRow], rd.pool, sql, args)
	if err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	return rd.tasksOf(ctx, all), nil
}

func (rd *Reader) tasksOf(ctx context.Context, rows []taskRow) []Task {
	tasks, specs := make([]Task, len(rows)), make([]*spec.Spec, len(rows))
	for i, r := range rows {
		tasks[i], specs[i] = r.task(), cmp.Or(r.Asks, r.Spec)
	}
	rd.sayCannotRun(ctx, tasks, specs)
	return tasks
}
