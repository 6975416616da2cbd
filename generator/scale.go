package generator

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/groups"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pg"
)

// Scale changes how many replicas or jobs there are of something in a task. What is there before and after stays as it
// is: jobs are told apart by their names. Those that are new are made as others are; of those that are not wanted any
// more, the ones that run go on to their end. A repeat changes nothing. Errors: ErrNoTask, ErrInvalid, and ErrState for
// a task that is over, is being ended, or has no share yet.
func (g *Verbs) Scale(ctx context.Context, id int64, s spec.Scaling) (c groups.ScaleChange, err error) {
	var ended []judge.Verdict
	err = g.write(ctx, func(tx pgx.Tx) error {
		t, err := groups.Lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if c, err = t.Scale(ctx, tx, s); err != nil || c.Before == c.After {
			return err
		}
		if ended, err = judge.Tasks(ctx, tx, []int64{id}); err != nil {
			return err
		}
		return record(ctx, tx, VerbScale, id, s.Says(c.Before), s.Says(c.After))
	})
	if err != nil {
		return groups.ScaleChange{}, fmt.Errorf("scale: %w", err)
	}
	for _, v := range ended {
		g.report(v)
	}
	g.hint()
	return c, nil
}

// scaled reads the number that Scale would change. Errors: those of Scale.
func (g *Verbs) scaled(ctx context.Context, id int64, s spec.Scaling) (n int, err error) {
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		t, err := groups.Lock(ctx, tx, id)
		if err != nil {
			return err
		}
		from, err := spec.ScaledLayout(t.Spec, t.Scaled)
		if err != nil {
			return err
		}
		n, err = s.Number(from)
		return err
	})
	return n, err
}
