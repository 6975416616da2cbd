package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// Tokens makes tokens and ends them.
type Tokens struct{ c *Client }

// Tokens are the calls about tokens and the audit.
func (c *Client) Tokens() Tokens { return Tokens{c} }

const tokensPath = "/v1/tokens"

// List lists tokens, those that are let in or all there were.
func (t Tokens) List(ctx context.Context, all bool) ([]wire.Token, error) {
	return items[wire.Token](ctx, t.c, tokensPath, params("all", flag(all)))
}

// Create makes a token. It is not repeated: a second one would be another token.
func (t Tokens) Create(ctx context.Context, n wire.NewToken) (wire.MadeToken, error) {
	return send[wire.MadeToken](ctx, t.c, call{method: http.MethodPost, path: tokensPath, body: n})
}

// Revoke ends the token with a name or prefix.
func (t Tokens) Revoke(ctx context.Context, which string) (wire.Token, error) {
	return send[wire.Token](ctx, t.c, call{method: http.MethodDelete, path: tokensPath, query: url.Values{"token": {which}}, repeat: true})
}

// AuditFilter says which entries of the audit; see GET /v1/audit.
type AuditFilter struct {
	Who, What, Object string
	Since             time.Time // zero: all
	After             string    // the Next of the page before
	Limit             int       // 0: 100
}

// Audit lists who changed what, the newest first.
func (t Tokens) Audit(ctx context.Context, f AuditFilter) (wire.Page[wire.Audited], error) {
	return get[wire.Page[wire.Audited]](ctx, t.c, "/v1/audit", params("who", f.Who, "what", f.What, "object", f.Object, "since", moment(f.Since),
		"limit", number(f.Limit), "after", f.After))
}
