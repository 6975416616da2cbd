package generator

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/split"
	"github.com/divvyhq/divvy/shares"
)

// halveBatch are the jobs whose pieces are split in one transaction.
const halveBatch = 200

// halvedTask is a locked task of which pieces are to become two.
type halvedTask struct {
	ID       int64
	State    string
	ShareID  shares.ShareID
	Priority int
	Split    string
	Shared   bool // an input that is large is shared out among several jobs: they heed their first event
	Scouting bool
	NHalves  int64
}

// halve splits the pieces of the next jobs behind after that wait for it: a rule of the site said split_smaller. Each keeps
// the first half of what it had, the second becomes a new job. It returns the last job that it looked at, 0 when there is none.
func (g *Generator) halve(ctx context.Context, after int64) (last int64, n int, err error) {
	if jobs, err := nextSplittings(ctx, g.cfg.Pool, after); err != nil || len(jobs) == 0 {
		return 0, 0, err
	}
	err = g.write(ctx, func(tx pgx.Tx) error {
		last, n = 0, 0
		if err := steady(ctx, tx); err != nil {
			return err
		}
		jobs, err := nextSplittings(ctx, tx, after)
		if err != nil || len(jobs) == 0 {
			return err
		}
		last = jobs[len(jobs)-1].ID
		tasks, err := lockHalved(ctx, tx, jobs)
		if err != nil {
			return err
		}
		var ids []int64
		for _, j := range jobs {
			if tasks[j.TaskID] != nil { // the others are in another daemon's hands
				ids = append(ids, j.ID)
			}
		}
		n = len(ids)
		return halveJobs(ctx, tx, ids, tasks)
	})
	return last, n, err
}

// waitingHalf is a job that waits to be split.
type waitingHalf struct {
	ID     int64
	TaskID int64
}

func nextSplittings(ctx context.Context, db interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, after int64) ([]waitingHalf, error) {
	rows, err := db.Query(ctx, query["next_splittings"], pgx.StrictNamedArgs{"after": after, "limit": halveBatch})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[waitingHalf])
}

// lockHalved locks the tasks of jobs, but for those that somebody else has locked.
func lockHalved(ctx context.Context, tx pgx.Tx, jobs []waitingHalf) (map[int64]*halvedTask, error) {
	var ids []int64
	for _, j := range jobs {
		if !slices.Contains(ids, j.TaskID) {
			ids = append(ids, j.TaskID)
		}
	}
	rows, err := tx.Query(ctx, query["lock_halved"], pgx.StrictNamedArgs{"tasks": ids})
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[halvedTask])
	tasks := make(map[int64]*halvedTask, len(all))
	for _, t := range all {
		tasks[t.ID] = t
	}
	return tasks, err
}

// halveJobs splits jobs of locked tasks.
func halveJobs(ctx context.Context, tx pgx.Tx, ids []int64, tasks map[int64]*halvedTask) error {
	jobs, err := intake.LockSplittings(ctx, tx, ids)
	if err != nil {
		return err
	}
	var b halvesBooked
	halves := make([]intake.Halves, len(jobs))
	for i, job := range jobs {
		t := tasks[job.Task]
		events, err := eventsOf(ctx, tx, t, job)
		if err != nil {
			return err
		}
		halves[i] = t.halved(job, events)
		if halves[i].Rest != nil {
			b.add(halves[i])
		}
	}
	if _, err := intake.Halve(ctx, tx, halves); err != nil {
		return err
	}
	return b.write(ctx, tx)
}

// halved says how the piece of a job is split. events are those of the inputs that the job would keep, where it has several.
func (t *halvedTask) halved(job intake.Splitting, events int64) intake.Halves {
	h := intake.Halves{Splitting: job, KeepInputs: len(job.Inputs), KeepEvents: job.Events}
	if h.Why = t.whole(job); h.Why != "" {
		return h
	}
	rest := intake.NewJob{Task: t.ID, Share: t.ShareID, Priority: t.Priority, Index: split.FirstHalf + t.NHalves}
	t.NHalves++
	switch n := len(job.Inputs); {
	case n > 1:
		h.KeepInputs = (n + 1) / 2
		h.KeepEvents = min(events, job.Events)
		rest.Inputs, rest.FirstEvent, rest.Events = job.Inputs[h.KeepInputs:], job.FirstEvent, job.Events-h.KeepEvents
	default:
		h.KeepEvents = (job.Events + 1) / 2
		rest.Inputs, rest.FirstEvent, rest.Events = job.Inputs, job.FirstEvent+h.KeepEvents, job.Events-h.KeepEvents
	}
	h.Rest = &rest
	return h
}

// whole is why a piece stays as it is; empty: it can be split.
func (t *halvedTask) whole(job intake.Splitting) string {
	switch {
	case t.Scouting:
		return "scouts measure what a piece takes"
	case !slices.Contains([]string{"ready", "running", "paused", "throttled"}, t.State):
		return fmt.Sprintf("task %d is %s", t.ID, t.State)
	case t.Split != "inputs" && t.Split != "events":
		return fmt.Sprintf("the work of task %d is split by %s, not by inputs or events", t.ID, t.Split)
	case len(job.Inputs) > 1:
		return ""
	case len(job.Inputs) == 1 && !t.Shared:
		return "it has one input"
	case job.Events < 2:
		return "it has one event"
	}
	return ""
}

// eventsOf are the events of the inputs that a job keeps, where the job says how many it has.
func eventsOf(ctx context.Context, tx pgx.Tx, t *halvedTask, job intake.Splitting) (n int64, err error) {
	if len(job.Inputs) < 2 || job.Events == 0 || t.whole(job) != "" {
		return 0, nil
	}
	keep := job.Inputs[:(len(job.Inputs)+1)/2]
	err = tx.QueryRow(ctx, query["events_of_inputs"], pgx.StrictNamedArgs{"task": t.ID, "names": keep}).Scan(&n)
	return n, err
}

// halvesBooked is what a batch adds to halves and to tasks.
type halvesBooked struct {
	tasks, indexes, of, jobs []int64
	again                    []bool
}

func (b *halvesBooked) add(h intake.Halves) {
	b.tasks, b.indexes, b.of = append(b.tasks, h.Task), append(b.indexes, h.Rest.Index), append(b.of, h.Index)
	b.jobs, b.again = append(b.jobs, h.Job), append(b.again, h.Retry)
}

func (b *halvesBooked) write(ctx context.Context, tx pgx.Tx) error {
	if len(b.tasks) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, query["insert_halves"], pgx.StrictNamedArgs{"tasks": b.tasks, "indexes": b.indexes, "of": b.of,
		"jobs": b.jobs, "again": b.again})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, query["count_halves"], pgx.StrictNamedArgs{"tasks": b.tasks})
	return err
}
