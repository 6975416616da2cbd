package runs

import (
	"context"
	"embed"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Run is what a pilot starts, and what it may use.
type Run struct {
	job.Filled
	Need   job.Requirements
	Claims []int64 // that it holds
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
	pieces   *pieces[part]
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
	r.pieces = newPieces(func(ctx context.Context, from, to []int64) (map[int64]part, error) {
		type row struct {
			ID, Idx, FirstEvent int64
			NEvents             int64 `db:"n_events"`
			Inputs              []string
			Claims              []int64
			Again               bool
		}
		return rowsBy(ctx, db, "pieces", pg.Args{"from": from, "to": to, "most": readAhead}, func(v row) (int64, part) {
			return v.ID, part{job.Piece{Job: v.ID, Index: v.Idx, Inputs: v.Inputs, FirstEvent: v.FirstEvent, Events: v.NEvents}, v.Claims, v.Again}
		})
	})
	r.payloads = newCache("the payload of task", mostPayloads, func(ctx context.Context, tasks []int64) (map[int64]task, error) {
		type row struct {
			TaskID  int64
			Command []string
			Env     map[string]string
			Matrix  []job.Axis
			Roles   map[string][]string
			Dir     string
			Stdout  string
			Stderr  string
			Image   string

			Submitted *time.Time
		}
		return rowsBy(ctx, db, "payloads", pg.Args{"tasks": tasks}, func(v row) (int64, task) {
			of := task{recipe: job.NewRecipe(job.Payload{Task: v.TaskID, Command: v.Command, Env: v.Env, Matrix: v.Matrix, Roles: v.Roles, Image: v.Image,
				Paths: job.Paths{Dir: v.Dir, Stdout: v.Stdout, Stderr: v.Stderr}})}
			if v.Submitted != nil {
				of.submitted = *v.Submitted
			}
			return v.TaskID, of
		})
	})
	r.needs = newCache("shape", mostNeeds, func(ctx context.Context, shapes []int32) (map[int32]job.Requirements, error) {
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
	list, err := pg.Collect[R](ctx, db, query[verb], args)
	if err != nil {
		return nil, err
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
	n := len(leases)
	jobs, again, tasks, shapes := make([]int64, n), make([]bool, n), make([]int64, n), make([]int32, n)
	for i, l := range leases {
		jobs[i], again[i], tasks[i], shapes[i] = l.Job, l.Attempt > 1, l.Task, l.Shape // between two attempts a job may be split
	}
	pieces, payloads, needs := make([]part, n), make([]task, n), make([]job.Requirements, n)
	if err := r.pieces.of(ctx, jobs, again, pieces); err != nil {
		return nil, err
	}
	if err := r.payloads.of(ctx, tasks, payloads); err != nil {
		return nil, err
	}
	if err := r.needs.of(ctx, shapes, needs); err != nil {
		return nil, err
	}
	runs := make([]Run, n)
	for i, l := range leases {
		run := &runs[i]
		run.Need, run.Claims = needs[i], pieces[i].claims
		run.Filled = payloads[i].recipe.Render(pieces[i].piece)
		if l.Attempt == 1 && !pieces[i].again {
			run.Submitted = payloads[i].submitted
		}
	}
	return runs, nil
}

// AddClaims tells a job that holds claims where these are, and which devices they have. Others keep what they have.
func (r *Run) AddClaims(claim func(id int64) (gate.Shown, bool)) {
	if len(r.Claims) == 0 {
		return
	}
	env := maps.Clone(r.Env) // other jobs of the task have it too
	if env == nil {
		env = map[string]string{}
	}
	for _, id := range r.Claims {
		c, ok := claim(id)
		if !ok {
			continue // the lease has ended by now
		}
		name := "DIVVY_CLAIM_" + resource.EnvName(c.Template.Name)
		if c.Local {
			env[name+"_NODE"] = c.Place.Node
		}
		if len(c.Devices) > 0 {
			env[name+"_DEVICES"] = strings.Join(c.Devices, ",")
		}
	}
	r.Env = env
}
