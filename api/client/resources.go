package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/divvyhq/divvy/api/wire"
)

// Resources groups the calls about finite resources.
type Resources struct{ c *Client }

// Resources returns the calls about finite resources.
func (c *Client) Resources() Resources { return Resources{c} }

const resourcesPath = "/v1/resources"

func resourcePath(name, rest string) string { return resourcesPath + "/" + url.PathEscape(name) + rest }

// List returns the state of all resources, without the IDs that hold or want units.
func (r Resources) List(ctx context.Context) ([]wire.ResourceStanding, error) {
	return items[wire.ResourceStanding](ctx, r.c, resourcesPath, nil)
}

// Get returns the parts of a resource, with the IDs that hold or want units. A global resource has one part, a
// resource per queue one for each queue, a keyed family (named without a key) one for each key in use.
func (r Resources) Get(ctx context.Context, name string) ([]wire.ResourceStanding, error) {
	return items[wire.ResourceStanding](ctx, r.c, resourcePath(name, ""), nil)
}

// SetCapacity sets the number of units; it overrides the site file until ResetCapacity. An empty queue stands for
// every queue of a resource per queue.
func (r Resources) SetCapacity(ctx context.Context, name, queue string, capacity int64, by string) (wire.ResourceCapacity, error) {
	return send[wire.ResourceCapacity](ctx, r.c, call{method: http.MethodPut, path: resourcePath(name, "/capacity"), query: params("queue", queue, "by", by),
		body: wire.CapacityRequest{Capacity: capacity}, repeat: true})
}

// ResetCapacity restores the capacity of the site file.
func (r Resources) ResetCapacity(ctx context.Context, name, queue string) (wire.ResourceCapacity, error) {
	return send[wire.ResourceCapacity](ctx, r.c, call{method: http.MethodDelete, path: resourcePath(name, "/capacity"), query: params("queue", queue), repeat: true})
}

// ReportExternal reports what the resource's own server counts: all units, and the units in use, divvy's included.
func (r Resources) ReportExternal(ctx context.Context, name, queue string, total, used int64) ([]wire.ResourceStanding, error) {
	p, err := send[wire.Page[wire.ResourceStanding]](ctx, r.c, call{method: http.MethodPost, path: resourcePath(name, "/external"), query: params("queue", queue),
		body: wire.ExternalRequest{Total: total, Used: used}, repeat: true})
	return p.Items, err
}

// Claims groups the calls about resource claims.
type Claims struct{ c *Client }

// Claims returns the calls about resource claims.
func (c *Client) Claims() Claims { return Claims{c} }

const claimsPath = "/v1/resource-claims"

// ClaimFilter selects resource claims. The zero filter selects the first page of all claims that are not released.
type ClaimFilter struct {
	Task                  int64
	State, Node, Resource string
	After                 string
	Limit                 int
}

// List lists resource claims by ascending id.
func (l Claims) List(ctx context.Context, f ClaimFilter) (wire.Page[wire.ClaimStanding], error) {
	return get[wire.Page[wire.ClaimStanding]](ctx, l.c, claimsPath, params("task", number(f.Task), "state", f.State, "node", f.Node, "resource", f.Resource,
		"limit", number(f.Limit), "after", f.After))
}

// Get returns one resource claim with the jobs that hold it and the jobs that wait for it.
func (l Claims) Get(ctx context.Context, id int64) (wire.ClaimStanding, error) {
	return get[wire.ClaimStanding](ctx, l.c, under(claimsPath, id, ""), nil)
}

// Create makes a claim outside of tasks.
func (l Claims) Create(ctx context.Context, claim wire.OutsideClaim) (wire.ClaimStanding, error) {
	return post[wire.ClaimStanding](ctx, l.c, claimsPath, claim)
}

// Delete ends a claim that was made outside of tasks. With force it accepts a claim that jobs hold; the claim then
// ends with its last holder. Delete is not retried.
func (l Claims) Delete(ctx context.Context, name string, force bool) (wire.ClaimStanding, error) {
	return send[wire.ClaimStanding](ctx, l.c, call{method: http.MethodDelete, path: claimsPath, query: params("name", name, "force", flag(force))})
}
