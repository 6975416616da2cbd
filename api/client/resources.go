package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/divvyhq/divvy/api"
	"github.com/divvyhq/divvy/dispatcher"
)

// Shapes of resources.
type (
	Resource         = dispatcher.ResourceStanding
	ResourceID       = dispatcher.ResourceID
	ResourceCapacity = api.ResourceCapacity
)

// Resources are all resources as they stand, without the IDs that hold or want units.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	p, err := get[Page[Resource]](ctx, c, call{method: http.MethodGet, path: "/v1/resources", repeat: true})
	return p.Items, err
}

// Resource shows a resource with the IDs that hold or want units: one part, of a resource per queue one a queue, of a
// keyed family (named without a key) one for each key that is in use.
func (c *Client) Resource(ctx context.Context, name string) ([]Resource, error) {
	p, err := get[Page[Resource]](ctx, c, call{method: http.MethodGet, path: resourcePath(name), repeat: true})
	return p.Items, err
}

// SetResourceCapacity sets how many units there are, before the figure of the site file; queue "" = every queue, or none.
func (c *Client) SetResourceCapacity(ctx context.Context, name, queue string, capacity int64, by string) (ResourceCapacity, error) {
	q := partOf(queue)
	q.set("by", by)
	return get[ResourceCapacity](ctx, c, call{method: http.MethodPut, path: resourcePath(name) + "/capacity", query: url.Values(q),
		body: api.CapacityRequest{Capacity: capacity}, repeat: true})
}

// ResetResourceCapacity goes back to the figure of the site file.
func (c *Client) ResetResourceCapacity(ctx context.Context, name, queue string) (ResourceCapacity, error) {
	return get[ResourceCapacity](ctx, c, call{method: http.MethodDelete, path: resourcePath(name) + "/capacity", query: url.Values(partOf(queue)), repeat: true})
}

// ReportExternal says how many units there are and how many are used, ours too, as the server of the resource sees it.
func (c *Client) ReportExternal(ctx context.Context, name, queue string, total, used int64) ([]Resource, error) {
	p, err := get[Page[Resource]](ctx, c, call{method: http.MethodPost, path: resourcePath(name) + "/external", query: url.Values(partOf(queue)),
		body: api.ExternalRequest{Total: total, Used: used}, repeat: true})
	return p.Items, err
}

func partOf(queue string) query {
	q := query{}
	q.set("queue", queue)
	return q
}

func resourcePath(name string) string { return "/v1/resources/" + url.PathEscape(name) }
