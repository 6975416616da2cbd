package generator

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// verbBatch is how many jobs one transaction of a verb moves.
const verbBatch = 5000

// sweeping is a locked task with the jobs of which its state wants something.
type sweeping struct {
	ID    int64
	State string
	After int64 // jobs up to this id have been seen to
}

// way is where jobs go whose tasks are in one of these states.
type way struct {
	states []string
	step   func(context.Context, pgx.Tx, stubWalk) ([]stubWalked, error)
	once   bool // released jobs do not come back to waiting: one walk is all
}

// ways of all states in which a task wants something of its jobs.
var ways = []way{
	{states: []string{"paused"}, step: stubStep},
	{states: []string{"ready", "scouting", "running"}, step: stubStep, once: true},
	{states: []string{"finishing"}, step: stubStep},
	{states: []string{"aborting"}, step: func(ctx context.Context, tx pgx.Tx, w stubWalk) ([]stubWalked, error) {
		return stubStep(ctx, tx, w)
	}},
}

// wayOf is that of a state; without a step where it wants nothing of jobs.
func wayOf(state string) way {
	for _, w := range ways {
		if slices.Contains(w.states, state) {
			return w
		}
	}
	return way{}
}

// together are the first of the tasks that go the same way.
func together(tasks []sweeping) (way, []sweeping) {
	if len(tasks) == 0 {
		return way{}, nil
	}
	w := wayOf(tasks[0].State)
	n := 1
	for n < len(tasks) && slices.Contains(w.states, tasks[n].State) {
		n++
	}
	return w, tasks[:n]
}

// carryOn moves the next batch of jobs to where the state of their tasks wants them, and notes where the walks have come;
// all go the same way, so that jobs are locked in the order of their ids. Jobs
// that come back to ready behind it are those of the next walk, which begins as long as the counts say that there are any;
// where one has found none, the counts are behind, and the next has time.
func carryOn(ctx context.Context, tx pgx.Tx, way way, tasks []sweeping) ([]stubWalked, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	walk := stubWalk{Limit: verbBatch}
	for _, t := range tasks {
		walk.Along = append(walk.Along, stubStretch{Task: t.ID, After: t.After})
	}
	out, err := way.step(ctx, tx, walk)
	if err != nil {
		return nil, err
	}
	ids, afters := make([]int64, len(tasks)), make([]*int64, len(tasks))
	sweeps, rests := make([]bool, len(tasks)), make([]bool, len(tasks))
	for i, w := range out {
		ids[i], sweeps[i] = tasks[i].ID, w.More || !way.once
		rests[i] = !w.More && w.Idle+w.Leased == 0
		if w.More {
			afters[i] = &out[i].Next
		}
	}
	_, err = tx.Exec(ctx, query["swept"], pgx.StrictNamedArgs{"tasks": ids, "sweeps": sweeps, "afters": afters, "rests": rests})
	return out, err
}
