package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// TaskPriority asks that live jobs of a task get another priority.
type TaskPriority struct {
	Task     int64
	After    int64 // jobs with larger ids
	Priority int
}

// TaskPrioritised counts the jobs of a batch that had another priority.
type TaskPrioritised struct {
	Waiting int64
	Ready   int64
	Leased  int64 // the running attempt is not touched: the job has the priority if it comes back
	More    bool  // there may be more: call again
	Next    int64 // after this id
}

// PrioritiseTask gives the next walkJobs live jobs of a task another priority, and their place in the ready order by it.
// Jobs are locked in the order of their ids, for about a fiftieth of a second; a grant of one of them waits that long.
// The caller holds the task's row, so that no job of it is made meanwhile with the priority of before.
func PrioritiseTask(ctx context.Context, tx pgx.Tx, p TaskPriority) (out TaskPrioritised, err error) {
	if err := barrierShared(ctx, tx); err != nil {
		return out, fmt.Errorf("prioritise: %w", err)
	}
	jobs, err := collect[walkedJob](ctx, tx, "lock_next_jobs", pgx.StrictNamedArgs{"task": p.Task, "after": p.After, "n": walkJobs})
	if err != nil || len(jobs) == 0 {
		return out, wrapPrioritise(err)
	}
	out.More, out.Next = len(jobs) == walkJobs, jobs[len(jobs)-1].ID
	var agings map[shares.ShareID]*shares.Aging
	if err := tx.QueryRow(ctx, query["agings"]).Scan(&agings); err != nil {
		return out, wrapPrioritise(err)
	}
	var ids, befores, places []int64
	for _, j := range jobs {
		if j.Priority != p.Priority {
			ids, befores = append(ids, j.ID), append(befores, j.Place)
			places = append(places, agings[j.ShareID].Place(p.Priority, j.CreatedAt))
		}
	}
	if len(ids) == 0 {
		return out, nil
	}
	groups, err := collect[prioritisedGroup](ctx, tx, "prioritise", pgx.StrictNamedArgs{
		"ids": ids, "befores": befores, "places": places, "priority": p.Priority})
	if err != nil {
		return out, wrapPrioritise(err)
	}
	var moves []move
	for _, g := range groups {
		switch g.State {
		case "leased":
			out.Leased += int64(g.N)
		case "waiting": // no window has it
			out.Waiting += int64(g.N)
		default:
			out.Ready += int64(g.N)
			moves = append(moves, g.moves()...)
		}
	}
	return out, wrapPrioritise(record(ctx, tx, moves))
}

// prioritisedGroup counts jobs that went from one place to another, by their state.
type prioritisedGroup struct {
	placedGroup
	State string
}

func wrapPrioritise(err error) error {
	if err != nil {
		return fmt.Errorf("prioritise: %w", err)
	}
	return nil
}
