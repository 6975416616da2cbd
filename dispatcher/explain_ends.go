package dispatcher

import (
	"context"
	"sync"
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
// no more than have so many moves. A second is read once, whoever asks: a site's dashboards all do.
const (
	endsWithin = 5 * time.Minute
	endsRows   = 200
	endsMoves  = 5000
	endsKept   = time.Second
)

// endRates are the rates that were read last.
type endRates struct {
	mu    sync.Mutex // held while they are read: who comes meanwhile wants the same
	at    time.Time
	rates []endRate
}

// endsLately is how fast attempts ended lately, by queue and share. It is not to be written to.
func (d *Dispatcher) endsLately(ctx context.Context) ([]endRate, error) {
	e := &d.endRates
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.at) < endsKept {
		return e.rates, nil
	}
	rates, err := collect[endRate](ctx, d.cfg.Pool, "explain_ends", pgx.StrictNamedArgs{"within_s": endsWithin.Seconds(), "rows": endsRows,
		"moves": endsMoves, "first": firstEndLane, "last": nLanes - 1})
	if err == nil {
		e.at, e.rates = time.Now(), rates
	}
	return rates, err
}
