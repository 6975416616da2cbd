package web

import (
	"cmp"
	"context"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
)

// SeriesPage is how a share stood over some time.
type SeriesPage struct {
	AsOf
	Share string                   `json:"share"`
	Span  string                   `json:"span"`   // hour, day or week
	StepS float64                  `json:"step_s"` // seconds from point to point, at the least
	Pools []dispatcher.ShareSeries `json:"pools"`
}

// Heading names the share.
func (s SeriesPage) Heading() string { return s.Share + " over the last " + s.Span }

// spans are the times that can be asked for, with the distance of points.
var spans = map[string]struct{ span, step time.Duration }{
	"hour": {time.Hour, 0},
	"day":  {24 * time.Hour, 5 * time.Minute},
	"week": {7 * 24 * time.Hour, 30 * time.Minute},
}

func (t *tree) series(ctx context.Context, r *Request) (Dated, error) {
	a := askedOf(r)
	a.oneOf("span", "hour", "day", "week")
	if err := a.err(); err != nil {
		return nil, err
	}
	page := SeriesPage{AsOf: Now(), Share: r.Param("*"), Span: cmp.Or(a.Get("span"), "hour"), Pools: []dispatcher.ShareSeries{}}
	of := spans[page.Span]
	page.StepS = of.step.Seconds()
	found := false
	for _, pool := range t.standing(ctx).Pools {
		for _, s := range pool.Shares {
			if s.Path != page.Share {
				continue
			}
			found = true
			line, err := t.dispatcher.ShareSeries(ctx, dispatcher.SeriesRequest{Share: s.ID, Pool: pool.Pool, Span: of.span, Step: of.step})
			if err != nil {
				return nil, err
			}
			page.Pools = append(page.Pools, line)
		}
	}
	if !found {
		return nil, t.noShare(ctx, page.Share)
	}
	return page, nil
}
