package generator

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/site"
)

// Changes are what is other when a task is tried again; absent is as before.
type Changes struct {
	Cores       *int      `json:"cores,omitempty" minimum:"1"`
	MemoryMB    *int64    `json:"memory_mb,omitempty" minimum:"0" doc:"0 = no need."`
	DiskMB      *int64    `json:"disk_mb,omitempty" minimum:"0"`
	Walltime    *Walltime `json:"walltime,omitempty" doc:"Such as 90s, 2h or 1d12h."`
	Queues      *[]string `json:"queues,omitempty" maxItems:"200" doc:"Where it may run; empty = anywhere."`
	MaxAttempts *int      `json:"max_attempts,omitempty" minimum:"1"`
	Priority    *int      `json:"priority,omitempty" minimum:"-1000000000" maximum:"1000000000"`
}

// apply changes a spec.
func (c *Changes) apply(s *Spec) {
	set(&s.Requirements.Cores, c.Cores)
	set(&s.Requirements.MemoryMB, c.MemoryMB)
	set(&s.Requirements.DiskMB, c.DiskMB)
	set(&s.Requirements.Walltime, c.Walltime)
	set(&s.Queues, c.Queues)
	set(&s.MaxAttempts, c.MaxAttempts)
	set(&s.Priority, c.Priority)
}

func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

// shapes says that the requirements change.
func (c *Changes) shapes() bool {
	return c.Cores != nil || c.MemoryMB != nil || c.DiskMB != nil || c.Walltime != nil || c.Queues != nil
}

// RetryWith is Retry with changes: the jobs that try again, and pieces that never were jobs, are made with them. The task
// shows them in its Spec from then on. Errors: those of Retry, and ErrInvalid.
func (g *Generator) RetryWith(ctx context.Context, id int64, with *Changes) (Change, error) {
	return g.sayWith(ctx, VerbRetry, id, with)
}

type retryRequest struct {
	task   lockedTask
	site   *site.Site
	with   *Changes
	change *Change
}

// retry asks for new jobs; Generate makes them. A share that is no leaf any more is looked for anew.
func retry(ctx context.Context, tx pgx.Tx, r retryRequest) error {
	t := r.task
	if !t.Committed {
		return &StateError{Task: t.ID, Verb: "retry", State: t.State, Hint: "it was over before it had all that jobs are made of: submit it anew"}
	}
	if err := reshare(ctx, tx, t, r.site); err != nil {
		return err
	}
	if r.with != nil {
		if err := alter(ctx, tx, t.ID, r.with); err != nil {
			return err
		}
	}
	reason, err := reopenNeeds(ctx, tx, t)
	if err != nil {
		return err
	}
	var again int64
	after := t.entry(r.site, "running")
	args := pgx.StrictNamedArgs{"task": t.ID, "before": t.State, "after": after, "reason": reason}
	if after == "throttled" && reason == "" {
		args["reason"] = whyThrottled
	}
	err = tx.QueryRow(ctx, query["retry"], args).Scan(&again, &r.change.After)
	if errors.Is(err, pgx.ErrNoRows) {
		return &StateError{Task: t.ID, Verb: "retry", State: t.State, Hint: "nothing of it is left to try again"}
	}
	if err != nil {
		return err
	}
	r.change.Again = again
	return nil
}

// alter gives a locked task that is over other requirements and figures.
func alter(ctx context.Context, tx pgx.Tx, task int64, with *Changes) error {
	t, err := readSizedTask(ctx, tx, task)
	if err != nil {
		return err
	}
	spec := *t.Spec
	const hint = "only max_attempts and priority, or clone it with changes"
	switch {
	case spec.grouped() && with.shapes():
		return fault("requirements", "those of a task of groups and roles cannot be changed", hint)
	case t.InLots && with.shapes():
		return fault("requirements", "those of a task whose jobs differ in size or location cannot be changed", hint)
	}
	with.apply(&spec)
	spec = spec.withDefaults()
	var c checker
	c.identity(&spec)
	c.requirements(&spec)
	if err := c.faults.err(); err != nil {
		return err
	}
	shape, err := intake.Intern(ctx, tx, spec.shape())
	if err != nil {
		return err
	}
	body, err := spec.canonical()
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, query["alter"], pgx.StrictNamedArgs{"task": task, "shape": shape, "priority": spec.Priority,
		"max_attempts": spec.MaxAttempts, "spec": string(body)})
	if err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	return nil
}
