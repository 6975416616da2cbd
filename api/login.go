package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/access"
)

// pathLogin is asked by those who have no credential yet.
const pathLogin = "/v1/login"

// login is GET /v1/login.
func (s *server) login(w http.ResponseWriter, _ *http.Request) {
	if s.Outside != nil {
		if l := s.Outside().Login(); l != nil {
			edge.Reply(w, wire.Login{Issuer: l.URL, ClientID: l.ClientID, Scopes: slices.Clone(l.Scopes)})
			return
		}
	}
	s.edge.Fail(w, problem.New(problem.NoLogin, ""))
}

func (s *server) callerRoutes() {
	tags := []string{"access"}
	s.doc.add(huma.Operation{
		OperationID: "get-login", Method: http.MethodGet, Path: pathLogin, Tags: tags, Summary: "Show where people log in",
		Description: "It needs no credential. A client gets a token of that issuer, by any flow, and sends it as a bearer token: the ID token, or an access token that is a JWT for this daemon.",
		Security:    []map[string][]string{},
	}, nil, reflect.TypeFor[wire.Login]())
	route(s.doc, huma.Operation{
		OperationID: "whoami", Method: http.MethodGet, Path: "/v1/whoami", Tags: tags, Summary: "Show who the caller is",
	}, whoami)
}

// whoami is GET /v1/whoami.
func whoami(ctx context.Context, _ *struct{}) (wire.Whoami, error) {
	c := access.CallerIn(ctx)
	w := wire.Whoami{Name: c.Name, Role: string(c.Role), User: c.User, Queues: c.Queues, Share: c.Share, May: c.Role.May(), By: c.By()}
	if c.Vouched {
		w.Subject = cmp.Or(c.DN, c.From)
	}
	if !c.Until.IsZero() {
		w.Until = &c.Until
	}
	return w, nil
}
