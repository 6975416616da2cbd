package generator

import (
	"bufio"
	"bytes"
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
	names  []string
}

// AddInputs stores the inputs that r holds, one a line, each a JSON string or {"name": "…"}, at the positions from
// offset on. Offset must be the number of inputs stored so far, else the error is an OffsetError that names it;
// an empty body asks. Whole lines are kept even when a later one is wrong or the connection breaks: send the
// rest from next, the number of inputs stored. Memory is bounded, whatever the length.
// Errors: ErrNoTask, ErrState, ErrOffset, ErrInvalid, and those of r.
func (g *Generator) AddInputs(ctx context.Context, id, offset int64, r io.Reader) (next int64, err error) {
	lines := bufio.NewReaderSize(r, maxLine)
	next = offset
	for first := true; ; first = false {
		names, readErr := readNames(lines, next)
		if len(names) > 0 || first {
			if err := g.store(ctx, inputChunk{task: id, offset: next, names: names}); err != nil {
				return next, fmt.Errorf("inputs: %w", err)
			}
			next += int64(len(names))
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return next, nil
		case readErr != nil:
			return next, fmt.Errorf("inputs: %w", readErr)
		}
	}
}

// readNames reads up to a chunk of names; at is the position of the first, for messages. The error is what ended
// the chunk early; the names before it count.
func readNames(lines *bufio.Reader, at int64) (names []string, err error) {
	for len(names) < chunkInputs {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return names, lineFault(at+int64(len(names)), fmt.Errorf("the line has more than %d bytes", maxLine))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return names, err // the line may be cut
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			name, parseErr := inputName(line)
			if parseErr != nil {
				return names, lineFault(at+int64(len(names)), parseErr)
			}
			names = append(names, name)
		}
		if err != nil {
			return names, err
		}
	}
	return names, nil
}

func lineFault(position int64, err error) error {
	return fault(fmt.Sprintf("inputs[%d]", position), err.Error(), `one JSON string or {"name": "…"} a line`)
}

// inputName reads one line.
func inputName(line []byte) (name string, err error) {
	if line[0] == '{' {
		var named struct {
			Name string `json:"name"`
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err = d.Decode(&named); err == nil && d.More() {
			err = errors.New("something follows the object")
		}
		name = named.Name
	} else {
		err = json.Unmarshal(line, &name)
	}
	if err != nil {
		return "", err
	}
	return name, checkInput(name)
}

// store adds one chunk, or says why not.
func (g *Generator) store(ctx context.Context, c inputChunk) error {
	if c.offset < 0 || c.offset+int64(len(c.names)) > maxInputs {
		return fault("inputs", fmt.Sprintf("would be more than %d, or the offset is negative", maxInputs), "")
	}
	return pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, query["extend_inputs"], pgx.StrictNamedArgs{"task": c.task, "offset": c.offset, "n": len(c.names)})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 1 {
			return copyInputs(ctx, tx, c)
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

// runInputs is how many inputs a row of inputs holds at most; its CHECK says the same.
const runInputs = 1000

func copyInputs(ctx context.Context, tx pgx.Tx, c inputChunk) error {
	if len(c.names) == 0 {
		return nil
	}
	runs := slices.Collect(slices.Chunk(c.names, runInputs))
	source := pgx.CopyFromSlice(len(runs), func(i int) ([]any, error) {
		return []any{c.task, c.offset + int64(i)*runInputs, runs[i]}, nil
	})
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"inputs"}, []string{"task_id", "position", "names"}, source)
	return err
}

// EncodeInputs turns an inputs_file, one name a line with empty lines passed over, into the lines that AddInputs
// reads, leaving out the first skip: what a client streams. It returns how many it wrote.
func EncodeInputs(dst io.Writer, src io.Reader, skip int64) (n int64, err error) {
	scan := bufio.NewScanner(src)
	scan.Buffer(make([]byte, 0, 64<<10), maxInput+1)
	out := bufio.NewWriterSize(dst, 64<<10)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	for line := 1; scan.Scan(); line++ {
		name := bytes.TrimRight(scan.Bytes(), "\r")
		if len(name) == 0 {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if err := checkInput(string(name)); err != nil {
			return n, fmt.Errorf("line %d: the name %w", line, err)
		}
		if err := e.Encode(string(name)); err != nil {
			return n, err
		}
		n++
	}
	if err := scan.Err(); err != nil {
		return n, err
	}
	return n, out.Flush()
}
