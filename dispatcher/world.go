package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/start"
	"github.com/divvyhq/divvy/dispatcher/upkeep"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// world is the rest of the daemon, as the loop sees it.
type world struct{ *Dispatcher }

// Append is lease.World's.
func (w world) Append(ctx context.Context, b entry.Batch, beside ledger.Beside) (time.Time, error) {
	at, err := w.log.AppendWith(ctx, b, beside)
	if pg.Code(err) == pg.CodeCheckViolation { // no partition: the daemon slept for days
		if _, made := upkeep.Room(ctx, background(w).upkeep()); made == nil {
			at, err = w.log.AppendWith(ctx, b, beside)
		}
	}
	switch {
	case err != nil:
		w.cfg.Log.Warn("an append to the log failed", "seq", b.Seq, "err", err)
	default:
		for _, r := range beside.Refused {
			w.cfg.Log.Error("what was written for the log does not follow it", "row", r.Row, "err", r.Reason)
		}
	}
	return at, err
}

// mostRows bounds the rows of one Gather.
const mostRows = 500

// Gather is lease.World's.
func (w world) Gather(ctx context.Context) ([]ledger.Row, error) {
	rows, err := w.cfg.Outbox.Pending(ctx, mostRows)
	for _, r := range rows {
		err = cmp.Or(err, w.complete(ctx, r.Entries))
	}
	return rows, err
}

// mostRead bounds the batches of one Read.
const mostRead = 500

// Read is lease.World's.
func (w world) Read(ctx context.Context, seq int64) ([]entry.Batch, error) {
	batches, err := w.log.Read(ctx, seq, mostRead)
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		if err := w.complete(ctx, b.Entries); err != nil {
			return nil, err
		}
	}
	return batches, nil
}

// complete looks up the sites of entries.
func (w world) complete(ctx context.Context, entries []entry.Entry) error {
	return entry.Complete(entries, func(n int64) (*shares.Version, error) {
		v, err := w.cfg.Site(ctx, n)
		if err != nil {
			err = fmt.Errorf("version %d of the site: %w", n, err)
		}
		return &v, err
	})
}

// Reload is lease.World's.
func (w world) Reload(ctx context.Context) lease.Reloaded {
	m, ttls, err := start.Load(ctx, w.cfg.Pool, w.cfg.Site, w.cfg.Machine)
	if err != nil {
		return lease.Reloaded{Err: err}
	}
	if v := m.Site(); v.Number > 0 {
		w.site.adopt(&v)
	}
	out := lease.Reloaded{Machine: m, TTLs: ttls}
	out.Err = w.recall(ctx, m, &out)
	return out
}

// recalled is how many batches before those that are not folded a start looks at.
const recalled = 200

// recall reads the last batches that are folded: who leads, and which requests are over.
func (w world) recall(ctx context.Context, m *machine.Machine, out *lease.Reloaded) error {
	seq, _ := m.Stand()
	if seq == 0 {
		return nil
	}
	first := max(0, seq-recalled)
	batches, err := w.log.Read(ctx, first, int(seq-first))
	if errors.Is(err, ledger.ErrDropped) { // by their age: the last one may be there
		if batches, err = w.log.Read(ctx, seq-1, 1); errors.Is(err, ledger.ErrDropped) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	for _, b := range batches {
		for _, e := range b.Entries {
			if g, ok := e.(entry.Granted); ok && g.Request != (entry.ID{}) {
				if _, held := m.Lease(g.Job); !held {
					out.Over = append(out.Over, g.Request)
				}
			}
		}
		if out.At = b.At; !lease.Wishes(b) {
			out.Leader = b.By
		}
	}
	return nil
}

// Look is lease.World's.
func (w world) Look(ctx context.Context, keys []lease.Key) ([]lease.Recorded, error) {
	found, err := fold.Ended(ctx, w.cfg.Pool, keys)
	if err != nil {
		return nil, err
	}
	out := make([]lease.Recorded, len(keys))
	for i, k := range keys {
		if end, ok := found[k]; ok {
			out[i] = lease.Recorded{Is: true, Outcome: end.Outcome, Next: end.Next}
		}
	}
	return out, nil
}

// Send is lease.World's.
func (w world) Send(to int64, m lease.Message) {
	if w.cfg.Send != nil {
		w.cfg.Send(to, m)
	}
}

// Broken is lease.World's.
func (w world) Broken(seq int64, err error) {
	w.cfg.Log.Error("the log and the state of this daemon contradict each other", "batch", seq, "err", err)
}
