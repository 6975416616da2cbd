package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/divvyhq/divvy/dispatcher"
)

// Shapes of answers about where jobs may run.
type (
	ShareStock = dispatcher.ShareStock
	KindQueues = dispatcher.KindQueues
)

// Stock says how well the leaves at and below a share are supplied with ready jobs at a queue; empty: all.
func (c *Client) Stock(ctx context.Context, share, queue string) ([]ShareStock, error) {
	q := query{}
	q.set("share", share)
	q.set("queue", queue)
	page, err := get[Page[ShareStock]](ctx, c, call{method: http.MethodGet, path: "/v1/stock", query: url.Values(q), repeat: true})
	return page.Items, err
}

// TaskQueues says where each kind of jobs of a task may run.
func (c *Client) TaskQueues(ctx context.Context, id int64) ([]KindQueues, error) {
	page, err := get[Page[KindQueues]](ctx, c, call{method: http.MethodGet, path: taskPath(id, "/queues"), repeat: true})
	return page.Items, err
}
