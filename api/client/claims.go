package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/divvyhq/divvy/dispatcher"
)

// Shapes of resource claims.
type (
	Claim        = dispatcher.ClaimStanding
	OutsideClaim = dispatcher.OutsideClaim
	ClaimHolder  = dispatcher.ClaimHolder
	ClaimWaiter  = dispatcher.ClaimWaiter
)

// ClaimFilter selects resource claims; the zero one all that are not released, the first page.
type ClaimFilter struct {
	Task                  int64
	State, Node, Resource string
	After                 string
	Limit                 int
}

// Claims lists resource claims by ascending id.
func (c *Client) Claims(ctx context.Context, f ClaimFilter) (Page[Claim], error) {
	q := query{}
	q.number("task", f.Task)
	q.set("state", f.State)
	q.set("node", f.Node)
	q.set("resource", f.Resource)
	q.page(f.Limit, f.After)
	return get[Page[Claim]](ctx, c, call{method: http.MethodGet, path: "/v1/resource-claims", query: url.Values(q), repeat: true})
}

// Claim is one resource claim with the jobs that hold it and that wait for it.
func (c *Client) Claim(ctx context.Context, id int64) (Claim, error) {
	return get[Claim](ctx, c, call{method: http.MethodGet, path: "/v1/resource-claims/" + strconv.FormatInt(id, 10), repeat: true})
}

// CreateClaim makes a claim outside of tasks.
func (c *Client) CreateClaim(ctx context.Context, claim OutsideClaim) (Claim, error) {
	return get[Claim](ctx, c, call{method: http.MethodPost, path: "/v1/resource-claims", body: claim, repeat: true})
}

// DeleteClaim ends a claim that was made outside of tasks; forced, also while jobs hold it: it goes with the last of them.
func (c *Client) DeleteClaim(ctx context.Context, name string, force bool) (Claim, error) {
	q := query{}
	q.set("name", name)
	q.flag("force", force)
	return get[Claim](ctx, c, call{method: http.MethodDelete, path: "/v1/resource-claims", query: url.Values(q)})
}
