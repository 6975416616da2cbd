package fold

import (
	"context"
	"fmt"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/internal/pg"
)

// Fence names an attempt.
type Fence = entry.Fence

// End is how an attempt ended, and what became of its job.
type End struct {
	Outcome entry.Outcome
	Next    entry.Next
}

// Ended looks up attempts that are folded; those that are not there have not ended, or are not folded yet, or not kept any more.
func Ended(ctx context.Context, db pg.DB, fences []Fence) (map[Fence]End, error) {
	found := make(map[Fence]End, len(fences))
	err := ask(ctx, db, "ended_attempts", pg.Columns(fences), func(r *row) {
		f := Fence{Job: r.int64(), Attempt: r.int32(), Nonce: r.int64()}
		found[f] = End{entry.Outcome(r.char()), State(r.char()).next()}
	})
	return found, pg.Named("ended attempts", err)
}

// next is what became of a job that was in this state after its attempt.
func (s State) next() entry.Next {
	switch s {
	case Ready:
		return entry.Again
	case Waiting:
		return entry.Waits
	case Cancelled:
		return entry.Undone
	}
	return entry.Over
}

// Progress is what steps of the fold have changed. Whoever keeps UpTo in the transaction that uses it takes everything once: what is
// folded later stands behind all that is folded.
type Progress struct {
	Tasks  []int64 // whose counts are others, each once
	UpTo   int64   // the batch up to which it was read, and from which to go on
	Missed bool    // steps are not kept any more that were to be read: any task may have changed
}

// Changed returns which tasks the next steps after a batch have changed. 0 begins with the log.
func Changed(ctx context.Context, db pg.DB, after int64, steps int) (p Progress, err error) {
	var rows int
	seen := map[int64]bool{}
	err = ask(ctx, db, "changed", pg.Args{"after": after, "most": steps}, func(r *row) {
		folded, oldest, seq := r.int64(), r.int64(), r.int64()
		for _, task := range r.ids() {
			if !seen[task] {
				seen[task], p.Tasks = true, append(p.Tasks, task)
			}
		}
		if rows++; rows < steps {
			seq = folded
		}
		p.UpTo, p.Missed = max(after, seq), after < oldest
	})
	if err != nil {
		return Progress{}, fmt.Errorf("changes after batch %d: %w", after, err)
	}
	return p, nil
}

// Span is ids from Low to High.
type Span = gate.Span
