package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

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

func (s *server) tokenRoutes() {
	tags := []string{"access"}
	route(s, huma.Operation{
		OperationID: "list-tokens", Method: http.MethodGet, Path: "/v1/tokens", Tags: tags, Summary: "List tokens",
		Description: "By name. The tokens themselves are kept nowhere.",
	}, func(ctx context.Context, in *tokensInput) (Page[access.Token], error) {
		all, err := s.Access.List(ctx, in.All)
		return Page[access.Token]{Items: list(all)}, err
	})
	route(s, huma.Operation{
		OperationID: "create-token", Method: http.MethodPost, Path: "/v1/tokens", Tags: tags, Summary: "Make a token", DefaultStatus: http.StatusCreated,
		Description: "The answer has the token, this once. Every daemon lets it in within seconds.",
	}, func(ctx context.Context, in *newTokenInput) (access.Made, error) {
		in.Body.By = access.CallerIn(ctx).Name
		return s.Access.Create(ctx, in.Body)
	})
	route(s, huma.Operation{
		OperationID: "revoke-token", Method: http.MethodDelete, Path: "/v1/tokens", Tags: tags, Summary: "Revoke a token",
		Description: "No daemon lets it in any more within seconds. A repeat changes nothing.",
	}, func(ctx context.Context, in *revokeInput) (access.Token, error) {
		return s.Access.Revoke(ctx, in.Token, access.CallerIn(ctx).Name)
	})
}
