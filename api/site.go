package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/site"
)

// SiteVersion is one applied site file. Version 0: none was applied yet.
type SiteVersion struct {
	site.Head
	Source     string `json:"source" doc:"The file, as it was written."`
	Unreadable string `json:"unreadable,omitempty" doc:"What this divvy does not read in an old file, which it would refuse if it were applied now; absent when it reads all of it."`
}

type applyInput struct {
	DryRun  bool     `query:"dry_run" doc:"Check and show the difference; apply nothing."`
	Move    []string `query:"move,explode" doc:"old=new: live work of the share old goes to the share new. May be repeated."`
	Note    string   `query:"note" maxLength:"1000" doc:"Kept with the version."`
	By      string   `query:"by" maxLength:"200" doc:"Who applies it; kept with the version. Ignored where a credential is required: then it is the name of the caller."`
	File    string   `query:"file" maxLength:"1000" doc:"Name of the file, for the places in problems."`
	RawBody []byte   `contentType:"text/yaml"`
}

type rollbackInput struct {
	Version int64    `query:"version" required:"true" minimum:"1" doc:"The version whose content comes back."`
	DryRun  bool     `query:"dry_run" doc:"Check and show the difference; apply nothing."`
	Move    []string `query:"move,explode" doc:"As for an apply."`
	Note    string   `query:"note" maxLength:"1000" doc:"Kept with the version; default says what it is."`
	By      string   `query:"by" maxLength:"200" doc:"Who rolls back; kept with the version. Ignored where a credential is required: then it is the name of the caller."`
}

type diffInput struct {
	From int64 `query:"from" minimum:"0" doc:"The version before; 0 = the one in force."`
	To   int64 `query:"to" minimum:"0" doc:"The version after; 0 = the one in force."`
}

type versionInput struct {
	Version int64 `path:"version" minimum:"1"`
}

// siteCalls serves the site file: its versions, later versions, and previews.
type siteCalls struct {
	doc  *document
	past Past
	site Site
}

func (s *siteCalls) siteRoutes() {
	tags := []string{"site"}
	route(s.doc, huma.Operation{
		OperationID: "get-site", Method: http.MethodGet, Path: "/v1/site", Tags: tags, Summary: "Show the site file in force",
	}, func(ctx context.Context, _ *struct{}) (SiteVersion, error) { return siteVersion(s.site.Load(ctx)) })
	route(s.doc, huma.Operation{
		OperationID: "apply-site", Method: http.MethodPut, Path: "/v1/site", Tags: tags, Summary: "Apply a site file",
		Description: "The body is the file, YAML. A file with problems is refused (422 bad_site) with all of them: file:line:column, message and hint. " +
			"Every applied file is a version; it is in force at once in every daemon.",
	}, s.applySite)
	route(s.doc, huma.Operation{
		OperationID: "list-site-versions", Method: http.MethodGet, Path: "/v1/site/versions", Tags: tags, Summary: "List the applied versions, newest first",
	}, s.siteVersions)
	route(s.doc, huma.Operation{
		OperationID: "get-site-version", Method: http.MethodGet, Path: "/v1/site/versions/{version}", Tags: tags, Summary: "Show an applied version",
	}, func(ctx context.Context, in *versionInput) (SiteVersion, error) {
		f, err := s.site.File(ctx, in.Version)
		return SiteVersion{Head: f.Head, Source: f.Source, Unreadable: f.Unreadable}, err
	})
	route(s.doc, huma.Operation{
		OperationID: "diff-site", Method: http.MethodGet, Path: "/v1/site/diff", Tags: tags, Summary: "Show what changed between two versions",
	}, func(ctx context.Context, in *diffInput) (site.Changes, error) {
		return s.site.Diff(ctx, in.From, in.To)
	})
	route(s.doc, huma.Operation{
		OperationID: "rollback-site", Method: http.MethodPost, Path: "/v1/site/rollback", Tags: tags, Summary: "Apply an old version again, as a new one",
	}, s.rollbackSite)
}

func (s *siteCalls) siteVersions(ctx context.Context, in *Cursor) (wire.Page[site.Head], error) {
	before, err := in.afterID()
	if err != nil {
		return wire.Page[site.Head]{}, err
	}
	versions, err := s.site.History(ctx, before, in.Limit)
	return page(versions, in.Limit, func(h site.Head) int64 { return h.Version }), err
}

func (s *siteCalls) rollbackSite(ctx context.Context, in *rollbackInput) (site.Applied, error) {
	moves, err := readMoves(in.Move)
	if err != nil {
		return site.Applied{}, err
	}
	return applied(s.site.Rollback(ctx, site.RollbackRequest{
		Version: in.Version, By: by(in.By), Note: in.Note, Moves: moves, DryRun: in.DryRun,
	}))
}

func applied(a site.Applied, err error) (site.Applied, error) {
	a.Changes.Shares, a.Changes.Queues, a.Changes.Rules = edge.List(a.Changes.Shares), edge.List(a.Changes.Queues), edge.List(a.Changes.Rules)
	a.Changes.Resources, a.Changes.ClaimTemplates = edge.List(a.Changes.Resources), edge.List(a.Changes.ClaimTemplates)
	a.Changes.RetryRules, a.Changes.Attempts = edge.List(a.Changes.RetryRules), edge.List(a.Changes.Attempts)
	a.Changes.Webhooks = edge.List(a.Changes.Webhooks)
	a.Changes.Limits = edge.List(a.Changes.Limits)
	a.Moved, a.Refused, a.Targets, a.Notes = edge.List(a.Moved), edge.List(a.Refused), edge.List(a.Targets), edge.List(a.Notes)
	return a, err
}

func (s *siteCalls) applySite(ctx context.Context, in *applyInput) (site.Applied, error) {
	moves, err := readMoves(in.Move)
	if err != nil {
		return site.Applied{}, err
	}
	name := in.File
	if name == "" {
		name = "site.yml"
	}
	return applied(s.site.Apply(ctx, site.ApplyRequest{
		Source: slices.Clone(in.RawBody), Name: name, By: by(in.By), Note: in.Note, Moves: moves, DryRun: in.DryRun,
	}))
}

// readMoves reads moves of the form old=new.
func readMoves(pairs []string) (map[string]string, error) {
	moves := map[string]string{}
	var f problem.Faults
	for _, pair := range pairs {
		from, to, ok := strings.Cut(pair, "=")
		switch {
		case !ok || from == "" || to == "":
			f.Add("query.move", "expected old=new, two paths of shares", pair)
		case moves[from] != "":
			f.Add("query.move", "expected each old path once", pair)
		default:
			moves[from] = to
		}
	}
	return moves, f.Problem()
}

func siteVersion(v *site.Site, err error) (SiteVersion, error) {
	if err != nil {
		return SiteVersion{}, err
	}
	return SiteVersion{Head: v.Head(), Source: v.Source}, nil
}

// by names who makes a change; whose replaces it by the caller's name if there is one.
func by(who string) string {
	if who == "" {
		return "api"
	}
	return who
}
