package generator

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/access"
)

// record notes what somebody has done to a task, in the transaction that does it. What changed nothing is not noted.
func record(ctx context.Context, tx pgx.Tx, verb Verb, task int64, before, after string) error {
	if before == after {
		return nil
	}
	return access.Record(ctx, tx, access.Change{What: "task." + string(verb), Object: strconv.FormatInt(task, 10), Before: before, After: after})
}

// recordAll notes what a plain verb has made of tasks.
func (s *said) recordAll(ctx context.Context, tx pgx.Tx) error {
	changes := make([]access.Change, 0, len(s.moves))
	for _, t := range s.moves {
		changes = append(changes, access.Change{What: "task." + string(s.verb), Object: strconv.FormatInt(t.ID, 10), Before: t.State, After: s.told[t.ID].After})
	}
	return access.Record(ctx, tx, changes...)
}

// recordSubmitted notes new tasks; an id of 0 is none.
func recordSubmitted(ctx context.Context, tx pgx.Tx, all []newTask, ids []int64) error {
	var changes []access.Change
	for i, id := range ids {
		if id != 0 {
			changes = append(changes, access.Change{What: "task.submit", Object: strconv.FormatInt(id, 10), After: all[i].spec.Name + " of " + all[i].spec.User})
		}
	}
	return access.Record(ctx, tx, changes...)
}
