package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/shares"
)

// Reports computes reports by name.
type Reports interface {
	Run(ctx context.Context, name, by string, since time.Time) (report.Table, error)
}

type reportInput struct {
	Name  string `path:"name" doc:"Name of a report, as GET /v1/reports lists them."`
	By    string `query:"by" doc:"Break it down by this: one of its by, as GET /v1/reports has them."`
	Since string `query:"since" default:"24h" doc:"How far back to look: 90m, 24h, 30d."`
}

func (s *server) reportRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "list-reports", Method: http.MethodGet, Path: "/v1/reports", Tags: []string{"site"}, Summary: "List the reports that have a name",
	}, func(context.Context, *struct{}) (wire.Page[report.Report], error) {
		return wire.Page[report.Report]{Items: report.List()}, nil
	})
	route(s.doc, huma.Operation{
		OperationID: "report", Method: http.MethodGet, Path: "/v1/reports/{name}", Tags: []string{"site"}, Summary: "Answer a report",
		Description: "Out of the views of schema report, exact at the moment of reading for all that has ended.",
	}, func(ctx context.Context, in *reportInput) (report.Table, error) {
		since, err := shares.ParseDuration(in.Since)
		if err != nil || since <= 0 {
			var f problem.Faults
			f.Add("query.since", "expected a duration above 0 and up to 36500d, such as 90m, 24h or 30d", in.Since)
			return report.Table{}, f.Problem()
		}
		return s.Reports.Run(ctx, in.Name, in.By, time.Now().Add(-time.Duration(since)))
	})
}
