package generator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/spec"
)

// How Forecast works: it looks at a task every half minute, at so many in one transaction, and forgets a rate within an hour.
const (
	forecastEvery   = 30 * time.Second
	forecastTasks   = 500
	forecastMemory  = time.Hour
	forecastHorizon = 10 * 365 * 24 * time.Hour
)

// lateRisks are those of tasks that are not over.
var lateRisks = []string{"unknown", "low", "high", "late"}

// forecast is what became of one look at a task.
type forecast struct {
	TaskID     int64
	WantsBoost bool
}

// Forecast works out when tasks with a deadline will be over, and gives those that are likely to be late the priority that they
// may gain. It returns the tasks that it looked at.
func (g *Generator) Forecast(ctx context.Context) (n int, err error) {
	rows, err := g.cfg.Pool.Query(ctx, query["forecast"], pgx.StrictNamedArgs{"every_s": forecastEvery.Seconds(), "limit": forecastTasks,
		"memory_s": forecastMemory.Seconds(), "horizon_s": forecastHorizon.Seconds()})
	if err != nil {
		return 0, fmt.Errorf("forecast: %w", err)
	}
	seen, err := pgx.CollectRows(rows, pgx.RowToStructByName[forecast])
	if err != nil {
		return 0, fmt.Errorf("forecast: %w", err)
	}
	for _, f := range seen {
		if f.WantsBoost {
			if err := g.boost(ctx, f.TaskID); err != nil {
				return len(seen), fmt.Errorf("forecast: %w", err)
			}
		}
	}
	return len(seen), g.countDeadlines(ctx)
}

// boost gives a task the priority that it gains when it is likely to be late, and its jobs with it.
func (g *Generator) boost(ctx context.Context, id int64) error {
	boosted := false
	err := g.write(ctx, func(tx pgx.Tx) error {
		boosted = false
		if err := steady(ctx, tx); err != nil {
			return err
		}
		if _, err := lockTask(ctx, tx, id); err != nil {
			return err
		}
		var priority, before int
		err := tx.QueryRow(ctx, query["boost"], pgx.StrictNamedArgs{"task": id}).Scan(&priority)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		priority, boosted = min(priority, spec.MaxPriority), true
		if err := tx.QueryRow(ctx, query["prioritise"], pgx.StrictNamedArgs{"task": id, "priority": priority}).Scan(&before); err != nil {
			return err
		}
		return intake.Prioritise(ctx, tx, id, priority)
	})
	if boosted && err == nil {
		g.cfg.Log.Info("task gains priority: it is likely to miss its deadline", "task", id)
		g.hint()
	}
	return err
}

func (g *Generator) countDeadlines(ctx context.Context) error {
	rows, err := g.cfg.Pool.Query(ctx, query["count_deadlines"])
	if err != nil {
		return fmt.Errorf("deadlines: %w", err)
	}
	counts := map[string]int64{}
	var risk string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&risk, &n}, func() error {
		counts[risk] = n
		return nil
	})
	for _, risk := range lateRisks {
		g.metrics.deadlines.WithLabelValues(risk).Set(float64(counts[risk]))
	}
	return err
}
