package runs

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Run is what a pilot starts, and what it may use.
type Run struct {
	Command []string
	Env     map[string]string
	Need    job.Requirements
	Claims  []int64 // that it holds
	// Submitted is when the task was of a job that is given out for the first time, whose piece no other job had; else zero.
	Submitted time.Time
}

// task is what the jobs of a task have in common.
type task struct {
	recipe    *job.Recipe
	submitted time.Time
}

// Renderer makes of leases what pilots start: the payload of the task with the piece of the job put in.
type Renderer struct {
	pieces   pieces[part]
	payloads *cache[int64, task]
	needs    *cache[int32, job.Requirements]
}

// part is what a job has of its task.
type part struct {
	piece  job.Piece
	claims []int64
	again  bool // another job had the piece before
}

// Bounds of what a Renderer keeps, twice as many each.
const (
	mostPayloads = 20_000
	mostNeeds    = 20_000
)

// New makes a Renderer over a database.
func New(db *pgxpool.Pool) *Renderer {
	r := &Renderer{}
	r.pieces.read = func(ctx context.Context, from, to []int64) (map[int64]part, error) {
		type row struct {
			ID, Idx, FirstEvent int64
			NEvents             int64 `db:"n_events"`
			Inputs              []string
			Claims              []int64
			Again               bool
		}
		return rowsBy(ctx, db, "pieces", pg.Args{"from": from, "to": to}, func(v row) (int64, part) {
			return v.ID, part{job.Piece{Index: v.Idx, Inputs: v.Inputs, FirstEvent: v.FirstEvent, Events: v.NEvents}, v.Claims, v.Again}
		})
	}
	r.payloads = newCache(mostPayloads, func(ctx context.Context, tasks []int64) (map[int64]task, error) {
		type row struct {
			TaskID  int64
			Command []string
			Env     map[string]string
			Matrix  []job.Axis
			Roles   map[string][]string

			Submitted *time.Time
		}
		return rowsBy(ctx, db, "payloads", pg.Args{"tasks": tasks}, func(v row) (int64, task) {
			of := task{recipe: job.NewRecipe(job.Payload{Task: v.TaskID, Command: v.Command, Env: v.Env, Matrix: v.Matrix, Roles: v.Roles})}
			if v.Submitted != nil {
				of.submitted = *v.Submitted
			}
			return v.TaskID, of
		})
	})
	r.needs = newCache(mostNeeds, func(ctx context.Context, shapes []int32) (map[int32]job.Requirements, error) {
		type row struct {
			ID        int32
			Cores     int
			MemoryMB  int64 `db:"memory_mb"`
			DiskMB    int64 `db:"disk_mb"`
			WalltimeS int64 `db:"walltime_s"`
		}
		return rowsBy(ctx, db, "needs", pg.Args{"shapes": shapes}, func(v row) (int32, job.Requirements) {
			return v.ID, job.Requirements{Cores: v.Cores, MemoryMB: v.MemoryMB, DiskMB: v.DiskMB, WalltimeS: v.WalltimeS}
		})
	})
	return r
}

// rowsBy runs a query and returns its rows by key.
func rowsBy[R any, K comparable, V any](ctx context.Context, db *pgxpool.Pool, verb string, args pg.Args, of func(R) (K, V)) (map[K]V, error) {
	rows, err := db.Query(ctx, query[verb], args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[R])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	found := make(map[K]V, len(list))
	for _, row := range list {
		k, v := of(row)
		found[k] = v
	}
	return found, nil
}

// Render returns what pilots start, one for each lease. A job without a row or a payload is an error.
func (r *Renderer) Render(ctx context.Context, leases []machine.Lease) ([]Run, error) {
	var first, again []int64
	tasks, shapes := make([]int64, len(leases)), make([]int32, len(leases))
	for i, l := range leases {
		tasks[i], shapes[i] = l.Task, l.Shape
		if l.Attempt == 1 {
			first = append(first, l.Job)
		} else {
			again = append(again, l.Job) // it may have been split since
		}
	}
	pieces, err := r.pieces.of(ctx, first, again)
	if err != nil {
		return nil, err
	}
	payloads, err := r.payloads.of(ctx, tasks)
	if err != nil {
		return nil, err
	}
	needs, err := r.needs.of(ctx, shapes)
	if err != nil {
		return nil, err
	}
	runs := make([]Run, len(leases))
	for i, l := range leases {
		of, ok := pieces[l.Job]
		if !ok {
			return nil, fmt.Errorf("job %d has no row", l.Job)
		}
		payload, ok := payloads[l.Task]
		if !ok {
			return nil, fmt.Errorf("task %d has no payload", l.Task)
		}
		runs[i].Need, runs[i].Claims = needs[l.Shape], of.claims
		runs[i].Command, runs[i].Env = payload.recipe.Render(of.piece)
		if l.Attempt == 1 && !of.again {
			runs[i].Submitted = payload.submitted
		}
	}
	return runs, nil
}
