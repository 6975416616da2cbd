package generator

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/shares"
)

// releasedJobs are the jobs of fresh pieces that follow those of other tasks: which pieces come next says released_pieces.
func releasedJobs(ctx context.Context, tx pgx.Tx, plan []part, share shares.ShareID) (map[int64][]intake.NewJob, error) {
	var some []part
	var ids, lows, highs []int64
	for _, p := range plan {
		if p.Released && p.fresh > 0 {
			some, ids = append(some, p), append(ids, p.ID)
			lows, highs = append(lows, p.NSplit), append(highs, p.NSplit+p.fresh)
		}
	}
	if len(some) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, query["read_released"], pgx.StrictNamedArgs{"tasks": ids, "lows": lows, "highs": highs})
	if err != nil {
		return nil, err
	}
	pieces := map[int64][]int64{}
	var task, position int64
	var run []int64
	_, err = pgx.ForEachRow(rows, []any{&task, &position, &run}, func() error {
		i := slices.Index(ids, task)
		s := stored.Span{Low: lows[i], High: highs[i]}
		n := int64(len(run))
		pieces[task] = append(pieces[task], run[min(max(s.Low-position, 0), n):min(max(s.High-position, 0), n)]...)
		run = nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	jobs := make(map[int64][]intake.NewJob, len(some))
	for i := range some {
		if jobs[ids[i]], err = some[i].released(ctx, tx, share, pieces[ids[i]]); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// released makes the jobs of some pieces, in any order.
func (p *part) released(ctx context.Context, tx pgx.Tx, share shares.ShareID, pieces []int64) ([]intake.NewJob, error) {
	var runs []stored.Run
	if p.Split == "inputs" {
		var err error
		if runs, err = stored.ReadPieces(ctx, tx, p.ID, p.PerJob, pieces); err != nil {
			return nil, err
		}
	}
	jobs := make([]intake.NewJob, len(pieces))
	for i, piece := range pieces {
		one := *p
		one.NSplit = piece // the inputs that piece gets begin with its own
		low := piece * p.PerJob
		jobs[i] = one.piece(share, piece, stored.From(runs, stored.Span{Low: low, High: low + p.PerJob}))
	}
	return jobs, nil
}
