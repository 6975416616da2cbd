package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/divvyhq/divvy/internal/access"
)

// Shapes of tokens.
type (
	Token     = access.Token
	NewToken  = access.New
	MadeToken = access.Made
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
