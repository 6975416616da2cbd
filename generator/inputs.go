package generator

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/internal/pg"
)

// chunkInputs is how many inputs one transaction stores: what a broken connection can lose.
const chunkInputs = 10_000

// AddInputs stores the inputs that r holds, one a line, each a JSON string or an object as Input has it, at the positions
// from offset on. Offset must be the number of inputs stored so far, else the error is an OffsetError that names it;
// an empty body asks. Whole lines are kept even when a later one is wrong or the connection breaks: send the
// rest from next, the number of inputs stored. Memory is bounded, whatever the length.
// Errors: ErrNoTask, ErrState, ErrOffset, ErrInvalid, and those of r.
func (g *Submissions) AddInputs(ctx context.Context, id, offset int64, r io.Reader) (next int64, err error) {
	lines := bufio.NewReaderSize(r, spec.MaxLine)
	next = offset
	for first := true; ; first = false {
		inputs, readErr := spec.ReadLines(lines, next, chunkInputs)
		if len(inputs) > 0 || first {
			if err := g.store(ctx, stored.Chunk{Task: id, Offset: next, Inputs: inputs}); err != nil {
				return next, fmt.Errorf("inputs: %w", err)
			}
			next += int64(len(inputs))
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return next, nil
		case readErr != nil:
			return next, fmt.Errorf("inputs: %w", readErr)
		}
	}
}

// store adds one chunk, or says why not. How many there are already is secured before it is said: whoever sent them goes on
// behind them, and the commit that stored them may be one that no standby has.
func (g *Submissions) store(ctx context.Context, c stored.Chunk) error {
	err := g.extend(ctx, c)
	if errors.Is(err, ErrOffset) {
		err = cmp.Or(pg.Secure(ctx, g.cfg.Pool), err)
	}
	return err
}

func (g *Submissions) extend(ctx context.Context, c stored.Chunk) error {
	if c.Offset < 0 || c.Offset+int64(len(c.Inputs)) > spec.MaxInputs {
		return spec.Invalid("inputs", fmt.Sprintf("would be more than %d, or the offset is negative", spec.MaxInputs), "")
	}
	return pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		var inLots bool
		err := tx.QueryRow(ctx, query["extend_inputs"],
			pgx.StrictNamedArgs{"task": c.Task, "offset": c.Offset, "n": len(c.Inputs)}).Scan(&inLots)
		switch {
		case err == nil && (inLots || slices.ContainsFunc(c.Inputs, spec.Input.Located)):
			return addToLots(ctx, tx, c, inLots)
		case err == nil:
			return stored.Copy(ctx, tx, []stored.Chunk{c})
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		t, err := lockTask(ctx, tx, c.Task)
		switch {
		case err != nil:
			return err
		case t.State != "submitting" || t.Split != "inputs":
			return &judge.StateError{Task: c.Task, Verb: "take inputs", State: t.State}
		}
		return &OffsetError{Sent: c.Offset, Want: t.NInputs}
	})
}
