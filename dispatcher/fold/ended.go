package fold

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
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
	found := make(map[Fence]End, len(fences))
	err := ask(ctx, db, "ended_attempts", args, func(r *row) {
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
	case Cancelled:
		return entry.Undone
	}
	return entry.Over
}

// JobsEnd is an attempt that ended, or jobs that were over without a lease.
type JobsEnd struct {
	Task     int64
	Low      int64 // ids: of an attempt, its job twice
	High     int64
	Attempt  int32         // 0: they had no lease
	Outcome  entry.Outcome // of the attempt
	State    State         // of the jobs from then on; Ready and Waiting: they are not over
	ExitCode int32
	At       time.Time
}

func (r *row) jobsEnd() JobsEnd {
	return JobsEnd{r.int64(), r.int64(), r.int64(), r.int32(), entry.Outcome(r.char()), State(r.char()), r.int32(), r.time()}
}

// Progress is what steps of the fold have changed. Whoever keeps UpTo in the transaction that uses it takes everything once: what is
// folded later stands behind all that is folded.
type Progress struct {
	Tasks  []int64 // whose counts are others, each once
	UpTo   int64   // the batch up to which it was read, and from which to go on
	Missed bool    // steps are not kept any more that were to be read: any task may have changed, see Counts and OverAmong
}

// Changed returns which tasks the next steps after a batch have changed. 0 begins with the log.
func Changed(ctx context.Context, db Querier, after int64, steps int) (p Progress, err error) {
	var rows int
	seen := map[int64]bool{}
	err = ask(ctx, db, "changed", pg.Args{"after": after, "most": steps}, func(r *row) {
		folded, oldest, seq := r.int64(), r.int64(), r.int64()
		tasks, ok := idsOf(r.text())
		r.broken = r.broken || !ok
		for _, task := range tasks {
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

// EndedSince returns the ends that steps after a batch have folded, up to one that Changed has said: attempts, in the order of the
// log, and then jobs that were over without a lease.
func EndedSince(ctx context.Context, db Querier, after, upTo int64) (ends []JobsEnd, err error) {
	for _, name := range []string{"ended_since", "over_since"} {
		err := ask(ctx, db, name, pg.Args{"after": after, "up_to": upTo}, func(r *row) { ends = append(ends, r.jobsEnd()) })
		if err != nil {
			return nil, fmt.Errorf("ends after batch %d: %w", after, err)
		}
	}
	return ends, nil
}

// OverAmong returns which jobs of a task with ids from low to high are over, by id; the next call goes on behind the High of the last.
func OverAmong(ctx context.Context, db Querier, task int64, ids Span, most int) (ends []JobsEnd, err error) {
	err = ask(ctx, db, "over_among", pg.Args{"task": task, "low": ids.Low, "high": ids.High, "most": most},
		func(r *row) { ends = append(ends, r.jobsEnd()) })
	if err != nil {
		return nil, fmt.Errorf("jobs of task %d that are over: %w", task, err)
	}
	return ends, nil
}

// Span is ids from Low to High.
type Span = gate.Span

// Counts returns the jobs of tasks by state, of those that have any.
func Counts(ctx context.Context, db Querier, tasks []int64) (counts []TaskCount, err error) {
	err = ask(ctx, db, "task_counts_of", pg.Args{"tasks": tasks}, func(r *row) { counts = append(counts, r.taskCount()) })
	if err != nil {
		return nil, fmt.Errorf("counts of tasks: %w", err)
	}
	return counts, nil
}

func ask(ctx context.Context, db Querier, name string, args pg.Args, fn func(*row)) error {
	rows, err := db.Query(ctx, query[name], binaryRows, args)
	if err != nil {
		return err
	}
	return each(rows, fn)
}

func column[T, V any](of []T, value func(T) V) []V {
	list := make([]V, len(of))
	for i, v := range of {
		list[i] = value(v)
	}
	return list
}
