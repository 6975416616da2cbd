package generator

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// chunkInputs is how many inputs one transaction stores: what a broken connection can lose.
const chunkInputs = 10_000

// maxLine bounds a line of inputs: a name of maxInput bytes with every letter escaped.
const maxLine = 8 * maxInput

// inputChunk is a run of inputs of a task; offset is the position of the first.
type inputChunk struct {
	task   int64
	offset int64
	inputs []Input
}

// AddInputs stores the inputs that r holds, one a line, each a JSON string or an object as Input has it, at the positions
// from offset on. Offset must be the number of inputs stored so far, else the error is an OffsetError that names it;
// an empty body asks. Whole lines are kept even when a later one is wrong or the connection breaks: send the
// rest from next, the number of inputs stored. Memory is bounded, whatever the length.
// Errors: ErrNoTask, ErrState, ErrOffset, ErrInvalid, and those of r.
func (g *Generator) AddInputs(ctx context.Context, id, offset int64, r io.Reader) (next int64, err error) {
	lines := bufio.NewReaderSize(r, maxLine)
	next = offset
	for first := true; ; first = false {
		inputs, readErr := readLines(lines, next)
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

// readLines reads up to a chunk of inputs; at is the position of the first, for messages. The error is what ended
// the chunk early; the inputs before it count.
func readLines(lines *bufio.Reader, at int64) (inputs []Input, err error) {
	for len(inputs) < chunkInputs {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return inputs, lineFault(at+int64(len(inputs)), fmt.Errorf("the line has more than %d bytes", maxLine))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return inputs, err // the line may be cut
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			in, parseErr := readLine(line)
			if parseErr != nil {
				return inputs, lineFault(at+int64(len(inputs)), parseErr)
			}
			inputs = append(inputs, in)
		}
		if err != nil {
			return inputs, err
		}
	}
	return inputs, nil
}

func lineFault(position int64, err error) error {
	return fault(fmt.Sprintf("inputs[%d]", position), err.Error(),
		`one JSON string, or object with name, size, events and locations, a line`)
}

func readLine(line []byte) (in Input, err error) {
	if line[0] == '{' {
		err = in.UnmarshalJSON(line)
	} else {
		err = json.Unmarshal(line, &in.Name) // spares the look for an object in each of a million lines
	}
	if err != nil {
		return in, err
	}
	return in, in.check()
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
	if c.offset < 0 || c.offset+int64(len(c.inputs)) > maxInputs {
		return fault("inputs", fmt.Sprintf("would be more than %d, or the offset is negative", maxInputs), "")
	}
	return pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		var inLots bool
		err := tx.QueryRow(ctx, query["extend_inputs"],
			pgx.StrictNamedArgs{"task": c.task, "offset": c.offset, "n": len(c.inputs)}).Scan(&inLots)
		switch {
		case err == nil && (inLots || slices.ContainsFunc(c.inputs, located)):
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

func located(in Input) bool { return len(in.Locations) > 0 }

// runInputs is how many inputs a row of inputs holds at most; its CHECK says the same.
const runInputs = 1000

// inputRun is a row of inputs; sizes and events are nil where nothing is known.
type inputRun struct {
	task, position int64
	names          []string
	sizes, events  []int64
}

// runs cuts a chunk into rows.
func (c inputChunk) runs() (runs []inputRun) {
	for i := 0; i < len(c.inputs); i += runInputs {
		part := c.inputs[i:min(i+runInputs, len(c.inputs))]
		r := inputRun{task: c.task, position: c.offset + int64(i), names: make([]string, len(part))}
		for k, in := range part {
			r.names[k] = in.Name
			if in.Size > 0 && r.sizes == nil {
				r.sizes = make([]int64, len(part))
			}
			if in.Events > 0 && r.events == nil {
				r.events = make([]int64, len(part))
			}
			if r.sizes != nil {
				r.sizes[k] = in.Size
			}
			if r.events != nil {
				r.events[k] = in.Events
			}
		}
		runs = append(runs, r)
	}
	return runs
}

func copyInputs(ctx context.Context, tx pgx.Tx, chunks []inputChunk) error {
	var runs []inputRun
	for _, c := range chunks {
		runs = append(runs, c.runs()...)
	}
	if len(runs) == 0 {
		return nil
	}
	source := pgx.CopyFromSlice(len(runs), func(i int) ([]any, error) {
		r := runs[i]
		return []any{r.task, r.position, r.names, r.sizes, r.events}, nil
	})
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"inputs"}, []string{"task_id", "position", "names", "sizes", "events"}, source)
	return err
}
