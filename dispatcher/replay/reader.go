package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
	score "github.com/divvyhq/divvy/shares/replay"
)

// Reader replays stretches of a log. It writes nothing.
type Reader struct {
	Log     ledger.Log
	Store   *Store                                                          // nil: there are no checkpoints
	Version func(ctx context.Context, number int64) (shares.Version, error) // of the site, with the ids that it had
	Config  machine.Config                                                  // of the daemons of the time; Making does not matter
}

// Why a replay cannot go on from where it is.
var (
	errNoBeginning = errors.New("neither a checkpoint nor the beginning of the log is kept")
	errNoVersion   = errors.New("a version of the site cannot be read")
)

// pageBatches are read at once.
const pageBatches = 200

// Decisions makes the decisions of a stretch again, oldest first, until visit has enough. Those that cannot be made again are left out.
func (r Reader) Decisions(ctx context.Context, since, until time.Time, visit func(t *Turn, d Decided, c machine.Contest) (more bool)) error {
	from, err := r.begin(ctx, since)
	if err != nil {
		return err
	}
	m, err := r.machine(ctx, from)
	if err != nil {
		return err
	}
	p, more := NewPlayer(m), true
	return r.read(ctx, m, func(b entry.Batch) (bool, error) {
		if b.At.After(until) {
			return false, nil
		}
		err := p.Play(b, func(t *Turn) {
			if !more || b.At.Before(since) {
				return
			}
			if d, c, ok := t.Decided(); ok {
				more = visit(t, d, c)
			}
		})
		return more, err
	})
}

// Decision is how an attempt came to its slot that was granted at a time of the log; false: it cannot be made again.
func (r Reader) Decision(ctx context.Context, job int64, attempt int32, at time.Time) (rec *explain.Record, levels []explain.DecisionLevel, err error) {
	err = r.Decisions(ctx, at, at, func(t *Turn, d Decided, c machine.Contest) bool {
		if t.Grant.Job == job && t.Grant.Attempt == attempt {
			rec, levels = NewRecord(t, d, c)
		}
		return rec == nil
	})
	if errors.Is(err, errNoBeginning) {
		err = nil
	}
	return rec, levels, err
}

// Score compares the decisions of a stretch with those by the site that was in force, or by another one.
func (r Reader) Score(ctx context.Context, since, until time.Time, site *shares.Version, list int) (score.Score, error) {
	c := &Compare{Since: since, Until: until, List: list}
	from, err := r.begin(ctx, since)
	for {
		if err == nil {
			err = r.compare(ctx, c, from, site)
		}
		lost, ok := errors.AsType[*lostError](err)
		if !ok {
			break
		}
		if from, err = r.skip(ctx, c, lost); from == nil && err == nil {
			break
		}
	}
	if err != nil && !errors.Is(err, errNoBeginning) {
		return score.Score{}, fmt.Errorf("replay: %w", err)
	}
	return c.Score(), nil
}

// lostError says that the state after a batch is not known.
type lostError struct {
	seq int64
	why score.Reason
	error
}

func (e *lostError) Unwrap() error { return e.error }

func (r Reader) compare(ctx context.Context, c *Compare, from *Checkpoint, site *shares.Version) error {
	m, err := r.machine(ctx, from)
	var rival *machine.Machine
	if err == nil && site != nil {
		rival, err = r.machine(ctx, from)
	}
	if err == nil {
		err = c.Begin(m, rival, site)
	}
	if err != nil {
		return err
	}
	return r.read(ctx, m, func(b entry.Batch) (bool, error) {
		if b.At.After(c.Until) {
			return false, nil
		}
		if err := c.Play(b); err != nil {
			return false, &lostError{b.Seq, score.Missing, err}
		}
		return true, nil
	})
}

// skip leaves out what cannot be compared, and returns the next checkpoint; nil: there is none.
func (r Reader) skip(ctx context.Context, c *Compare, lost *lostError) (next *Checkpoint, err error) {
	if next, err = r.Store.After(ctx, lost.seq); err != nil {
		return nil, err
	}
	for seq := lost.seq - 1; ; {
		page, err := r.Log.Read(ctx, seq, pageBatches)
		if err != nil && !errors.Is(err, ledger.ErrDropped) {
			return nil, err
		}
		for _, b := range page {
			if next != nil && b.Seq > next.Machine.Seq || b.At.After(c.Until) {
				return next, nil
			}
			for _, e := range b.Entries {
				if _, ok := e.(entry.Granted); ok {
					c.Leave(b.At, lost.why, 1)
				}
			}
			seq = b.Seq
		}
		if len(page) == 0 {
			return next, nil
		}
	}
}

// begin finds the checkpoint with which a stretch begins; nil: the log does from its beginning.
func (r Reader) begin(ctx context.Context, since time.Time) (from *Checkpoint, err error) {
	if from, err = r.Store.Before(ctx, since); err != nil {
		return nil, err
	}
	if from == nil || from.At.After(since) {
		switch _, err := r.Log.Read(ctx, 0, 1); {
		case err == nil:
			return nil, nil
		case !errors.Is(err, ledger.ErrDropped):
			return nil, err
		case from == nil:
			return nil, errNoBeginning
		}
	}
	return from, nil
}

// machine makes that of a checkpoint; nil: of an empty log.
func (r Reader) machine(ctx context.Context, from *Checkpoint) (*machine.Machine, error) {
	cfg := r.Config
	cfg.Making = 0
	if from == nil {
		return machine.New(cfg), nil
	}
	if from.Machine.Version == 0 {
		return from.Restore(cfg, emptySite())
	}
	v, err := r.Version(ctx, from.Machine.Version)
	if err != nil {
		return nil, &lostError{from.Machine.Seq + 1, score.NoVersion, fmt.Errorf("%w: %d: %w", errNoVersion, from.Machine.Version, err)}
	}
	return from.Restore(cfg, v)
}

// emptySite is that of a log before a site was adopted.
func emptySite() shares.Version {
	tree, _ := shares.Build(nil)
	return shares.Version{Tree: tree}
}

// read gives the batches after that of the machine to visit, with their sites, until it has enough.
func (r Reader) read(ctx context.Context, m *machine.Machine, visit func(entry.Batch) (more bool, err error)) error {
	for {
		seq, _ := m.Stand()
		page, err := r.Log.Read(ctx, seq, pageBatches)
		if errors.Is(err, ledger.ErrDropped) {
			err = &lostError{seq + 1, score.Missing, err}
		}
		if err != nil || len(page) == 0 {
			return err
		}
		for _, b := range page {
			if err := r.complete(ctx, b); err != nil {
				return err
			}
			if more, err := visit(b); err != nil || !more {
				return err
			}
		}
	}
}

// complete looks up the sites of a batch.
func (r Reader) complete(ctx context.Context, b entry.Batch) error {
	return entry.Complete(b.Entries, func(n int64) (*shares.Version, error) {
		v, err := r.Version(ctx, n)
		if err != nil {
			err = &lostError{b.Seq, score.NoVersion, fmt.Errorf("%w: %d: %w", errNoVersion, n, err)}
		}
		return &v, err
	})
}
