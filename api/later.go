package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/site"
)

type laterInput struct {
	At      time.Time `query:"at" required:"true" doc:"When it takes effect, RFC 3339: in the future."`
	Move    []string  `query:"move,explode" doc:"As for an apply."`
	Note    string    `query:"note" maxLength:"1000" doc:"Kept with the version."`
	By      string    `query:"by" maxLength:"200" doc:"Who applies it; kept with the version. Ignored where a credential is required: then it is the name of the caller."`
	File    string    `query:"file" maxLength:"1000" doc:"Name of the file, for the places in problems."`
	RawBody []byte    `contentType:"text/yaml"`
}

type laterListInput struct {
	All bool `query:"all" doc:"Also those that were applied or cancelled, or that failed more than 30 days ago."`
}

type cancelInput struct {
	ID int64  `path:"id" minimum:"1" doc:"Number of the later version."`
	By string `query:"by" maxLength:"200" doc:"Who cancels it; kept with it. Ignored where a credential is required: then it is the name of the caller."`
}

func (s *siteCalls) laterRoutes() {
	tags := []string{"site"}
	route(s.doc, huma.Operation{
		OperationID: "apply-site-later", Method: http.MethodPost, Path: "/v1/site/later", Tags: tags, Summary: "Store a site file that takes effect later", DefaultStatus: http.StatusCreated,
		Description: "The body is the site file, YAML. A file with problems is refused at once (422 bad_site). At its time the file is applied as it is. " +
			"If that is no longer possible, nothing of it is applied, and it is kept as failed, with the error.",
	}, s.applyLater)
	route(s.doc, huma.Operation{
		OperationID: "list-later", Method: http.MethodGet, Path: "/v1/site/later", Tags: tags, Summary: "List site files that take effect later",
		Description: "Those that wait and those that failed recently, by the time at which they take effect.",
	}, func(ctx context.Context, in *laterListInput) (wire.Page[site.Later], error) {
		all, err := s.site.Later(ctx, in.All)
		return wire.Page[site.Later]{Items: edge.List(all)}, err
	})
	route(s.doc, huma.Operation{
		OperationID: "get-later", Method: http.MethodGet, Path: "/v1/site/later/{id}", Tags: tags, Summary: "Show a site file that takes effect later",
	}, func(ctx context.Context, in *byID) (site.LaterFile, error) { return s.site.LaterFile(ctx, in.ID) })
	route(s.doc, huma.Operation{
		OperationID: "cancel-later", Method: http.MethodDelete, Path: "/v1/site/later/{id}", Tags: tags, Summary: "Take back a site file that takes effect later",
	}, func(ctx context.Context, in *cancelInput) (site.Later, error) {
		return s.site.CancelLater(ctx, in.ID, by(in.By))
	})
}

func (s *siteCalls) applyLater(ctx context.Context, in *laterInput) (site.Later, error) {
	moves, err := readMoves(in.Move)
	if err != nil {
		return site.Later{}, err
	}
	return s.site.ApplyLater(ctx, site.LaterRequest{At: in.At, ApplyRequest: site.ApplyRequest{
		Source: slices.Clone(in.RawBody), Name: in.File, By: by(in.By), Note: in.Note, Moves: moves,
	}})
}
