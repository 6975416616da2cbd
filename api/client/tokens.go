package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/internal/access"
)

// Shapes of tokens.
type (
	Token     = access.Token
	NewToken  = access.New
	MadeToken = access.Made
	Audited   = access.Audited
)

// Tokens lists tokens, those that are let in or all there were.
func (c *Client) Tokens(ctx context.Context, all bool) ([]Token, error) {
	q := url.Values{}
	if all {
		q.Set("all", "true")
	}
	p, err := get[Page[Token]](ctx, c, call{method: http.MethodGet, path: "/v1/tokens", query: q, repeat: true})
	return p.Items, err
}

// CreateToken makes a token. It is not repeated: a second one would be another token.
func (c *Client) CreateToken(ctx context.Context, n NewToken) (MadeToken, error) {
	return get[MadeToken](ctx, c, call{method: http.MethodPost, path: "/v1/tokens", body: n})
}

// RevokeToken ends the token with a name or prefix.
func (c *Client) RevokeToken(ctx context.Context, which string) (Token, error) {
	return get[Token](ctx, c, call{method: http.MethodDelete, path: "/v1/tokens", query: url.Values{"token": {which}}, repeat: true})
}

// AuditFilter says which entries of the audit; see GET /v1/audit.
type AuditFilter struct {
	Who, What, Object string
	Since             time.Time // zero: all
	After             string    // the Next of the page before
	Limit             int       // 0: 100
}

// Audit lists who changed what, the newest first.
func (c *Client) Audit(ctx context.Context, f AuditFilter) (Page[Audited], error) {
	q := url.Values{}
	for name, value := range map[string]string{"who": f.Who, "what": f.What, "object": f.Object, "after": f.After} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if !f.Since.IsZero() {
		q.Set("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return get[Page[Audited]](ctx, c, call{method: http.MethodGet, path: "/v1/audit", query: q, repeat: true})
}
