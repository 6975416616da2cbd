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

// endsLately is how fast attempts ended lately, by queue and share.
func (d *Dispatcher) endsLately(ctx context.Context) ([]endRate, error) {
	return collect[endRate](ctx, d.cfg.Pool, "explain_ends", pgx.StrictNamedArgs{"within_s": endsWithin.Seconds(), "rows": endsRows,
		"moves": endsMoves, "first": firstEndLane, "last": nLanes - 1})
}
