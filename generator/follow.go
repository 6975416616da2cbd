package generator

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/chain"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/stored"
)

// Chain lets tasks follow those that they need: they become ready when these are over, and get inputs and pieces as their jobs
// end; one whose need will not be met fails. It returns the needs that it served and the ended jobs that it took note of.
func (g *Generator) Chain(ctx context.Context) (n int, err error) {
	if some, err := chain.Any(ctx, g.cfg.Pool); err != nil || !some {
		return 0, err
	}
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return 0, fmt.Errorf("chain: site: %w", err)
	}
	n, err = chain.Step(ctx, g.cfg.Pool, st, func(verdicts []judge.Verdict) {
		g.wrote()
		for _, v := range verdicts {
			g.report(v)
		}
	})
	if err != nil {
		return n, fmt.Errorf("chain: %w", err)
	}
	if n > 0 {
		g.hint()
	}
	return n, nil
}

// corresponds says whether the pieces of a task have parts of each task that they wait for, now that all its inputs are there.
func (t *lockedTask) corresponds(ctx context.Context, tx pgx.Tx) error {
	if !t.Chained {
		return nil
	}
	s, _, err := stored.Spec(ctx, tx, t.ID)
	if err != nil || !s.Piecewise() {
		return err
	}
	return chain.Correspond(ctx, tx, s.Needs, spec.Work{Split: t.Split, PerJob: t.PerJob, NInputs: t.NInputs, InLots: t.InLots})
}
