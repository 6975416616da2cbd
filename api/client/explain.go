package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
)

// Shapes of explanations.
type (
	Explanation = dispatcher.Explanation
	Why         = dispatcher.Why

	TaskExplanation = dispatcher.TaskExplanation
)

// ExplainJob says why a job waits, or why it was given its slot.
func (c *Client) ExplainJob(ctx context.Context, id int64) (Explanation, error) {
	return get[Explanation](ctx, c, call{method: http.MethodGet, path: jobPath(id, "/explain"), repeat: true})
}

// ExplainTask says why no more of a task runs.
func (c *Client) ExplainTask(ctx context.Context, id int64) (TaskExplanation, error) {
	return get[TaskExplanation](ctx, c, call{method: http.MethodGet, path: taskPath(id, "/explain"), repeat: true})
}

// WhyOptions bound what Why looks at; zero fields get the daemon's defaults.
type WhyOptions struct {
	Last  int           // decisions
	Since time.Duration // how far back
}

// Why says why share a was served before share b, or the other way round.
func (c *Client) Why(ctx context.Context, a, b string, o WhyOptions) (Why, error) {
	q := query{}
	q.set("a", a)
	q.set("b", b)
	q.number("last", int64(o.Last))
	if o.Since != 0 {
		q.set("since", o.Since.String())
	}
	return get[Why](ctx, c, call{method: http.MethodGet, path: "/v1/shares/why", query: url.Values(q), repeat: true})
}
