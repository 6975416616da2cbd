package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/slurm"
)

// minJobAge is how long squeue -t all shows jobs that have ended, as MinJobAge of Slurm.
const minJobAge = 300 * time.Second

// filter selects rows; empty fields select nothing away.
type filter struct {
	ids                      []slurm.ID
	users, names, partitions []string
	states                   []slurm.State
}

// errNoJob is that an id is not known.
var errNoJob = errors.New("Invalid job id specified")

// byID are the tasks that ids name, each once, and how many ids name none.
func (l *lister) byID(ctx context.Context, ids []slurm.ID) (tasks []wire.Task, unknown int, err error) {
	var known []int64
	found, err := each(ctx, ids, func(ctx context.Context, id slurm.ID) (int64, error) {
		if id.Raw == 0 {
			return id.Job, nil
		}
		j, err := l.client.Jobs().Get(ctx, id.Raw)
		if client.IsNotFound(err) {
			return 0, nil
		}
		return j.Task, err
	})
	if err != nil {
		return nil, 0, err
	}
	for _, id := range found {
		if id == 0 {
			unknown++
		} else if !slices.Contains(known, id) {
			known = append(known, id)
		}
	}
	all, err := each(ctx, known, func(ctx context.Context, id int64) (wire.Task, error) {
		t, err := l.client.Tasks().Get(ctx, id)
		if client.IsNotFound(err) {
			return wire.Task{}, nil
		}
		return t, err
	})
	for _, t := range all {
		if t.ID == 0 {
			unknown++
			continue
		}
		tasks = append(tasks, t)
	}
	return tasks, unknown, err
}

// some are the rows of these that the filter wants.
func (f *filter) some(rows []slurm.Row) []slurm.Row {
	return slices.DeleteFunc(rows, func(r slurm.Row) bool {
		return !r.State.In(f.states) || !among(f.users, r.Who.User) || !among(f.names, r.Who.Name) || !among(f.partitions, r.Who.Partition) || !f.named(&r)
	})
}

func among(list []string, text string) bool { return len(list) == 0 || slices.Contains(list, text) }

// named says whether one of the ids is that of the row. A row of pending pieces is cut to those that were asked for.
func (f *filter) named(r *slurm.Row) bool {
	if len(f.ids) == 0 {
		return true
	}
	return slices.ContainsFunc(f.ids, func(id slurm.ID) bool {
		switch {
		case id.Raw > 0:
			return id.Raw == r.Raw
		case id.Job != r.Job:
			return false
		case id.Piece < 0 || r.Array == nil:
			return true
		case r.Piece < 0:
			_, in := r.Array.Find(id.Piece)
			return in
		}
		return id.Piece == r.Piece
	})
}

// live are the tasks that are not over, and with recent those that ended lately.
func (l *lister) live(ctx context.Context, f filter, recent bool) ([]wire.Task, error) {
	return l.tasks(ctx, f, func(t wire.Task) bool {
		return t.EndedAt == nil || recent && time.Since(*t.EndedAt) < minJobAge
	})
}

// tasks are those of the filter's users, newest first, that keep wants. It stops after a page of which it wants none: what follows is
// older.
func (l *lister) tasks(ctx context.Context, f filter, keep func(wire.Task) bool) (tasks []wire.Task, err error) {
	users := f.users
	if len(users) == 0 {
		users = []string{""}
	}
	for _, user := range users {
		want := client.TaskFilter{User: user, Newest: true, Limit: 1000}
		for {
			page, err := l.client.Tasks().List(ctx, want)
			if err != nil {
				return nil, err
			}
			kept := 0
			for _, t := range page.Items {
				if keep(t) {
					kept++
					if among(f.names, t.Name) {
						tasks = append(tasks, t)
					}
				}
			}
			if want.After = page.Next; page.Next == "" || kept == 0 {
				break
			}
		}
	}
	slices.SortFunc(tasks, func(a, b wire.Task) int { return int(a.ID - b.ID) })
	return tasks, nil
}

// one is the row that an id names; with pieces those of an array.
func (l *lister) one(ctx context.Context, text string, d deep) ([]slurm.Row, []wire.Task, error) {
	ids, err := slurm.ParseIDs(text)
	if err != nil {
		return nil, nil, err
	}
	tasks, _, err := l.byID(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	rows, err := l.rowsOf(ctx, tasks, d)
	if err != nil {
		return nil, nil, err
	}
	f := filter{ids: ids}
	if rows = f.some(rows); len(rows) == 0 {
		return nil, nil, fmt.Errorf("%w", errNoJob)
	}
	return rows, tasks, nil
}
