package slurm

import (
	"context"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/slurm"
)

// await waits until a job is over, and ends with its exit code. When it is told to end it cancels the job, as Slurm does.
func (c *command) await(ctx context.Context, id int64) error {
	t, err := c.over(ctx, id)
	if ctx.Err() != nil {
		if _, err := c.client.Tasks().Kill(context.WithoutCancel(ctx), id); err != nil {
			return err
		}
		return exit(1)
	}
	if err != nil {
		return err
	}
	rows, err := c.rows(ctx, t, deep{attempts: true})
	if err != nil {
		return err
	}
	worst := 0
	for _, r := range rows {
		code := r.Ended.Code
		if r.State != slurm.Completed && code == 0 {
			code = 1
		}
		worst = max(worst, code)
	}
	if worst != 0 {
		return exit(worst)
	}
	return nil
}

// over returns a task that has ended. A daemon that is away is asked on.
func (c *command) over(ctx context.Context, id int64) (wire.Task, error) {
	pause, said := 50*time.Millisecond, false
	for {
		t, err := c.client.Tasks().Get(ctx, id)
		switch {
		case client.IsUnavailable(err):
			if !said {
				fmt.Fprintf(c.Err, "%s: the daemon is away; it is asked again: %v\n", c.name, err)
			}
			said = true
		case err != nil || t.EndedAt != nil:
			return t, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return t, ctx.Err()
		}
		pause = min(pause*3/2, time.Second)
	}
}
