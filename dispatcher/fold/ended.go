package fold

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
)

// Fence names an attempt as its pilot does.
type Fence struct {
	Job     int64
	Attempt int32
	Nonce   int64
}

// End is how an attempt ended, and what became of its job.
type End struct {
	Outcome entry.Outcome
	Next    entry.Next
}

// Querier runs queries: a *pgxpool.Pool, a *pgx.Conn or a pgx.Tx.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Ended looks up attempts that are folded; those that are not there have not ended, or are not folded yet, or not kept any more.
func Ended(ctx context.Context, db Querier, fences []Fence) (map[Fence]End, error) {
	args := pg.Args{"jobs": column(fences, func(f Fence) int64 { return f.Job }), "attempts": column(fences, func(f Fence) int32 { return f.Attempt }),
		"nonces": column(fences, func(f Fence) int64 { return f.Nonce })}
	rows, err := db.Query(ctx, query["ended_attempts"], binaryRows, args)
	if err != nil {
		return nil, fmt.Errorf("ended attempts: %w", err)
	}
	found := make(map[Fence]End, len(fences))
	err = each(rows, func(r *row) {
		f := Fence{r.int64(), r.int32(), r.int64()}
		found[f] = End{entry.Outcome(r.char()), State(r.char()).next()}
	})
	if err != nil {
		return nil, fmt.Errorf("ended attempts: %w", err)
	}
	return found, nil
}

// next is what became of a job that was in this state after its attempt.
func (s State) next() entry.Next {
	switch s {
	case Ready:
		return entry.Again
	case Waiting:
		return entry.Waits
	}
	return entry.Over
}

func column[T, V any](of []T, value func(T) V) []V {
	list := make([]V, len(of))
	for i, v := range of {
		list[i] = value(v)
	}
	return list
}
