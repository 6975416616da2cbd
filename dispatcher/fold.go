package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/lease"
)

// Fold makes one step of the tables, of up to so many batches, and says how many it took. Do it again while it takes all that it may.
func (d *Dispatcher) Fold(ctx context.Context, batches int) (n int, err error) {
	folder := fold.New(d.cfg.Pool, d.log, fold.Sites(d.cfg.Site))
	r, err := folder.Fold(ctx, batches)
	if errors.Is(err, fold.ErrRaced) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if r.Odds > 0 {
		d.cfg.Log.Error("entries of the log did not fit the tables", "entries", r.Odds, "first", r.Odd)
	}
	if p, err := folder.Position(ctx); err == nil {
		d.brake.folded.Store(p.Seq)
		d.loop.Tell(lease.Folded{Seq: p.Seq})
	}
	return r.Batches, nil
}

// Batches of one step of the tables, and how many steps follow each other before others have a turn.
const (
	foldBatches = 400
	foldSteps   = 10
)

// followedWithin is how far the tables may be behind before a daemon that does not lead folds too: small steps cost more each batch, and several
// daemons at it make them small.
const followedWithin = 5 * time.Second

// fold follows the log.
func (b background) fold(ctx context.Context) (n int, err error) {
	if lag := b.brake.last(); !b.eye.leads() && (lag == nil || lag.Time < followedWithin) {
		return 0, nil
	}
	for range foldSteps {
		took, err := b.Fold(ctx, foldBatches)
		n += took
		if err != nil || took < foldBatches {
			return n, err
		}
	}
	return n, nil
}
