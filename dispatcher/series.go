package dispatcher

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// SeriesRequest asks how a share stood over some time.
type SeriesRequest struct {
	Share shares.ShareID
	Pool  string
	Span  time.Duration // until now, at most KeepSamples
	Step  time.Duration // one sample, the first, of each such part of it; 0: all samples
}

// ShareSeries is how a share stood over some time, in one pool.
type ShareSeries struct {
	Share  shares.ShareID `json:"share_id"`
	Pool   string         `json:"pool"`
	Points []SharePoint   `json:"points"`
}

// SharePoint is one sample of a share.
type SharePoint struct {
	At     time.Time `json:"at"`
	Target float64   `json:"target"`
	Held   float64   `json:"held"`
	Ready  int64     `json:"ready"`
}

// ShareSeries reads the samples that Sample wrote, oldest first. With a Step it reads one row a step by the index, and not
// all that lie between: samples of one share are apart from each other by those of all others.
func (d *Dispatcher) ShareSeries(ctx context.Context, r SeriesRequest) (ShareSeries, error) {
	args := pgx.StrictNamedArgs{"share": r.Share, "pool": r.Pool, "span_s": r.Span.Seconds()}
	name := "series"
	if r.Step > 0 {
		name = "series_steps"
		args["step_s"] = r.Step.Seconds()
	}
	points, err := collect[SharePoint](ctx, d.cfg.Pool, name, args)
	if err != nil {
		return ShareSeries{}, fmt.Errorf("series of a share: %w", err)
	}
	if points == nil {
		points = []SharePoint{}
	}
	return ShareSeries{Share: r.Share, Pool: r.Pool, Points: points}, nil
}
