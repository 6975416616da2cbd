package dispatcher

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

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
