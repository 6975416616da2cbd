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

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/split"
	"github.com/divvyhq/divvy/internal/pg"
)

// chunkInputs is how many inputs one transaction stores: what a broken connection can lose.
const chunkInputs = 10_000

// inputChunk is a run of inputs of a task; offset is the position of the first.
type inputChunk struct {
	task   int64
	offset int64
	inputs []spec.Input
}

// AddInputs stores the inputs that r holds, one a line, each a JSON string or an object as Input has it, at the positions
// from offset on. Offset must be the number of inputs stored so far, else the error is an OffsetError that names it;
// an empty body asks. Whole lines are kept even when a later one is wrong or the connection breaks: send the
// rest from next, the number of inputs stored. Memory is bounded, whatever the length.
// Errors: ErrNoTask, ErrState, ErrOffset, ErrInvalid, and those of r.
func (g *Generator) AddInputs(ctx context.Context, id, offset int64, r io.Reader) (next int64, err error) {
	lines := bufio.NewReaderSize(r, spec.MaxLine)
	next = offset
	for first := true; ; first = false {
		inputs, readErr := spec.ReadLines(lines, next, chunkInputs)
		if len(inputs) > 0 || first {
			if err := g.store(ctx, inputChunk{task: id, offset: next, inputs: inputs}); err != nil {
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
func (g *Generator) store(ctx context.Context, c inputChunk) error {
	err := g.extend(ctx, c)
	if errors.Is(err, ErrOffset) {
		err = cmp.Or(pg.Secure(ctx, g.cfg.Pool), err)
	}
	return err
}

func (g *Generator) extend(ctx context.Context, c inputChunk) error {
	if c.offset < 0 || c.offset+int64(len(c.inputs)) > spec.MaxInputs {
		return spec.Invalid("inputs", fmt.Sprintf("would be more than %d, or the offset is negative", spec.MaxInputs), "")
	}
	return pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		var inLots bool
		err := tx.QueryRow(ctx, query["extend_inputs"],
			pgx.StrictNamedArgs{"task": c.task, "offset": c.offset, "n": len(c.inputs)}).Scan(&inLots)
		switch {
		case err == nil && (inLots || slices.ContainsFunc(c.inputs, spec.Input.Located)):
			return addToLots(ctx, tx, c, inLots)
		case err == nil:
			return copyInputs(ctx, tx, []inputChunk{c})
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		t, err := lockTask(ctx, tx, c.task)
		switch {
		case err != nil:
			return err
		case t.State != "submitting" || t.Split != "inputs":
			return &StateError{Task: c.task, Verb: "take inputs", State: t.State}
		}
		return &OffsetError{Sent: c.offset, Want: t.NInputs}
	})
}

// runs cuts a chunk into rows.
func (c inputChunk) runs() (runs []split.Run) {
	for i := 0; i < len(c.inputs); i += split.RunInputs {
		part := c.inputs[i:min(i+split.RunInputs, len(c.inputs))]
		r := split.Run{Task: c.task, Position: c.offset + int64(i), Names: make([]string, len(part))}
		for k, in := range part {
			r.Names[k] = in.Name
			if in.Size > 0 && r.Sizes == nil {
				r.Sizes = make([]int64, len(part))
			}
			if in.Events > 0 && r.Events == nil {
				r.Events = make([]int64, len(part))
			}
			if r.Sizes != nil {
				r.Sizes[k] = in.Size
			}
			if r.Events != nil {
				r.Events[k] = in.Events
			}
		}
		runs = append(runs, r)
	}
	return runs
}

func copyInputs(ctx context.Context, tx pgx.Tx, chunks []inputChunk) error {
	var runs []split.Run
	for _, c := range chunks {
		runs = append(runs, c.runs()...)
	}
	if len(runs) == 0 {
		return nil
	}
	source := pgx.CopyFromSlice(len(runs), func(i int) ([]any, error) {
		r := runs[i]
		return []any{r.Task, r.Position, r.Names, r.Sizes, r.Events}, nil
	})
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"inputs"}, []string{"task_id", "position", "names", "sizes", "events"}, source)
	return err
}
