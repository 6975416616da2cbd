package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/slurm"
)

// scancel ends jobs by their ids, or those that its options select. An id that is unknown or over is no failure.
func scancel(ctx context.Context, c *command) error {
	g := c.given
	switch s := strings.TrimPrefix(strings.ToUpper(g.Get("signal")), "SIG"); s {
	case "", "TERM", "KILL", "9", "15":
	default:
		return fmt.Errorf("--signal=%s is not known to divvy: TERM and KILL are, which end the job", g.Get("signal"))
	}
	f := filter{users: words(g.Get("user")), names: append(words(g.Get("name")), words(g.Get("jobname"))...), partitions: words(g.Get("partition"))}
	if g.Has("me") {
		f.users = []string{caller()}
	}
	var err error
	if f.states, _, err = slurm.ParseStates(g.Get("state")); err != nil {
		return err
	}
	selects := len(f.users)+len(f.names)+len(f.partitions)+len(f.states) > 0
	switch {
	case len(g.Args) == 0 && !selects:
		return errors.New("No job identification provided")
	case len(g.Args) == 0:
		return c.cancelSelected(ctx, f)
	}
	for _, arg := range g.Args {
		ids, err := slurm.ParseIDs(arg)
		if err != nil {
			return err
		}
		f.ids = append(f.ids, ids...)
	}
	if selects {
		return c.cancelSelected(ctx, f)
	}
	return c.cancel(ctx, f.ids)
}

// cancelSelected ends what is left of the filter's jobs.
func (c *command) cancelSelected(ctx context.Context, f filter) (err error) {
	var tasks []wire.Task
	if len(f.ids) > 0 {
		tasks, _, err = c.byID(ctx, f.ids)
	} else {
		if len(f.users) == 0 {
			f.users = []string{caller()}
		}
		tasks, err = c.live(ctx, f, false)
	}
	if err != nil {
		return err
	}
	if len(f.states) == 0 && len(f.partitions) == 0 && len(f.ids) == 0 {
		ids := make([]slurm.ID, len(tasks))
		for i, t := range tasks {
			ids[i] = slurm.ID{Job: t.ID, Piece: -1}
		}
		return c.cancel(ctx, ids)
	}
	rows, err := c.rowsOf(ctx, tasks, deep{split: true})
	if err != nil {
		return err
	}
	var ids []slurm.ID
	for _, r := range f.some(rows) {
		if !r.State.Over() {
			ids = append(ids, slurm.ID{Job: r.Job, Piece: r.Piece})
		}
	}
	return c.cancel(ctx, ids)
}

// cancel ends whole jobs with one request, and pieces each with its own.
func (c *command) cancel(ctx context.Context, ids []slurm.ID) error {
	var whole []int64
	var pieces []slurm.ID
	for _, id := range ids {
		if id.Raw == 0 && id.Piece < 0 {
			whole = append(whole, id.Job)
		} else {
			pieces = append(pieces, id)
		}
	}
	for part := range slices.Chunk(whole, 500) {
		if _, err := c.client.Tasks().ActOnAll(ctx, wire.ActRequest{Verb: wire.VerbKill, Tasks: part}); err != nil {
			return err
		}
	}
	jobs := map[int64][]wire.JobRow{}
	for _, id := range pieces {
		raw := id.Raw
		if raw == 0 {
			var err error
			if raw, err = c.jobOf(ctx, id, jobs); err != nil {
				return err
			}
		}
		if raw == 0 {
			continue
		}
		if _, err := c.client.Jobs().Kill(ctx, raw); err != nil && !client.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// jobOf is the divvy job of a piece; 0 if there is no such piece. Known keeps the jobs of tasks for the next call.
func (c *command) jobOf(ctx context.Context, id slurm.ID, known map[int64][]wire.JobRow) (int64, error) {
	t, err := c.client.Tasks().Get(ctx, id.Job)
	if client.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	a := arrayOf(t)
	if a == nil {
		a = &slurm.Array{Runs: []slurm.Run{{First: 0, Step: 1, N: 1}}}
	}
	index, ok := a.Find(id.Piece)
	if !ok || t.EndedAt != nil {
		return 0, nil
	}
	if known[id.Job] == nil {
		if known[id.Job], err = c.jobs(ctx, id.Job, false); err != nil {
			return 0, err
		}
	}
	raw := int64(0)
	for _, j := range known[id.Job] {
		if j.Index == index {
			raw = j.ID
		}
	}
	if raw == 0 {
		return 0, fmt.Errorf("%d_%d is not cut out of its array yet: try again, or cancel the whole array", id.Job, id.Piece)
	}
	return raw, nil
}
