package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/access"
)

type tokensInput struct {
	All bool `query:"all" doc:"Those too that are revoked or have expired."`
}

type newTokenInput struct {
	Body access.New
}

type revokeInput struct {
	Token string `query:"token" required:"true" minLength:"1" maxLength:"200" doc:"Its name, or its prefix."`
}

type auditInput struct {
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Entries at the most."`
	After  string    `query:"after" doc:"The field next of the previous page."`
	Who    string    `query:"who" doc:"Only changes by the token with this name."`
	What   string    `query:"what" doc:"Only this, such as task.kill; or all of a kind, such as task."`
	Object string    `query:"object" doc:"Only changes of the thing with this id or name."`
	Since  time.Time `query:"since" doc:"Only changes since then, RFC 3339."`
}

// audit is GET /v1/audit.
func (s *server) audit(ctx context.Context, in *auditInput) (wire.Page[access.Audited], error) {
	before, err := Cursor{After: in.After}.afterID()
	if err != nil {
		return wire.Page[access.Audited]{}, err
	}
	all, err := s.Access.Audit(ctx, access.AuditFilter{Who: in.Who, What: in.What, Object: in.Object, Since: in.Since, Before: before, Limit: in.Limit})
	return page(all, in.Limit, func(a access.Audited) int64 { return a.ID }), err
}

func (s *server) tokenRoutes() {
	tags := []string{"access"}
	route(s.doc, huma.Operation{
		OperationID: "audit", Method: http.MethodGet, Path: "/v1/audit", Tags: tags, Summary: "List who changed what",
		Description: "The newest first. Each change is noted in the transaction that makes it.",
	}, s.audit)
	route(s.doc, huma.Operation{
		OperationID: "list-tokens", Method: http.MethodGet, Path: "/v1/tokens", Tags: tags, Summary: "List tokens",
		Description: "By name. The tokens themselves are kept nowhere.",
	}, func(ctx context.Context, in *tokensInput) (wire.Page[access.Token], error) {
		all, err := s.Access.List(ctx, in.All)
		return wire.Page[access.Token]{Items: edge.List(all)}, err
	})
	route(s.doc, huma.Operation{
		OperationID: "create-token", Method: http.MethodPost, Path: "/v1/tokens", Tags: tags, Summary: "Make a token", DefaultStatus: http.StatusCreated,
		Description: "The answer has the token, this once. Every daemon lets it in within seconds.",
	}, func(ctx context.Context, in *newTokenInput) (access.Made, error) {
		in.Body.By = access.CallerIn(ctx).Name
		return s.Access.Create(ctx, in.Body)
	})
	route(s.doc, huma.Operation{
		OperationID: "revoke-token", Method: http.MethodDelete, Path: "/v1/tokens", Tags: tags, Summary: "Revoke a token",
		Description: "No daemon lets it in any more within seconds. A repeat changes nothing.",
	}, func(ctx context.Context, in *revokeInput) (access.Token, error) {
		return s.Access.Revoke(ctx, in.Token, access.CallerIn(ctx).Name)
	})
}
