package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// walkJobs is how many jobs one Reorder or PrioritiseTask looks at. Grants of one of them wait for it: it takes about a twentieth of a second.
const walkJobs = 1000

type walkRow struct {
	After  int64
	Agings map[shares.ShareID]*shares.Aging
}

type walkedJob struct {
	ID        int64
	ShareID   shares.ShareID
	Place     int64
	Priority  int
	CreatedAt time.Time
}

// Reorder gives live jobs the places that the aging of their shares makes of their priority and age, after the site has
// changed: places with aging and without, or of two plans, do not compare, so those that were ready before would be
// first or last for ever. Jobs are looked at in the order of their ids, a batch each time; new ones have their place
// from the start. It returns how many jobs it looked at; 0 when all have their places, or another daemon is at it.
// On a site where no share has aging, or had, there is nothing to look at.
func (d *Dispatcher) Reorder(ctx context.Context) (n int, err error) {
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		n, err = reorder(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("reorder: %w", err)
	}
	return n, nil
}

func reorder(ctx context.Context, tx pgx.Tx) (n int, err error) {
	if err := barrierShared(ctx, tx); err != nil {
		return 0, err
	}
	rows, err := tx.Query(ctx, query["walk"])
	if err != nil {
		return 0, err
	}
	walk, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[walkRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	jobs, err := collect[walkedJob](ctx, tx, "walk_jobs", pgx.StrictNamedArgs{"after": walk.After, "n": walkJobs})
	if err != nil {
		return 0, err
	}
	after := pgx.StrictNamedArgs{"after": nil}
	if len(jobs) == walkJobs {
		after["after"] = jobs[len(jobs)-1].ID
	}
	if _, err := tx.Exec(ctx, query["walk_on"], after); err != nil {
		return 0, err
	}
	return len(jobs), placeAnew(ctx, tx, jobs, walk.Agings)
}

// placeAnew moves the jobs whose place is not what it should be.
func placeAnew(ctx context.Context, tx pgx.Tx, jobs []walkedJob, agings map[shares.ShareID]*shares.Aging) error {
	var ids, befores, places []int64
	for _, j := range jobs {
		if place := agings[j.ShareID].Place(j.Priority, j.CreatedAt); place != j.Place {
			ids, befores, places = append(ids, j.ID), append(befores, j.Place), append(places, place)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, query["lock_jobs"], pgx.StrictNamedArgs{"ids": ids}); err != nil {
		return err
	}
	groups, err := collect[placedGroup](ctx, tx, "place_jobs", pgx.StrictNamedArgs{"ids": ids, "befores": befores, "places": places})
	if err != nil {
		return err
	}
	var moves []move
	for _, g := range groups {
		moves = append(moves, g.moves()...)
	}
	return record(ctx, tx, moves)
}

// placedGroup counts ready jobs that went from one place to another.
type placedGroup struct {
	TaskID        int64
	ShareID       shares.ShareID
	ShapeID       int32
	Place, Before int64
	N             int32
	LowID, HighID int64
}

// moves takes them out of the old place and puts them into the new one.
func (g placedGroup) moves() []move {
	out := move{Task: g.TaskID, Share: g.ShareID, Shape: g.ShapeID, Before: isReady, After: isNone, N: g.N,
		Place: g.Before, Low: g.LowID, High: g.HighID}
	in := out
	in.Before, in.After, in.Place = isNone, isReady, g.Place
	return []move{out, in}
}
