package judge

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Verdict is a task's state before and after its jobs were looked at.
type Verdict struct {
	ID     int64
	Before string
	After  string
}

// States are those of a task: of the CHECK constraint, in doc.go's order.
var States = []string{"submitting", "waiting", "ready", "scouting", "running", "paused", "throttled", "exhausted", "finishing", "done",
	"finished", "failed", "aborting", "aborted"}

// Final states never change, but that finished and failed tasks may be tried again.
func Final(state string) bool {
	switch state {
	case "done", "finished", "failed", "aborted":
		return true
	}
	return false
}

// Tasks moves the states of tasks on of which something was said, and returns those that changed. It locks the rows first, in a statement
// of its own, so that it sees what others committed meanwhile.
func Tasks(ctx context.Context, tx pgx.Tx, tasks []int64) ([]Verdict, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	if _, err := tx.Exec(ctx, query["lock_tasks"], pgx.StrictNamedArgs{"tasks": tasks}); err != nil {
		return nil, err
	}
	return Locked(ctx, tx, tasks, true)
}

// Locked is judge for locked tasks. said: one that is over is so from now on, not since its last job ended.
func Locked(ctx context.Context, tx pgx.Tx, tasks []int64, said bool) ([]Verdict, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	verdicts, err := pg.Collect[Verdict](ctx, tx, query["judge"], pgx.StrictNamedArgs{"tasks": tasks, "said": said})
	if err != nil {
		return nil, err
	}
	var paused, over []int64
	for _, v := range verdicts {
		if v.resumes() {
			paused = append(paused, v.ID)
		}
		if Final(v.After) {
			over = append(over, v.ID)
		}
	}
	if len(paused) > 0 {
		err = intake.Resume(ctx, tx, paused...)
	}
	if len(over) > 0 && err == nil {
		err = intake.Complete(ctx, tx, over...) // their claims need not wait for more jobs
	}
	return verdicts, err
}

// resumes says that the task was over while it was paused: it may be tried again, and must not be paused then.
func (v Verdict) resumes() bool {
	return Final(v.After) && (v.Before == "paused" || v.Before == "throttled")
}

// Ways of ending jobs: their attempts are told to end, or go on to their end.
var (
	Killed   = intake.Killing{Reason: "killed", GraceS: 10}
	Finished = intake.Killing{Reason: "finished early", Idle: true}
)

// EndJobs ends the jobs that tasks have. A task that was paused is not any more: it may be tried again.
func EndJobs(ctx context.Context, tx pgx.Tx, how intake.Killing, tasks []int64) error {
	if err := intake.Kill(ctx, tx, how, tasks...); err != nil {
		return err
	}
	return intake.Resume(ctx, tx, tasks...)
}
