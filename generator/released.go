package generator

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/generator/chain"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/shares"
)

// releasedJobs are the jobs of fresh pieces that follow those of other tasks: which pieces come next says released_pieces.
func releasedJobs(ctx context.Context, tx pgx.Tx, plan []part, share shares.ShareID) (map[int64][]intake.NewJob, error) {
	var some []part
	spans := map[int64]stored.Span{}
	for _, p := range plan {
		if p.Released && p.fresh > 0 {
			some, spans[p.ID] = append(some, p), stored.Span{Low: p.NSplit, High: p.NSplit + p.fresh}
		}
	}
	if len(some) == 0 {
		return nil, nil
	}
	pieces, err := chain.Released(ctx, tx, spans)
	if err != nil {
		return nil, err
	}
	jobs := make(map[int64][]intake.NewJob, len(some))
	for i := range some {
		id := some[i].ID
		if jobs[id], err = some[i].released(ctx, tx, share, pieces[id]); err != nil {
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
