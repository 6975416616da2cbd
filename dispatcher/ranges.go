package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The live jobs of a task are found by ranges of ids, job_ranges: a batch has one for each of its tasks. As entries of an index by
// task they were put in the midst of it, each by a search of its own: about 2 of the 7 µs of PostgreSQL's time that a job took.
// Ranges of one task do not overlap and rise, as whoever makes jobs of a task has its row.
//
// Statements that go along them read the ranges in order, with a limit that is never reached, and of each its jobs in order with the
// limit that counts: PostgreSQL joins such a pair by a nested loop, without workers, so rows come in the order of their ids and no
// more are read than are asked for. With an ORDER BY of all of it the task is read to its end where it is thought to be small.

// noteRanges says where the jobs of a batch are, which is given as the moves that make them, in the order of their ids.
func noteRanges(ctx context.Context, tx pgx.Tx, made []move) error {
	var tasks, lows, highs []int64
	for _, m := range made {
		if k := len(tasks) - 1; k >= 0 && tasks[k] == m.Task {
			highs[k] = m.High
			continue
		}
		tasks, lows, highs = append(tasks, m.Task), append(lows, m.Low), append(highs, m.High)
	}
	_, err := tx.Exec(ctx, query["add_ranges"], pgx.StrictNamedArgs{"tasks": tasks, "lows": lows, "highs": highs})
	return err
}

const (
	rangesAtOnce = 5000
	rangesFor    = 500 * time.Millisecond
)

// rangeCursor is up to which range purgeRanges has looked.
type rangeCursor struct{ task, high int64 }

// purgeRanges deletes ranges of which all jobs have ended, of those behind the last that it looked at; the next call goes on, and
// begins again behind the last of all.
func (d *Dispatcher) purgeRanges(ctx context.Context) (n int, err error) {
	for until := time.Now().Add(rangesFor); time.Now().Before(until); {
		args := pgx.StrictNamedArgs{"task": d.rangesSeen.task, "high": d.rangesSeen.high, "n": rangesAtOnce}
		var gone int
		err := d.cfg.Pool.QueryRow(ctx, query["purge_ranges"], args).Scan(&d.rangesSeen.task, &d.rangesSeen.high, &gone)
		if errors.Is(err, pgx.ErrNoRows) {
			d.rangesSeen = rangeCursor{}
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("purge_ranges: %w", err)
		}
		n += gone
	}
	return n, nil
}
