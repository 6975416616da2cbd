package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// Splitting is a job that waits until its piece has become two: a rule of the site said so of its last attempt.
type Splitting struct {
	Job         int64
	Task        int64
	Share       shares.ShareID
	Shape       int32
	Place       int64
	Attempt     int // the next one
	MaxAttempts int
	Index       int64
	Inputs      []string
	FirstEvent  int64
	Events      int64 // 0: it has none, or does not say how many
	Retry       bool  // it tries a piece again that was over
	CreatedAt   time.Time
}

// Halves is what becomes of such a job. It is ready again with the first of its inputs and events; what is left are those of a new one.
type Halves struct {
	Splitting
	KeepInputs int
	KeepEvents int64
	Rest       *NewJob // nil: the job keeps all that it has
	Why        string  // then why
}

// LockSplittings locks those of some jobs that wait to be split, by rising id. It is part of the caller's transaction, which has
// locked their tasks; what is left of jobs that are over is dropped.
func LockSplittings(ctx context.Context, tx pgx.Tx, jobs []int64) ([]Splitting, error) {
	if err := barrierShared(ctx, tx); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	found, err := collect[Splitting](ctx, tx, "lock_splittings", pgx.StrictNamedArgs{"ids": jobs})
	if err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	if len(found) < len(jobs) {
		if _, err := tx.Exec(ctx, query["drop_splittings"], pgx.StrictNamedArgs{"ids": jobs}); err != nil {
			return nil, fmt.Errorf("split: %w", err)
		}
	}
	return found, nil
}

// Halve makes locked jobs ready with one half of what they had, and the new jobs that have the other. Each half has as many
// attempts as were left. What became of them is noted with the attempts that were judged.
func Halve(ctx context.Context, tx pgx.Tx, halves []Halves) error {
	if len(halves) == 0 {
		return nil
	}
	var ids, events []int64
	var inputs []int32
	var fresh []NewJob
	var moves []move
	for _, h := range halves {
		ids, inputs, events = append(ids, h.Job), append(inputs, int32(h.KeepInputs)), append(events, h.KeepEvents)
		moves = append(moves, move{Task: h.Task, Share: h.Share, Shape: h.Shape, Before: isWaiting, After: isReady, N: 1,
			Place: h.Place, Low: h.Job, High: h.Job})
		if h.Rest != nil {
			rest := *h.Rest
			rest.Shape, rest.MaxAttempts = h.Shape, h.MaxAttempts-h.Attempt+1
			fresh = append(fresh, rest)
		}
	}
	if _, err := tx.Exec(ctx, query["halve"], pgx.StrictNamedArgs{"ids": ids, "inputs": inputs, "events": events}); err != nil {
		return fmt.Errorf("split: %w", err)
	}
	made, err := Enqueue(ctx, tx, fresh)
	if err != nil {
		return fmt.Errorf("split: %w", err)
	}
	if err := noteHalves(ctx, tx, halves, made); err != nil {
		return fmt.Errorf("split: %w", err)
	}
	return record(ctx, tx, moves)
}

// noteHalves adds to what was made of the attempts that were judged; made are the ids of the new jobs.
func noteHalves(ctx context.Context, tx pgx.Tx, halves []Halves, made []int64) error {
	var n notes
	for _, h := range halves {
		a := triedAttempt{JobID: h.Job, Attempt: h.Attempt - 1, EndedAt: h.CreatedAt}
		words := "not split, since " + h.Why
		if h.Rest != nil {
			words, made = fmt.Sprintf("the second half of its piece is job %d", made[0]), made[1:]
		}
		n.add(&a, words)
	}
	_, err := tx.Exec(ctx, query["note_halves"], n.args())
	return err
}
