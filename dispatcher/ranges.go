package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Live jobs are found by ranges of ids: those of a task by job_ranges, and those that are ready, in the order of a share and shape,
// by ready_ranges. A batch has one for each of its tasks, and one for each share, shape and place. As entries of indexes every
// job was put in the midst of two, each time by a search from the root: about 4 of the 7 µs of PostgreSQL's time that it took.
// Ranges of one task do not overlap and rise, as whoever makes jobs of a task has its row; those of the ready order do not overlap,
// as a range ends where ids have a gap, in which others may have made jobs.
//
// A job stays in its range of the ready order until it goes to another share, shape or place, or waits: from then on it is
// displaced, and jobs_displaced has it; as it has those that were made without ranges, which is what the column's default says.
//
// Statements that go along them read the ranges in order, with a limit that is never reached, and of each its jobs in order with the
// limit that counts: PostgreSQL joins such a pair by a nested loop, without workers, so rows come in the order of their ids and no
// more are read than are asked for. With an ORDER BY of all of it the task is read to its end where it is thought to be small.

// batchRanges are those of a batch, as columns.
type batchRanges struct {
	tasks, lows, highs    []int64
	shares, shapes        []int32
	places, firsts, lasts []int64
}

// rangesOf says where new jobs are, which are in the order of their ids.
func rangesOf(jobs []NewJob, ids []int64, places placing) (r batchRanges) {
	for i := range jobs {
		j, id, place := &jobs[i], ids[i], places.of(&jobs[i])
		if k := len(r.tasks) - 1; k >= 0 && r.tasks[k] == j.Task {
			r.highs[k] = id
		} else {
			r.tasks, r.lows, r.highs = append(r.tasks, j.Task), append(r.lows, id), append(r.highs, id)
		}
		k := len(r.places) - 1
		if k >= 0 && r.lasts[k] == id-1 && r.shares[k] == int32(j.Share) && r.shapes[k] == j.Shape && r.places[k] == place {
			r.lasts[k] = id
			continue
		}
		r.shares, r.shapes, r.places = append(r.shares, int32(j.Share)), append(r.shapes, j.Shape), append(r.places, place)
		r.firsts, r.lasts = append(r.firsts, id), append(r.lasts, id)
	}
	return r
}

func (r batchRanges) note(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, query["add_ranges"], pgx.StrictNamedArgs{"tasks": r.tasks, "lows": r.lows, "highs": r.highs,
		"shares": r.shares, "shapes": r.shapes, "places": r.places, "firsts": r.firsts, "lasts": r.lasts})
	return err
}

// How many ranges one look reads, and how long they are looked at in all; for longer while some go, as after a million jobs of a share
// got another priority: until their ranges have gone whoever reads the share's jobs from the begin passes all of them over. Such a range is
// read to its end, which is a batch of jobs.
const (
	rangesAtOnce      = 5000
	readyRangesAtOnce = 500
	rangesFor         = 500 * time.Millisecond
	rangesGoFor       = 4 * time.Second
)

// rangeCursor is up to which range purgeRanges has looked.
type rangeCursor struct{ task, high int64 }

// readyCursor is up to which range purgeReadyRanges has looked.
type readyCursor struct {
	share, shape int32
	place, high  int64
}

// purgeRanges deletes ranges of which all jobs have ended, of those behind the last that it looked at; the next call goes on, and
// begins again behind the last of all.
func (d *Dispatcher) purgeRanges(ctx context.Context) (n int, err error) {
	return purgeAlong(ctx, d, "purge_ranges", &d.rangesSeen, func(c *rangeCursor) (pgx.StrictNamedArgs, []any) {
		return pgx.StrictNamedArgs{"task": c.task, "high": c.high, "n": rangesAtOnce}, []any{&c.task, &c.high}
	})
}

// purgeReadyRanges deletes ranges of the ready order that have no job, in the same way.
func (d *Dispatcher) purgeReadyRanges(ctx context.Context) (n int, err error) {
	return purgeAlong(ctx, d, "purge_ready_ranges", &d.readySeen, func(c *readyCursor) (pgx.StrictNamedArgs, []any) {
		return pgx.StrictNamedArgs{"share": c.share, "shape": c.shape, "place": c.place, "high": c.high, "n": readyRangesAtOnce},
			[]any{&c.share, &c.shape, &c.place, &c.high}
	})
}

// purgeAlong goes on behind a cursor, which of says by which arguments and where to.
func purgeAlong[C any](ctx context.Context, d *Dispatcher, verb string, seen *C, of func(*C) (pgx.StrictNamedArgs, []any)) (n int, err error) {
	for begun, gone := time.Now(), 0; time.Since(begun) < rangesFor || gone > 0 && time.Since(begun) < rangesGoFor; {
		args, into := of(seen)
		err := d.cfg.Pool.QueryRow(ctx, query[verb], args).Scan(append(into, &gone)...)
		if errors.Is(err, pgx.ErrNoRows) {
			var none C
			*seen = none
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("%s: %w", verb, err)
		}
		n += gone
	}
	return n, nil
}
