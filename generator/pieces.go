package generator

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/groups"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/shares"
)

// cut makes the jobs of a batch in the order of the plan. It notes in the plan what it found to try again, and how far lots
// are cut.
func (g *Generator) cut(ctx context.Context, tx pgx.Tx, plan []part, share shares.ShareID) ([]intake.NewJob, error) {
	inputs, err := readInputs(ctx, tx, plan)
	if err != nil {
		return nil, err
	}
	var again []stored.Again
	for _, p := range plan {
		if p.again > 0 {
			again = append(again, stored.Again{Task: p.ID, After: p.RetryAfter, N: p.again})
		}
	}
	failed, err := stored.Failed(ctx, tx, again)
	if err != nil {
		return nil, err
	}
	released, err := releasedJobs(ctx, tx, plan, share)
	if err != nil {
		return nil, err
	}
	lots, err := g.lotCutter(ctx, tx, plan, share)
	if err != nil {
		return nil, err
	}
	var n int64
	for _, p := range plan {
		n += p.fresh + p.again
	}
	jobs := make([]intake.NewJob, 0, n)
	for i := range plan {
		p := &plan[i]
		switch {
		case p.Released:
			jobs = append(jobs, released[p.ID]...)
		case len(p.cuts) > 0:
			made, err := lots.cutLots(ctx, p)
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, made...)
		default:
			for k := range p.fresh {
				jobs = append(jobs, p.piece(share, p.NSplit+k, inputs[p.ID]))
			}
		}
		for _, f := range failed[p.ID] {
			j := p.job(share, f.Idx)
			if p.NLots > 0 { // the piece is what it was, and needs what it needed
				j.Shape = f.ShapeID
			}
			j.Inputs, j.FirstEvent, j.Events, j.RetryOf = f.Inputs, f.FirstEvent, f.NEvents, f.ID
			jobs = append(jobs, j)
			p.made, p.after = p.made+1, f.ID
		}
	}
	return jobs, joinGroups(ctx, tx, plan, jobs)
}

func (p *part) job(share shares.ShareID, index int64) intake.NewJob {
	return intake.NewJob{Task: p.ID, Share: share, Shape: p.ShapeID, Priority: p.Priority, MaxAttempts: p.MaxAttempts, Index: index}
}

// piece is the job of a piece's first time. inputs are those of the batch, the first being of piece NSplit.
func (p *part) piece(share shares.ShareID, index int64, inputs []string) intake.NewJob {
	j := p.job(share, index)
	switch p.Split {
	case "groups": // by its name, once the task was scaled; else by its place in the layout
		if p.Scaled {
			j.Inputs = inputs[index-p.NSplit : index-p.NSplit+1]
		}
	case "inputs":
		low := (index - p.NSplit) * p.PerJob
		j.Inputs = inputs[min(low, int64(len(inputs))):min(low+p.PerJob, int64(len(inputs)))]
	case "events":
		j.FirstEvent = index * p.PerJob
		j.Events = min(p.PerJob, p.NEvents-j.FirstEvent)
	}
	return j
}

// readInputs returns the inputs of the fresh pieces of each task, in order.
func readInputs(ctx context.Context, tx pgx.Tx, plan []part) (map[int64][]string, error) {
	spans := map[int64]stored.Span{}
	for _, p := range plan {
		if (p.Split == "inputs" && p.NLots == 0 || p.Scaled) && p.fresh > 0 && !p.Released {
			spans[p.ID] = stored.Span{Low: p.NSplit * p.PerJob, High: (p.NSplit + p.fresh) * p.PerJob}
		}
	}
	return stored.Read(ctx, tx, spans)
}

// joinGroups gives the jobs of tasks of groups and roles their names, shapes and claims.
func joinGroups(ctx context.Context, tx pgx.Tx, plan []part, jobs []intake.NewJob) error {
	of := map[int64][]*intake.NewJob{}
	for i := range jobs {
		of[jobs[i].Task] = append(of[jobs[i].Task], &jobs[i])
	}
	for _, p := range plan {
		if p.Split != "groups" || len(of[p.ID]) == 0 {
			continue
		}
		if err := groups.Join(ctx, tx, p.ID, of[p.ID], p.RetryAfter); err != nil {
			return err
		}
	}
	return nil
}
