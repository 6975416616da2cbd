package generator

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// reassignTasks bounds one Reassign.
const reassignTasks = 1000

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
}

// TaskReassigned says what of a task went to the share, and what did not and why. Jobs are counted as the log was folded when it was said.
type TaskReassigned struct {
	Task    int64  `json:"task"`
	From    string `json:"from,omitempty" doc:"Share of its jobs before; empty: it had none."`
	Moved   bool   `json:"moved" doc:"Something went."`
	Pieces  int64  `json:"pieces" doc:"Pieces that are no jobs yet: they will be jobs of the new share."`
	Waiting int64  `json:"waiting" doc:"Waiting jobs that went, as of a second or two ago."`
	Ready   int64  `json:"ready" doc:"Ready jobs that went, as of a second or two ago."`
	Leased  int64  `json:"leased" doc:"Running jobs that went, as of a second or two ago."`
	Stay    int64  `json:"stay" doc:"Running jobs that stay charged to the old share, as of a second or two ago."`
	Ended   int64  `json:"ended" doc:"Jobs that have ended, as of a second or two ago: they stay where they were."`
	Why     string `json:"why,omitempty" doc:"Why it did not go, or not all of it."`
}

// Reassign gives tasks that are not over to another share: pieces to come, waiting and ready jobs, and with Running the
// jobs that run; each task in a transaction of its own. A repeat changes nothing. Errors: ErrNoSite, and ErrInvalid for a share that is no
// leaf. A task that does not exist or is over is no error: its line says so.
func (g *Verbs) Reassign(ctx context.Context, r ReassignRequest) (Reassigned, error) {
	if len(r.Tasks) == 0 || len(r.Tasks) > reassignTasks {
		return Reassigned{}, spec.Invalid("tasks", fmt.Sprintf("has %d ids", len(r.Tasks)), fmt.Sprintf("1 to %d", reassignTasks))
	}
	out := Reassigned{Share: r.Share, Tasks: []TaskReassigned{}}
	seen := map[int64]bool{}
	for _, id := range r.Tasks {
		if seen[id] {
			continue
		}
		seen[id] = true
		t, err := g.reassignTask(ctx, id, r)
		if err != nil {
			return Reassigned{}, fmt.Errorf("reassign task %d: %w", id, err)
		}
		out.Tasks = append(out.Tasks, t)
	}
	g.hint()
	return out, nil
}

// reassignTask moves one task with its jobs. The site lock comes first, so that the share stays a leaf.
func (g *Verbs) reassignTask(ctx context.Context, id int64, r ReassignRequest) (out TaskReassigned, err error) {
	err = g.write(ctx, func(tx pgx.Tx) error {
		out = TaskReassigned{Task: id}
		st, to, err := g.leafInForce(ctx, tx, r.Share)
		if err != nil {
			return err
		}
		if err := steady(ctx, tx); err != nil {
			return err
		}
		t, err := lockReassign(ctx, tx, id)
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
		return t.move(ctx, tx, reassignment{to: to, path: r.Share, running: r.Running, site: st.Number}, &out)
	})
	return out, err
}

// reassignment is where a task goes.
type reassignment struct {
	to      shares.ShareID
	path    string
	running bool
	site    int64
}

// leafInForce finds the share in the version in force, and keeps that version in force until the transaction ends.
func (g *Verbs) leafInForce(ctx context.Context, tx pgx.Tx, path string) (*site.Site, shares.ShareID, error) {
	st, err := g.siteInForce(ctx, tx)
	if err != nil {
		return nil, 0, err
	}
	to, err := tags.Leaf(st, path)
	return st, to, err
}

// movableTask is a task under its row lock.
type movableTask struct {
	ID         int64
	State      string
	Over       bool
	ShareID    shares.ShareID
	Share      string
	Overruled  bool
	Pieces     int64
	NGenerated int64
	Waiting    int64
	Ready      int64
	Ended      int64
}

func lockReassign(ctx context.Context, tx pgx.Tx, id int64) (movableTask, error) {
	rows, err := tx.Query(ctx, query["lock_reassign"], pgx.StrictNamedArgs{"task": id})
	if err != nil {
		return movableTask{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[movableTask])
}

// move gives the task to the share, and its jobs: those that run are told apart as of folded.
func (t *movableTask) move(ctx context.Context, tx pgx.Tx, r reassignment, out *TaskReassigned) error {
	var elsewhere int64 // running jobs
	err := tx.QueryRow(ctx, query["charged_elsewhere"], pgx.StrictNamedArgs{"task": t.ID, "share": int32(r.to)}).Scan(&elsewhere)
	if err != nil {
		return err
	}
	if r.running {
		out.Leased = elsewhere
	} else {
		out.Stay = elsewhere
	}
	goes := t.ShareID != r.to || t.Overruled
	out.Moved = goes || out.Leased > 0
	switch {
	case out.Stay > 0:
		stay := "leased jobs stay"
		if out.Stay == 1 {
			stay = "leased job stays"
		}
		out.Why = fmt.Sprintf("%d %s charged to the share that they started under until they end, and if they fail they are ready in the new one; "+
			"with running they go too", out.Stay, stay)
	case !out.Moved:
		out.Why = "it is in " + r.path + " already"
	}
	if goes {
		if err := t.take(ctx, tx, r, out); err != nil {
			return err
		}
	}
	if !goes && !r.running || t.NGenerated == 0 { // jobs that run may be there that are not folded yet
		return nil
	}
	return intake.MoveTask(ctx, tx, intake.TaskMove{Task: t.ID, To: r.to, Running: r.running})
}

// take gives the task itself to the share.
func (t *movableTask) take(ctx context.Context, tx pgx.Tx, r reassignment, out *TaskReassigned) error {
	out.Waiting, out.Ready = t.Waiting, t.Ready
	if t.State != "finishing" && t.State != "aborting" { // these make no more jobs
		out.Pieces = t.Pieces
	}
	_, err := tx.Exec(ctx, query["reassign"], pgx.StrictNamedArgs{"task": t.ID, "share": int32(r.to),
		"tagged_by": view.TaggedBy{Verdict: tags.Explicit}, "site_version": r.site})
	if err != nil {
		return err
	}
	return record(ctx, tx, VerbReassign, t.ID, t.Share, r.path)
}
