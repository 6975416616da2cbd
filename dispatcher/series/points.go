package series

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Request asks how a share stood over some time.
type Request struct {
	Share shares.ShareID
	Pool  string
	Span  time.Duration // until now, at most as long as samples are kept
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

// Read returns the samples that Sample wrote, oldest first. With a Step it reads one row a step by the index, and not
// all that lie between: samples of one share are apart from each other by those of all others.
func Read(ctx context.Context, db *pgxpool.Pool, r Request) (s ShareSeries, err error) {
	s = ShareSeries{Share: r.Share, Pool: r.Pool, Points: []SharePoint{}}
	args := pg.Args{"share": r.Share, "pool": r.Pool, "span_s": r.Span.Seconds()}
	name := "all_points"
	if r.Step > 0 {
		name, args["step_s"] = "first_points", r.Step.Seconds()
	}
	rows, err := db.Query(ctx, query[name], args)
	if err == nil {
		s.Points, err = pgx.AppendRows(s.Points, rows, pgx.RowToStructByName[SharePoint])
	}
	if err != nil {
		return ShareSeries{}, fmt.Errorf("series of a share: %w", err)
	}
	return s, nil
}
