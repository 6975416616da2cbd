package dispatcher

import (
	"context"
	"errors"
	"time"

	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/lease"
)

// Fold makes one step of the tables, of up to so many batches, and says how many it took: 0 when there is nothing to do.
func (d *Dispatcher) Fold(ctx context.Context, batches int) (n int, err error) {
	d.folding.Lock()
	defer d.folding.Unlock()
	r, err := d.folder.Fold(ctx, batches)
	if errors.Is(err, fold.ErrRaced) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if r.Odds > 0 {
		d.cfg.Log.Error("entries of the log did not fit the tables", "entries", r.Odds, "first", r.Odd)
	}
	background{d}.reached(fold.Position{Seq: r.Seq, At: r.At})
	d.loop.Tell(lease.Folded{Seq: r.Seq})
	return r.Batches, nil
}

// Batches of one step of the tables, at the most, and how many steps follow each other before others have a turn.
const (
	foldBatches = 400
	foldSteps   = 10
	foldLonger  = 5 // times foldBatches, after a pause
)

// foldEvery is how often a step is due where none has to be put off.
const foldEvery = time.Second

// A follower leaves the tables to the leader unless they are far behind. While nothing but time passes there is no hurry either.
const (
	foldBehind = 5 * time.Second
	foldAlone  = 30 * time.Second // of ticks
	foldIdle   = 5 * time.Second  // and for the next look
)

// fold follows the log up to where it is now.
func (b background) fold(ctx context.Context) (n int, err error) {
	news := b.eye.news.Load()
	now, behind := b.brake.now(), foldBehind
	if now.has(news) {
		if behind = foldAlone; time.Since(now.came) < foldIdle {
			return 0, nil
		}
	}
	pause := time.Duration(b.pause.Load())
	switch {
	case !b.eye.leads() && (now.lag == nil || now.lag.Time < max(behind, 2*pause)):
		return 0, nil
	case pause > foldEvery && time.Since(now.came) < pause:
		return 0, nil
	}
	pause, err = b.folder.Pause(ctx)
	if err != nil {
		return 0, err
	}
	b.pause.Store(int64(pause))
	batches := foldBatches * int(min(pause/foldEvery, foldLonger))
	for range foldSteps {
		took, err := b.Fold(ctx, batches)
		n += took
		if err != nil || took == 0 || b.brake.now().has(news) {
			return n, err
		}
	}
	return n, nil
}

// foldedWithin is for how long a daemon is waited for that folds at the same moment.
const foldedWithin = 3 * time.Second

// catchUp folds what the machine has, but does not wait for a fold of others that is late.
func (d *Dispatcher) catchUp(ctx context.Context) error {
	news, end := d.eye.news.Load(), time.Now().Add(foldedWithin)
	return poll(ctx, func() (bool, error) {
		for {
			if d.brake.now().has(news) || time.Now().After(end) {
				return true, nil
			}
			if n, err := d.Fold(ctx, foldBatches); n == 0 || err != nil {
				return false, err
			}
		}
	})
}
