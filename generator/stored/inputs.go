package stored

import (
	"context"
	"embed"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/split"
	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Read returns the inputs of a span of each task, in order.
func Read(ctx context.Context, tx pgx.Tx, spans map[int64]Span) (map[int64][]string, error) {
	if len(spans) == 0 {
		return nil, nil
	}
	var ids, lows, highs []int64
	for id, s := range spans {
		ids, lows, highs = append(ids, id), append(lows, s.Low), append(highs, s.High)
	}
	rows, _ := tx.Query(ctx, query["read_inputs"], pgx.StrictNamedArgs{"tasks": ids, "lows": lows, "highs": highs, "run": split.RunInputs}) // its error is ForEachRow's
	inputs := make(map[int64][]string, len(ids))
	var task, position int64
	var names []string
	_, err := pgx.ForEachRow(rows, []any{&task, &position, &names}, func() error {
		inputs[task] = append(inputs[task], spans[task].Cut(position, names)...)
		names = nil // the next run gets an array of its own
		return nil
	})
	return inputs, err
}

// Replace drops the stored inputs of a task, and stores others.
func Replace(ctx context.Context, tx pgx.Tx, by Chunk) error {
	if _, err := tx.Exec(ctx, query["drop_inputs"], pgx.StrictNamedArgs{"task": by.Task}); err != nil {
		return err
	}
	return Copy(ctx, tx, []Chunk{by})
}

// Run is a stored run of inputs.
type Run struct {
	TaskID   int64
	Position int64
	Names    []string
}

// ReadPieces reads the inputs of some pieces of a task, each of so many.
func ReadPieces(ctx context.Context, tx pgx.Tx, task, perJob int64, pieces []int64) ([]Run, error) {
	var ids, lows, highs []int64
	for _, piece := range pieces {
		low, high := piece*perJob, (piece+1)*perJob
		if n := len(ids); n > 0 && highs[n-1] == low {
			highs[n-1] = high
			continue
		}
		ids, lows, highs = append(ids, task), append(lows, low), append(highs, high)
	}
	return pg.Collect[Run](ctx, tx, query["read_input_runs"], pgx.StrictNamedArgs{"tasks": ids, "lows": lows, "highs": highs, "run": split.RunInputs})
}

// From are the inputs of a span, out of runs by position.
func From(runs []Run, s Span) (names []string) {
	i, found := slices.BinarySearchFunc(runs, s.Low, func(r Run, low int64) int { return int(r.Position - low) })
	if !found {
		i = max(i-1, 0)
	}
	for ; i < len(runs) && runs[i].Position < s.High; i++ {
		names = append(names, s.Cut(runs[i].Position, runs[i].Names)...)
	}
	return names
}

// Chunk is a run of inputs of a task; offset is the position of the first.
type Chunk struct {
	Task   int64
	Offset int64
	Inputs []spec.Input
}

// runs cuts a chunk into rows.
func (c Chunk) runs() (runs []split.Run) {
	for i := 0; i < len(c.Inputs); i += split.RunInputs {
		part := c.Inputs[i:min(i+split.RunInputs, len(c.Inputs))]
		r := split.Run{Task: c.Task, Position: c.Offset + int64(i), Names: make([]string, len(part))}
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

// Copy stores the inputs of chunks.
func Copy(ctx context.Context, tx pgx.Tx, chunks []Chunk) error {
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

// Span is a range of positions: low ≤ position < high.
type Span struct{ Low, High int64 }

// Cut is what of a run that begins at position lies in s.
func (s Span) Cut(position int64, names []string) []string {
	low, high := s.Within(position, int64(len(names)))
	return names[low:high]
}

// Within says which elements of a run of n that begins at position lie in s.
func (s Span) Within(position, n int64) (low, high int64) {
	return min(max(s.Low-position, 0), n), min(max(s.High-position, 0), n)
}
