package generator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/throttle"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
)

// MostSubmitted is how many tasks one SubmitMany takes.
const MostSubmitted = 1000

// Submitted is what became of one task of many: it is there, or Err says why not.
type Submitted struct {
	Task view.Task
	Err  error // one of those of Submit
}

// SubmitMany is Submit for many tasks in one transaction, in their order. One that cannot be does not keep the others from
// being: its error is beside it. Errors of the site or the database are of all: nothing was stored, and a repeat under the
// same keys stores nothing twice.
func (g *Submissions) SubmitMany(ctx context.Context, all []SubmitRequest) ([]Submitted, error) {
	if len(all) == 0 || len(all) > MostSubmitted {
		return nil, spec.Invalid("tasks", fmt.Sprintf("has %d entries", len(all)), fmt.Sprintf("1 to %d", MostSubmitted))
	}
	const tries = 3 // of a site that changes at this moment
	for try := 1; ; try++ {
		out, ids, err := g.submitMany(ctx, all)
		if errors.Is(err, ErrSiteChanged) && try < tries {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("submit: %w", err)
		}
		g.hint()
		return out, g.read(ctx, out, ids)
	}
}

// submitMany stores what can be; ids are those of the tasks, 0 for what could not.
func (g *Submissions) submitMany(ctx context.Context, all []SubmitRequest) (out []Submitted, ids []int64, err error) {
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("site: %w", err)
	}
	out, ids = make([]Submitted, len(all)), make([]int64, len(all))
	ready := make([]newTask, len(all))
	refused, failed := make([]error, len(all)), make([]error, len(all)) // before, and in the transaction
	for i, req := range all {
		ready[i], refused[i] = prepare(st, req)
	}
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		clear(ids)
		copy(failed, refused)
		for _, run := range runs(ready, refused) {
			made, err := insertRun(ctx, tx, ready, run)
			switch {
			case errors.Is(err, spec.ErrInvalid) && len(run) == 1:
				failed[run[0]] = err
			case err != nil:
				return err
			default:
				for i, at := range run {
					ids[at] = made[i]
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	fresh, repeats := 0, 0
	for i := range out {
		if out[i].Err = failed[i]; ids[i] != 0 {
			fresh++
		}
	}
	for i, n := range ready {
		if ids[i] != 0 || n.hash == nil {
			continue
		}
		// Its key is taken; or it could not be any more, but was stored under its key when it could.
		id, err := g.byKey(ctx, n.key, n.hash)
		switch {
		case errors.Is(err, ErrKeyReused):
			out[i].Err = err
		case err != nil:
			return nil, nil, err
		case id != 0:
			ids[i], out[i].Err = id, nil
			repeats++
		}
	}
	if repeats > 0 {
		if err := pg.Secure(ctx, g.cfg.Pool); err != nil {
			return nil, nil, err
		}
	}
	g.metrics.submitted.Add(float64(fresh))
	return out, ids, nil
}

// alone says that only the database can tell what is wrong with the task.
func (n *newTask) alone() bool { return len(n.spec.Needs) > 0 || n.spec.Work().InLots }

// runs are the places of the tasks that go in together, in their order: neighbours, but for those that are alone.
func runs(ready []newTask, refused []error) (runs [][]int) {
	open := false
	for i := range ready {
		switch {
		case refused[i] != nil:
			continue
		case ready[i].alone():
			runs, open = append(runs, []int{i}), false
		case open:
			runs[len(runs)-1] = append(runs[len(runs)-1], i)
		default:
			runs, open = append(runs, []int{i}), true
		}
	}
	return runs
}

// insertRun is insertTasks for those at these places. One that is alone leaves nothing behind where it cannot be.
func insertRun(ctx context.Context, tx pgx.Tx, ready []newTask, run []int) (ids []int64, err error) {
	some := make([]newTask, len(run))
	for i, at := range run {
		some[i] = ready[at]
	}
	if !some[0].alone() {
		return insertTasks(ctx, tx, some)
	}
	err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		ids, err = insertTasks(ctx, tx, some)
		return err
	})
	return ids, err
}

// read puts the tasks beside their requests.
func (g *Submissions) read(ctx context.Context, out []Submitted, ids []int64) error {
	tasks, err := g.tasks.TasksByID(ctx, ids)
	if err != nil {
		return err
	}
	byID := make(map[int64]view.Task, len(tasks))
	for _, t := range tasks {
		byID[t.ID] = t
	}
	for i, id := range ids {
		if id != 0 {
			out[i].Task = byID[id]
		}
	}
	return nil
}

// prepare checks a request and finds its share by the site.
func prepare(st *site.Site, req SubmitRequest) (n newTask, err error) {
	if n.hash, err = req.check(); err != nil {
		return n, err
	}
	if err := req.Spec.NotPast(time.Now()); err != nil {
		return n, err
	}
	n.key, n.parameters, n.queues = req.IdempotencyKey, req.Parameters, st.Queues
	s := req.Spec.WithDefaults()
	if err := s.Known(st.Version()); err != nil {
		return n, err
	}
	if n.spec, err = s.WithTemplates(st.ClaimTemplates); err != nil {
		return n, err
	}
	if n.tag, err = tags.Of(st, &n.spec); err != nil {
		return n, err
	}
	if req.Strict {
		if reason := n.spec.Nowhere(st.Version(), n.tag.Path(st)); reason != "" {
			return n, spec.Invalid("requirements", reason, "submit it without strict, and it waits for a queue that can")
		}
	}
	if state := throttle.Entry(st, n.spec.User, n.spec.Label, n.tag.Share, n.tag.State); state != n.tag.State && !n.spec.InputsStreamed {
		n.tag.State, n.tag.Reason = state, throttle.Why
	}
	return n, nil
}
