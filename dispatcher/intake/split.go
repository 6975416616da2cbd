package intake

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Waiting is a job that waits until its piece has become two: a rule of the site said so of its last attempt.
type Waiting struct {
	Job     int64
	Task    int64
	Shape   int32 // that it has from now on
	Attempt int   // the next one
}

// AwaitSplit notes such jobs, in the transaction that appends the ends of their attempts.
func AwaitSplit(ctx context.Context, tx pgx.Tx, all ...Waiting) error {
	_, err := tx.Exec(ctx, query["await_split"], pg.Columns(all))
	return pg.Named("await split", err)
}

// Splitting is such a job with what it has, locked.
type Splitting struct {
	Job         int64
	Task        int64
	Share       shares.ShareID
	Shape       int32
	Priority    int
	Attempt     int // the next one
	MaxAttempts int
	Index       int64
	Inputs      []string
	FirstEvent  int64
	Events      int64  // 0: it has none, or does not say how many
	Retry       bool   // it tries a piece again that was over
	User        string // of its task
	CreatedAt   time.Time
}

// Halves is what becomes of such a job. It is ready again with the first of its inputs and events; the rest are those of a new one.
type Halves struct {
	Splitting
	KeepInputs int
	KeepEvents int64
	Rest       *NewJob // nil: the job keeps all that it has
	Why        string  // then why
}

// LockSplittings locks those of some jobs that wait to be split, by rising id. It is part of the caller's transaction, which has locked
// their tasks.
func LockSplittings(ctx context.Context, tx pgx.Tx, jobs []int64) ([]Splitting, error) {
	if err := steady(ctx, tx); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	found, err := pg.Collect[Splitting](ctx, tx, query["lock_splittings"], pgx.StrictNamedArgs{"ids": jobs})
	return found, pg.Named("split", err)
}

// Halve makes locked jobs ready with one half of what they had, and the new jobs that have the other; it returns the ids of these, in the
// order of the halves. Each half has as many attempts as were left. A job that was killed while it waited stays so: to come back it has
// to wait.
func Halve(ctx context.Context, tx pgx.Tx, halves []Halves) (made []int64, err error) {
	if len(halves) == 0 {
		return nil, nil
	}
	_, err = tx.Exec(ctx, query["halve"], pg.Columns(halves))
	if err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	by, err := agings(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	var fresh []NewJob
	back := make([]entry.Entry, len(halves))
	for i, h := range halves {
		back[i] = entry.Enqueued{Task: h.Task, Share: h.Share, Shape: h.Shape, Low: h.Job, High: h.Job,
			Place: by[h.Share].Place(h.Priority, h.CreatedAt), Attempt: int32(h.Attempt), User: h.User}
		if h.Rest != nil {
			rest := *h.Rest
			rest.Shape, rest.MaxAttempts = h.Shape, h.MaxAttempts-h.Attempt+1
			fresh = append(fresh, rest)
		}
	}
	if err := Say(ctx, tx, back); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	if made, err = Enqueue(ctx, tx, fresh); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	return made, pg.Named("split", noteHalves(ctx, tx, halves, made))
}

// noteHalves adds what became of pieces to what a rule said of the attempts before; made are the ids of the new jobs.
func noteHalves(ctx context.Context, tx pgx.Tx, halves []Halves, made []int64) error {
	words := make([]string, len(halves))
	for i, h := range halves {
		words[i] = "not split, since " + h.Why
		if h.Rest != nil {
			words[i], made = fmt.Sprintf("the second half of its piece is job %d", made[0]), made[1:]
		}
	}
	_, err := tx.Exec(ctx, query["note_halves"], pgx.StrictNamedArgs{"words": words,
		"jobs":     list(halves, func(h Halves) int64 { return h.Job }),
		"attempts": list(halves, func(h Halves) int32 { return int32(h.Attempt) - 1 })})
	return err
}
