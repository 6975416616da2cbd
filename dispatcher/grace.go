package dispatcher

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// unheardFor is how long the database may be silent before leases are spared: three heartbeats.
const unheardFor = 6 * time.Second

// sparing keeps leases from running out for want of somebody who would have taken their renewals: when the database, or
// all daemons, were away, pilots have Timing.Grace to come back with what they have to say. Leases that are not renewed
// by then are lost like others.
type sparing struct {
	mu    sync.Mutex
	heard time.Time // when the database answered a heartbeat
	until time.Time // no lease runs out before
}

// gap is the time between two moments, also where the machine slept in between, and its monotonic clock with it.
func gap(from, to time.Time) time.Duration { return max(to.Sub(from), to.Round(0).Sub(from.Round(0))) }

// spared says whether no lease runs out now: the database does not answer, or it does so again since a moment ago.
func (d *Dispatcher) spared(now time.Time) bool {
	if d.cfg.Timing.Grace == 0 {
		return false
	}
	d.grace.mu.Lock()
	defer d.grace.mu.Unlock()
	return gap(d.grace.heard, now) > unheardFor || now.Before(d.grace.until)
}

// heard notes that the database answered.
func (d *Dispatcher) heard(now time.Time) {
	d.grace.mu.Lock()
	defer d.grace.mu.Unlock()
	if away := gap(d.grace.heard, now); away > unheardFor {
		d.grace.begin(d, now, away)
	}
	d.grace.heard = now
}

// begin is called with g.mu held.
func (g *sparing) begin(d *Dispatcher, now time.Time, away time.Duration) {
	if d.cfg.Timing.Grace > 0 {
		g.until = now.Add(d.cfg.Timing.Grace)
		d.cfg.Log.Warn("leases could not be renewed for a time: none runs out before pilots have had time to", "away", away.Round(time.Second),
			"grace", d.cfg.Timing.Grace)
	}
}

// firstHeard is heard of a daemon that starts: what counts is when any daemon was heard of last.
func (d *Dispatcher) firstHeard(ctx context.Context) error {
	var silent *float64
	err := d.cfg.Pool.QueryRow(ctx, query["last_seen"], pgx.StrictNamedArgs{"daemon": d.id}).Scan(&silent)
	if err != nil {
		return fmt.Errorf("when daemons were seen last: %w", err)
	}
	d.grace.mu.Lock()
	defer d.grace.mu.Unlock()
	d.grace.heard = time.Now()
	if silent != nil && *silent > unheardFor.Seconds() {
		d.grace.begin(d, d.grace.heard, time.Duration(*silent*float64(time.Second)))
	}
	return nil
}
