package stored

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// Again asks for up to N jobs of a task whose pieces are tried again, behind the job After.
type Again struct{ Task, After, N int64 }

// FailedJob is a job whose piece is tried again.
type FailedJob struct {
	TaskID     int64
	ID         int64
	ShapeID    int32
	Idx        int64
	Inputs     []string
	FirstEvent int64
	NEvents    int64
}

// Failed reads them, by task, oldest first.
func Failed(ctx context.Context, tx pgx.Tx, of []Again) (map[int64][]FailedJob, error) {
	if len(of) == 0 {
		return nil, nil
	}
	var ids, afters, ns []int64
	for _, a := range of {
		ids, afters, ns = append(ids, a.Task), append(afters, a.After), append(ns, a.N)
	}
	all, err := pg.Collect[FailedJob](ctx, tx, query["read_failed"], pgx.StrictNamedArgs{"tasks": ids, "afters": afters, "ns": ns})
	if err != nil {
		return nil, err
	}
	failed := make(map[int64][]FailedJob, len(ids))
	for _, f := range all {
		failed[f.TaskID] = append(failed[f.TaskID], f)
	}
	return failed, nil
}
