package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/generator/tags"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

type whatIfInput struct {
	At      time.Time `query:"at" doc:"Targets by the plans that are in force then, RFC 3339; default: now."`
	Move    []string  `query:"move,explode" doc:"As for an apply."`
	File    string    `query:"file" maxLength:"1000" doc:"Name of the file, for the places in problems."`
	RawBody []byte    `contentType:"text/yaml"`
}

type retagInput struct {
	Since   string `query:"since" required:"true" doc:"How far back to look, by when tasks were submitted: 90m, 24h, 7d."`
	File    string `query:"file" maxLength:"1000" doc:"Name of the file, for the places in problems."`
	RawBody []byte `contentType:"text/yaml"`
}

func (s *siteCalls) whatIfRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "what-if", Method: http.MethodPost, Path: "/v1/shares/what-if", Tags: []string{"site"}, Summary: "Rehearse a site file against the live demand",
		Description: "The body is the file, YAML. Who gains and who loses how much, and how long the way there takes, from the ends of jobs of late. Nothing changes.",
	}, s.whatIf)
	route(s.doc, huma.Operation{
		OperationID: "retag", Method: http.MethodPost, Path: "/v1/tags/what-if", Tags: []string{"tasks"}, Summary: "Rehearse tagging rules on past tasks",
		Description: "The body is a site file, YAML: counts of tasks and jobs by the share that they had and the one that its rules would give them. Nothing is written.",
	}, s.retag)
}

func (s *siteCalls) whatIf(ctx context.Context, in *whatIfInput) (site.Applied, error) {
	moves, err := readMoves(in.Move)
	if err != nil {
		return site.Applied{}, err
	}
	return applied(s.site.Apply(ctx, site.ApplyRequest{
		Source: slices.Clone(in.RawBody), Name: in.File, Moves: moves, DryRun: true, When: in.At,
	}))
}

func (s *siteCalls) retag(ctx context.Context, in *retagInput) (tags.Retagging, error) {
	since, err := shares.ParseDuration(in.Since)
	if err != nil || since <= 0 {
		var f problem.Faults
		f.Add("query.since", "expected a duration such as 90m, 24h or 7d", in.Since)
		return tags.Retagging{}, f.Problem()
	}
	st, err := s.site.Preview(ctx, in.File, slices.Clone(in.RawBody))
	if err != nil {
		return tags.Retagging{}, err
	}
	return s.past.Retag(ctx, st, time.Duration(since))
}
