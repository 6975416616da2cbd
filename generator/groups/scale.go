package groups

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pg"
)

// ScaleChange is what scaling changed. Jobs by state are counted as the log was folded when it was said.
type ScaleChange struct {
	Task      int64  `json:"task"`
	Group     string `json:"group,omitempty"`
	Role      string `json:"role,omitempty"`
	Before    int    `json:"before" doc:"The number before."`
	After     int    `json:"after" doc:"The number now; the same as before when there was nothing to do."`
	Added     int    `json:"added" doc:"Jobs that are to be made."`
	Removed   int    `json:"removed" doc:"Jobs that will not be made, or not be tried again."`
	Cancelled int    `json:"cancelled" doc:"Jobs that were waiting or ready, and are cancelled: as of a second or two ago."`
	Leased    int64  `json:"leased" doc:"Jobs that run on to their end, whatever it is: as of a second or two ago."`
	Draining  int64  `json:"draining" doc:"Claims that go with the last job that holds them."`
}

// Task is a task of groups and roles under its row lock.
type Task struct {
	ID         int64
	State      string
	Split      string
	Spec       *spec.Spec
	Scaled     []spec.Scaling
	NSplit     int64
	NPieces    int64
	NJobs      int64
	NGenerated int64
	RetryAfter int64
}

// Lock locks a task that can be scaled. Errors: view.ErrNoTask, spec.ErrInvalid for one without groups, judge.ErrState.
func Lock(ctx context.Context, tx pgx.Tx, id int64) (t Task, err error) {
	t, err = pg.Row[Task](ctx, tx, query["lock_scalable"], pgx.StrictNamedArgs{"task": id})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return t, view.ErrNoTask
	case err != nil:
		return t, err
	case t.Split != "groups":
		return t, spec.Invalid("replicas", "the task has neither groups nor roles", "its work is split by "+t.Split)
	}
	switch t.State {
	case "ready", "scouting", "running", "paused", "throttled", "exhausted":
		return t, nil
	case "waiting":
		return t, &judge.StateError{Task: id, Verb: "scale", State: t.State, Hint: "it has no share yet"}
	}
	return t, &judge.StateError{Task: id, Verb: "scale", State: t.State, Hint: "a task can be scaled until it ends"}
}

// Scale changes the number of replicas or jobs. It changes nothing where the number is as it was. Error: spec.ErrInvalid.
func (t *Task) Scale(ctx context.Context, tx pgx.Tx, s spec.Scaling) (c ScaleChange, err error) {
	from, err := spec.ScaledLayout(t.Spec, t.Scaled)
	if err != nil {
		return c, err
	}
	c = ScaleChange{Task: t.ID, Group: s.Group, Role: s.Role, After: s.Replicas}
	if c.Before, err = s.Number(from); err != nil || c.Before == c.After {
		return c, err
	}
	to, err := s.Apply(from)
	if err != nil {
		return c, err
	}
	change, err := resource.Scale(from, to)
	if err != nil {
		return c, err
	}
	coming, err := t.coming(ctx, tx, from)
	if err != nil {
		return c, err
	}
	next := newPieces(coming, change)
	untried, err := t.untried(ctx, tx, next.away)
	if err != nil {
		return c, err
	}
	j := joiner{tx: tx, task: t.ID, spec: *t.Spec, layout: from}
	away, err := intake.ScaleAway(ctx, tx, intake.Scaled{Task: t.ID, Names: next.away, Claims: claimNames(change.Drains),
		Sizes: j.sizes(change, next.away), Untried: untried, Coming: int(t.NJobs - t.NGenerated - (t.NPieces - t.NSplit))})
	if err != nil {
		return c, err
	}
	c.Added, c.Removed, c.Draining = len(change.Jobs), next.unmade+int(away.Coming), away.Claims
	if len(away.Jobs) > 0 {
		if err := tx.QueryRow(ctx, query["live_among"], pgx.StrictNamedArgs{"jobs": away.Jobs}).Scan(&c.Leased, &c.Cancelled); err != nil {
			return c, err
		}
	}
	return c, t.keep(ctx, tx, kept{scaled: spec.WithScaling(t.Scaled, s), coming: next.coming, untried: away.Coming})
}

// untried are the jobs that the task would try again, in that order.
func (t *Task) untried(ctx context.Context, tx pgx.Tx, away []string) (ids []int64, err error) {
	if len(away) == 0 {
		return nil, nil
	}
	failed, err := stored.Failed(ctx, tx, []stored.Again{{Task: t.ID, After: t.RetryAfter, N: resource.MaxJobs}})
	for _, f := range failed[t.ID] {
		ids = append(ids, f.ID)
	}
	return ids, err
}

// kept is what a scaled task becomes.
type kept struct {
	scaled  []spec.Scaling
	coming  []string
	untried int64 // failed jobs that were about to be tried again
}

// keep writes it down. Pieces that are made stay what they are; those to come are stored as inputs from there on.
func (t *Task) keep(ctx context.Context, tx pgx.Tx, k kept) error {
	pieces := t.NSplit + int64(len(k.coming))
	tag, err := tx.Exec(ctx, query["scale"], pgx.StrictNamedArgs{"task": t.ID, "scaled": k.scaled, "n_pieces": pieces,
		"n_jobs": t.NJobs + pieces - t.NPieces - k.untried, "state": t.State})
	if err != nil {
		return err
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("task %d left state %s under its lock", t.ID, t.State)
	}
	return stored.Replace(ctx, tx, stored.Chunk{Task: t.ID, Offset: t.NSplit, Inputs: spec.Named(k.coming...)})
}

// coming are the names of the pieces that are no jobs yet, in their order.
func (t *Task) coming(ctx context.Context, tx pgx.Tx, l resource.Layout) (names []string, err error) {
	if t.Scaled != nil {
		inputs, err := stored.Read(ctx, tx, map[int64]stored.Span{t.ID: {Low: t.NSplit, High: t.NPieces}})
		return inputs[t.ID], err
	}
	for _, j := range resource.Expand(l).Jobs[t.NSplit:] {
		names = append(names, j.Name())
	}
	return names, nil
}

// nextPieces is what scaling makes of the pieces.
type nextPieces struct {
	coming []string // from now on
	away   []string // jobs that are not wanted any more
	unmade int      // that were to come
}

func newPieces(coming []string, change resource.Change) (next nextPieces) {
	leaving := make(map[string]bool, len(change.Leaving))
	for _, k := range change.Leaving {
		leaving[k.Name()] = true
	}
	for _, name := range coming {
		if !leaving[name] {
			next.coming = append(next.coming, name)
			continue
		}
		next.unmade++
		delete(leaving, name) // it is no job yet
	}
	for _, k := range change.Leaving {
		if leaving[k.Name()] {
			next.away = append(next.away, k.Name())
		}
	}
	for _, i := range change.Jobs {
		next.coming = append(next.coming, change.To.Jobs[i].Name())
	}
	return next
}

func claimNames(keys []resource.ClaimKey) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name()
	}
	return names
}
