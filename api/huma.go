package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/generator/spec"
)

// document holds the routes of people and scripts; huma serves and describes them.
type document struct {
	huma    huma.API
	edge    *edge.Edge
	timeout time.Duration
}

// body is a response as JSON. It is one type for all: what huma does for a type is compiled once for each.
type body struct{ Body any }

// Cursor holds the parameters of every list.
type Cursor struct {
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Items at the most."`
	After string `query:"after" doc:"The field next of the previous page."`
}

// route registers a route with huma, turns the errors of fn into problems, and bounds its time.
func route[I, O any](d *document, op huma.Operation, fn func(context.Context, *I) (O, error)) {
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = edge.MaxBody
	}
	// The read deadline also ends the wait for the answer (see edge.Extend), so it allows the handler its whole time.
	op.BodyReadTimeout = d.timeout + edge.Slack
	op.SkipValidateBody, op.Middlewares = true, append(op.Middlewares, d.checkBodies)
	d.answersWith(&op, reflect.TypeFor[O]())
	huma.Register(d.huma, op, func(ctx context.Context, in *I) (*body, error) {
		ctx, cancel := context.WithTimeout(ctx, d.timeout)
		defer cancel()
		out, err := fn(ctx, in)
		if err != nil {
			p := problem.Of(err)
			if op.Method == http.MethodGet || op.Method == http.MethodDelete {
				problem.AsQuery(p)
			}
			if x := edge.ExchangeIn(ctx); x != nil {
				d.edge.Sign(x, p, err)
			}
			return nil, p
		}
		return &body{Body: out}, nil
	})
}

// answersWith describes the answer of an operation.
func (d *document) answersWith(op *huma.Operation, t reflect.Type) {
	schema := d.huma.OpenAPI().Components.Schemas.Schema(t, true, op.OperationID+"Response")
	op.Responses = map[string]*huma.Response{strconv.Itoa(cmp.Or(op.DefaultStatus, http.StatusOK)): {Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}}
}

// onceLoaded refuses a read until the daemon has read its state, since the answer would be empty before.
func onceLoaded[I, O any](s Dispatcher, read func(context.Context, *I) (O, error)) func(context.Context, *I) (O, error) {
	return func(ctx context.Context, in *I) (out O, err error) {
		if err = s.Loaded(ctx); err == nil {
			out, err = read(ctx, in)
		}
		return out, err
	}
}

// carry puts the exchange into the context of huma's handlers.
func (d *document) carry(ctx huma.Context, next func(huma.Context)) {
	_, w := humachi.Unwrap(ctx)
	if x, ok := w.(*edge.Exchange); ok {
		ctx = huma.WithValue(ctx, edge.ExchangeKey{}, x)
	}
	next(ctx)
}

// speak rewrites huma's own errors on their way out.
func (d *document) speak(ctx huma.Context, _ string, v any) (any, error) {
	e, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := problem.OfHuma(e)
	_, w := humachi.Unwrap(ctx)
	d.edge.Sign(w, p, p)
	return p, nil
}

// config returns huma's configuration: OpenAPI 3.1, JSON only, no pages from a CDN, errors as Problem.
func (d *document) config() huma.Config {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	registry.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[wire.Problem]())
	registry.RegisterTypeAlias(reflect.TypeFor[spec.Input](), reflect.TypeFor[inputSchema]())
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "divvy",
				Version:     "1",
				Description: "Shares out the slots of a site among the jobs of its users. Errors are application/problem+json.",
				License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Components: &huma.Components{
				Schemas:         registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}},
			},
			Security: []map[string][]string{{}, {"token": {}}},
			Tags: []*huma.Tag{
				{Name: "pilots", Description: "Pull, renew, finish."},
				{Name: "tasks", Description: "Submit and steer tasks."},
				{Name: "jobs", Description: "Jobs, their attempts and logs."},
				{Name: "site", Description: "Shares, queues, tagging rules and their versions."},
				{Name: "resources", Description: "Licences and other scarce units: capacity, holders, waiters."},
				{Name: "access", Description: "Tokens and their roles."},
				{Name: "daemon", Description: "State of the daemon."},
			},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{d.speak},
		// If a misspelt parameter were ignored, a list would hold more than the caller asked for.
		RejectUnknownQueryParameters: true,
	}
}

// openapi serves the document, which it encodes once.
func (d *document) openapi() http.HandlerFunc {
	doc, err := json.MarshalIndent(d.huma.OpenAPI(), "", "  ")
	if err != nil {
		panic("api: the document does not encode: " + err.Error())
	}
	doc = append(doc, '\n')
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(doc)
	}
}

// schemaName returns the type's name, or the one in schemaNames if two packages use the same name.
func schemaName(t reflect.Type, hint string) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := schemaNames[t]; ok {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}
