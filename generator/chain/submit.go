package chain

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pg"
)

// New is what a new task's row says about the tasks that it needs.
type New struct {
	needs    []spec.Need
	State    string // open while its pieces follow others'
	Reason   string // that it waits for
	Released *int64 // 0 where pieces wait for pieces, else nil
}

// Of checks the needs of a new task.
func Of(ctx context.Context, tx pgx.Tx, s *spec.Spec) (New, error) {
	c := New{needs: s.Needs}
	if len(c.needs) == 0 {
		return c, nil
	}
	needed, err := readNeeded(ctx, tx, c.needs)
	if err != nil {
		return c, err
	}
	var waits []string
	for i := range c.needs {
		need := &c.needs[i]
		a, ok := needed[need.Task]
		if !ok {
			return c, spec.Invalid(fmt.Sprintf("needs[%d].task", i), fmt.Sprintf("there is no task %d", need.Task), "")
		}
		if !need.PerInput() {
			waits = append(waits, fmt.Sprintf("%d (%s)", a.ID, a.Name))
		}
		if need.Follows() {
			c.State = "open"
		}
	}
	if len(waits) > 0 {
		c.Reason = "waits for task " + strings.Join(waits, ", ")
	}
	if !s.Piecewise() {
		return c, nil
	}
	c.Released = new(int64)
	if s.InputsStreamed {
		return c, nil // Commit looks
	}
	return c, correspond(c.needs, needed, s.Work())
}

// Insert stores the needs of a task.
func (c *New) Insert(ctx context.Context, tx pgx.Tx, task int64) error {
	if len(c.needs) == 0 {
		return nil
	}
	var ids []int64
	var whens, outputs []string
	var perInputs []bool
	for _, n := range c.needs {
		ids, whens = append(ids, n.Task), append(whens, cmp.Or(n.When, spec.WhenDone))
		perInputs, outputs = append(perInputs, n.PerInput()), append(outputs, n.Outputs)
	}
	_, err := tx.Exec(ctx, query["insert_needs"], pgx.StrictNamedArgs{"task": task, "needs": ids, "conditions": whens,
		"per_inputs": perInputs, "outputs": outputs})
	return err
}

// neededTask is what is known of a task that another one needs.
type neededTask struct {
	ID        int64
	Name      string
	Split     string
	PerJob    int64
	NEvents   int64
	NInputs   int64
	NPieces   int64
	Committed bool
	Growing   bool // its pieces are not known in advance
}

func readNeeded(ctx context.Context, tx pgx.Tx, needs []spec.Need) (map[int64]neededTask, error) {
	var ids []int64
	for _, n := range needs {
		ids = append(ids, n.Task)
	}
	all, err := pg.Collect[neededTask](ctx, tx, query["read_needed"], pgx.StrictNamedArgs{"tasks": ids})
	needed := make(map[int64]neededTask, len(all))
	for _, t := range all {
		needed[t.ID] = t
	}
	return needed, err
}

// correspond says whether the pieces of w have parts of each task that they wait for: both are split alike, and cover as much.
func correspond(needs []spec.Need, needed map[int64]neededTask, w spec.Work) error {
	for i, n := range needs {
		if !n.PerInput() {
			continue
		}
		a, field := needed[n.Task], fmt.Sprintf("needs[%d].per", i)
		theirs := evenCut{split: a.Split, perJob: a.PerJob, total: cutTotal(a.Split, a.NEvents, a.NInputs, a.NPieces)}
		ours := evenCutOf(w)
		switch {
		case !a.Committed:
			return spec.Invalid(field, fmt.Sprintf("the inputs of task %d are not all there", a.ID), "commit it first")
		case a.Growing || a.Split == "groups":
			return spec.Invalid(field, fmt.Sprintf("the pieces of task %d are not known in advance", a.ID), "take its outputs as inputs, or wait per: task")
		case w.InLots:
			return spec.Invalid(field, "the pieces of this task are not known in advance", "cut it by per_job, without split and locations of inputs")
		case ours.split != theirs.split || ours.total != theirs.total:
			return spec.Invalid(field, fmt.Sprintf("task %d has %d %s, this one %d %s", a.ID, theirs.total, theirs.what(), ours.total, ours.what()),
				"pieces correspond where both tasks have as many inputs, events or jobs")
		}
	}
	return nil
}

// Correspond is correspond for a task whose inputs are all there now.
func Correspond(ctx context.Context, tx pgx.Tx, needs []spec.Need, w spec.Work) error {
	needed, err := readNeeded(ctx, tx, needs)
	if err != nil {
		return err
	}
	return correspond(needs, needed, w)
}
