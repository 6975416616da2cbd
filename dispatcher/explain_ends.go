package dispatcher

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// endRate is how fast attempts of a share ended at a queue lately.
type endRate struct {
	QueueID   shares.QueueID
	ShareID   shares.ShareID
	PerSecond float64
	UnitsPerS float64 // thousandths
}

// Bounds of what is read to learn how fast attempts end: the last rows of every lane, within a few minutes, and of these
// no more than have so many moves.
const (
	endsWithin = 5 * time.Minute
	endsRows   = 200
	endsMoves  = 5000
)

// Ends is how attempts ended lately, by pool and share. An error is the database's.
func (d *Dispatcher) Ends(ctx context.Context) (map[string]map[shares.ShareID]shares.Ends, error) {
	ends, err := d.endsLately(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	pools := map[string]map[shares.ShareID]shares.Ends{}
	for name, p := range d.state.pools {
		of := map[shares.ShareID]shares.Ends{}
		for node, e := range d.state.byLeaf(p, ends) {
			of[d.state.version.Tree.Nodes[node].ID] = e
		}
		pools[name] = of
	}
	return pools, nil
}

// endsLately is how fast attempts ended lately, by queue and share.
func (d *Dispatcher) endsLately(ctx context.Context) ([]endRate, error) {
	return collect[endRate](ctx, d.cfg.Pool, "explain_ends", pgx.StrictNamedArgs{"within_s": endsWithin.Seconds(), "rows": endsRows,
		"moves": endsMoves, "first": firstEndLane, "last": firstEndLane + nEndLanes - 1})
}
