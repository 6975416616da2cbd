package intake

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
)

// Pause has jobs of tasks get no slots until Resume: those that are ready, and those that become so. Leases go on.
func Pause(ctx context.Context, tx pgx.Tx, tasks ...int64) error {
	return Say(ctx, tx, list(tasks, func(id int64) entry.Entry { return entry.Paused{Task: id} }))
}

// Resume ends Pause.
func Resume(ctx context.Context, tx pgx.Tx, tasks ...int64) error {
	return Say(ctx, tx, list(tasks, func(id int64) entry.Entry { return entry.Resumed{Task: id} }))
}

// Killing is how jobs are ended.
type Killing struct {
	Reason string // that pilots are told
	GraceS int32  // seconds from SIGTERM to SIGKILL
	Idle   bool   // attempts that run go on to their end, and count as ever; their jobs are not tried again
}

// entry kills the jobs of a task with ids from low to high.
func (k Killing) entry(task, low, high int64) entry.Entry {
	return entry.Killed{Task: task, Low: low, High: high, Reason: k.Reason, GraceS: k.GraceS, Idle: k.Idle}
}

// taskSpan is the ids of a task, or of some of its jobs.
type taskSpan struct{ TaskID, Low, High int64 }

// Kill ends all jobs that tasks have, those that are over excepted. The caller holds the rows of the tasks, so that none are made
// meanwhile; jobs that are made later are not meant. What claims were to get of jobs to come they do not get.
func Kill(ctx context.Context, tx pgx.Tx, k Killing, tasks ...int64) error {
	spans, err := pg.Collect[taskSpan](ctx, tx, query["task_spans"], pgx.StrictNamedArgs{"tasks": tasks})
	if err != nil {
		return fmt.Errorf("kill: %w", err)
	}
	dropped, err := unmake(ctx, tx, tasks)
	if err != nil {
		return fmt.Errorf("kill: %w", err)
	}
	return pg.Named("kill", k.spans(ctx, tx, spans, dropped))
}

// spans kills jobs, which then do not wait for a split either. What comes after is a row of its own: it may be refused alone.
func (k Killing) spans(ctx context.Context, tx pgx.Tx, spans []taskSpan, after []entry.Entry) error {
	_, err := tx.Exec(ctx, query["drop_splittings"], pg.Columns(spans))
	if err != nil {
		return err
	}
	return Say(ctx, tx, list(spans, func(s taskSpan) entry.Entry { return k.entry(s.TaskID, s.Low, s.High) }), after)
}

// KillJobs ends jobs by their ids, and returns those that were made ever, by rising id. It needs no lock: whatever else befalls them at the
// same time, they are over after both.
func KillJobs(ctx context.Context, tx pgx.Tx, k Killing, jobs ...int64) (found []int64, err error) {
	rows, err := pg.Collect[struct{ ID, TaskID, Low int64 }](ctx, tx, query["blocks_of"], pgx.StrictNamedArgs{"ids": jobs})
	if err != nil {
		return nil, fmt.Errorf("kill jobs: %w", err)
	}
	var spans []taskSpan
	for i, r := range rows {
		found = append(found, r.ID)
		if i > 0 && rows[i-1].Low == r.Low && rows[i-1].ID == r.ID-1 {
			spans[len(spans)-1].High = r.ID
			continue
		}
		spans = append(spans, taskSpan{r.TaskID, r.ID, r.ID})
	}
	if err := k.spans(ctx, tx, spans, nil); err != nil {
		return nil, fmt.Errorf("kill jobs: %w", err)
	}
	return found, nil
}
