package generator

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// Bounds of one Reassign: tasks, batches over all of them, and jobs of a batch. Grants stand still while a batch moves,
// so it is smaller than those of verbs.
const (
	reassignTasks   = 1000
	reassignBatches = 50
	reassignJobs    = 1000
)

// WhyNoTask is why nothing of a task went that does not exist.
const WhyNoTask = "there is no such task"

// ReassignRequest asks that tasks go to another share.
type ReassignRequest struct {
	Share   string  `json:"share" minLength:"1" doc:"Path of the leaf that they go to."`
	Tasks   []int64 `json:"tasks" minItems:"1" maxItems:"1000" doc:"Ids of tasks."`
	Running bool    `json:"running" required:"false" doc:"Move running jobs too: their units are charged to the new share from then on."`
}

// Reassigned says what became of each task, in the order of the request.
type Reassigned struct {
	Share string           `json:"share"`
	Tasks []TaskReassigned `json:"tasks"`
	More  bool             `json:"more" doc:"There is more than one request moves: send the same request again."`
}

// TaskReassigned says what of a task went to the share, and what did not and why. Jobs that ended stay where they were.
type TaskReassigned struct {
	Task    int64  `json:"task"`
	From    string `json:"from,omitempty" doc:"Share of its jobs before; empty: it had none."`
	Moved   bool   `json:"moved" doc:"Something went."`
	Pieces  int64  `json:"pieces" doc:"Pieces that are no jobs yet: they will be jobs of the new share."`
	Waiting int64  `json:"waiting" doc:"Waiting jobs that went."`
	Ready   int64  `json:"ready" doc:"Ready jobs that went."`
	Leased  int64  `json:"leased" doc:"Running jobs that went."`
	Stay    int64  `json:"stay" doc:"Running jobs that stay charged to the old share."`
	Ended   int64  `json:"ended" doc:"Jobs that have ended, as of a second or two ago: they stay where they were."`
	Why     string `json:"why,omitempty" doc:"Why it did not go, or not all of it."`
	More    bool   `json:"more" doc:"It has more jobs than one request moves."`
}

// Reassign gives tasks that are not over to another share: pieces to come, waiting and ready jobs, and with Running the
// jobs that run. It moves a bounded number of jobs in batches of their own and says what is left; a repeat goes on, and
// changes nothing once all is done. Errors: ErrNoSite, and ErrInvalid for a share that is no leaf. A task that does not
// exist or is over is no error: its line says so.
func (g *Generator) Reassign(ctx context.Context, r ReassignRequest) (Reassigned, error) {
	if len(r.Tasks) == 0 || len(r.Tasks) > reassignTasks {
		return Reassigned{}, fault("tasks", fmt.Sprintf("has %d ids", len(r.Tasks)), fmt.Sprintf("1 to %d", reassignTasks))
	}
	out := Reassigned{Share: r.Share, Tasks: []TaskReassigned{}}
	budget, seen := reassignBatches, map[int64]bool{}
	for _, id := range r.Tasks {
		if seen[id] {
			continue
		}
		seen[id] = true
		t, used, err := g.reassignTask(ctx, reassignment{task: id, share: r.Share, running: r.Running}, budget)
		if err != nil {
			return Reassigned{}, fmt.Errorf("reassign task %d: %w", id, err)
		}
		budget -= used
		out.Tasks, out.More = append(out.Tasks, t), out.More || t.More
	}
	g.hint()
	return out, nil
}

// reassignment is one task on its way.
type reassignment struct {
	task    int64
	share   string
	running bool
	from    int64 // jobs with smaller ids were seen to
}

// reassignTask moves at most so many batches.
func (g *Generator) reassignTask(ctx context.Context, r reassignment, batches int) (out TaskReassigned, used int, err error) {
	for {
		if used == batches {
			out.Task, out.More = r.task, true
			out.Why = "more jobs than one request moves: send it again"
			return out, used, nil
		}
		one, next, err := g.reassignBatch(ctx, r)
		if err != nil {
			return out, used, err
		}
		if next > 0 || used > 0 {
			used++
		}
		r.from = next
		if out.Task != 0 { // of the first batch: what the task was before
			one.From, one.Pieces, one.Moved = out.From, out.Pieces, one.Moved || out.Moved
			if one.Moved {
				one.Why = ""
			}
		}
		one.Waiting, one.Ready, one.Leased = one.Waiting+out.Waiting, one.Ready+out.Ready, one.Leased+out.Leased
		out = one
		if !out.More {
			return out, used, g.stay(ctx, r, &out)
		}
	}
}

// reassignBatch moves the task, if it has not moved yet, and one batch of its jobs; next is the id from which on there may
// be more, 0 when there were none. The first of them is looked for before grants stand still: it may be far behind.
// The site lock comes first, so that the share stays a leaf and the limits are those of the version in force; the
// task's row before the barrier, as verbs have them.
func (g *Generator) reassignBatch(ctx context.Context, r reassignment) (out TaskReassigned, next int64, err error) {
	err = pg.InTx(ctx, g.cfg.Pool, func(tx pgx.Tx) error {
		out, next = TaskReassigned{Task: r.task}, 0
		st, to, err := g.leafInForce(ctx, tx, r.share)
		if err != nil {
			return err
		}
		t, err := lockReassign(ctx, tx, r.task)
		if errors.Is(err, pgx.ErrNoRows) {
			out.Why = WhyNoTask
			return nil
		}
		if err != nil {
			return err
		}
		out.From, out.Ended = t.Share, t.Ended
		if t.Over {
			out.Why = "it is over (" + t.State + "): what has ended stays where it was"
			return nil
		}
		first, err := t.take(ctx, tx, r, to, st, &out)
		if err != nil || first == 0 {
			return err
		}
		next, err = t.takeJobs(ctx, tx, intake.TaskMove{Task: t.ID, From: 0, To: to, Running: r.running}, st, &out)
		return err
	})
	return out, next, err
}

// leafInForce finds the share in the version in force, and keeps that version in force until the transaction ends.
func (g *Generator) leafInForce(ctx context.Context, tx pgx.Tx, path string) (*site.Site, shares.ShareID, error) {
	st, err := g.siteInForce(ctx, tx)
	if err != nil {
		return nil, 0, err
	}
	to, err := leafByPath(st, path)
	return st, to, err
}

// siteInForce is the version in force, which stays so until the transaction ends.
func (g *Generator) siteInForce(ctx context.Context, tx pgx.Tx) (*site.Site, error) {
	if err := pg.LockShared(ctx, tx, pg.LockSite, 0); err != nil {
		return nil, err
	}
	st, err := g.cfg.Site(ctx)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	if st.Number == 0 {
		return nil, ErrNoSite
	}
	var inForce int64
	if err := tx.QueryRow(ctx, query["newest_site"]).Scan(&inForce); err != nil {
		return nil, err
	}
	if inForce != st.Number {
		return nil, ErrSiteChanged
	}
	return st, nil
}

// movableTask is a task under its row lock.
type movableTask struct {
	ID        int64
	State     string
	Over      bool
	ShareID   shares.ShareID
	Share     string
	Overruled bool
	Committed bool
	Pieces    int64
	Ended     int64
}

func lockReassign(ctx context.Context, tx pgx.Tx, id int64) (movableTask, error) {
	rows, err := tx.Query(ctx, query["lock_reassign"], pgx.StrictNamedArgs{"task": id})
	if err != nil {
		return movableTask{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[movableTask])
}

// take gives the task itself to the share; first is the first of its jobs that have to follow.
func (t movableTask) take(ctx context.Context, tx pgx.Tx, r reassignment, to shares.ShareID, st *site.Site, out *TaskReassigned) (first int64, err error) {
	if t.ShareID == to && !t.Overruled {
		out.Why = "it is in " + r.share + " already"
	} else {
		out.Moved = true
		if t.State != "finishing" && t.State != "aborting" { // these make no more jobs
			out.Pieces = t.Pieces
		}
		_, err := tx.Exec(ctx, query["reassign"], pgx.StrictNamedArgs{"task": t.ID, "share": int32(to),
			"tagged_by": TaggedBy{Verdict: explicit}, "site_version": st.Number})
		if err != nil {
			return 0, err
		}
		if err := record(ctx, tx, VerbReassign, t.ID, t.Share, r.share); err != nil {
			return 0, err
		}
	}
	err = tx.QueryRow(ctx, query["movable"], pgx.StrictNamedArgs{"task": t.ID, "from": r.from, "share": int32(to), "only": int32(0), "running": r.running}).Scan(&first)
	return first, err
}

// takeJobs moves a batch of jobs behind the barrier, and has the limits computed anew: what a share holds has changed.
func (t movableTask) takeJobs(ctx context.Context, tx pgx.Tx, m intake.TaskMove, st *site.Site, out *TaskReassigned) (next int64, err error) {
	if err := intake.Barrier(ctx, tx); err != nil {
		return 0, err
	}
	return 0, intake.MoveTask(ctx, tx, m)
}

// stay says what did not go. It reads all jobs of the task, so it holds no lock and is in nobody's way.
func (g *Generator) stay(ctx context.Context, r reassignment, out *TaskReassigned) error {
	err := g.cfg.Pool.QueryRow(ctx, query["left_behind"], pgx.StrictNamedArgs{"task": r.task, "share": r.share}).Scan(&out.Stay)
	if err != nil || out.Stay == 0 {
		return err
	}
	out.Why = fmt.Sprintf("%s charged to the share that they started under until they end, and if they fail they are ready there again; "+
		"with running they go too", counted(out.Stay, "leased job stays", "leased jobs stay"))
	if r.running { // leased or come back while the batch moved
		out.Why = fmt.Sprintf("%s where they were: repeat the request", counted(out.Stay, "leased job stays", "leased jobs stay"))
	}
	return nil
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
