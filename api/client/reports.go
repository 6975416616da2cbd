package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/divvyhq/divvy/internal/report"
)

// Shapes of reports.
type (
	Report      = report.Report
	ReportTable = report.Table
)

// Reports lists the reports that have a name.
func (c *Client) Reports(ctx context.Context) ([]Report, error) {
	page, err := get[Page[Report]](ctx, c, call{method: http.MethodGet, path: "/v1/reports", repeat: true})
	return page.Items, err
}

// Report answers one, for the time since so long ago, as 7d; empty: a day. It is broken down by one of its By; empty: it is not.
func (c *Client) Report(ctx context.Context, name, by, since string) (ReportTable, error) {
	q := query{}
	q.set("by", by)
	q.set("since", since)
	return get[ReportTable](ctx, c, call{method: http.MethodGet, path: "/v1/reports/" + url.PathEscape(name), query: url.Values(q), repeat: true})
}
