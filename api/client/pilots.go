package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// Pull asks for jobs. No job is a *NoJobs, which is ErrNoJobs. Without a request id it is made once: a repeat
// could lease a second set of jobs.
func (c *Client) Pull(ctx context.Context, req wire.PullRequest) (wire.PullReply, error) {
	var reply wire.PullReply
	resp, err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/pulls", body: req, out: &reply, hot: true,
		repeat: req.RequestID != "", wait: time.Duration(req.WaitS * float64(time.Second)),
	})
	if err != nil {
		return wire.PullReply{}, err
	}
	if resp.StatusCode == http.StatusNoContent {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return wire.PullReply{}, &NoJobs{After: time.Duration(seconds) * time.Second}
	}
	return reply, nil
}

// Renew keeps leases; its reply says which are lost and which to end.
func (c *Client) Renew(ctx context.Context, req wire.RenewRequest) (wire.RenewReply, error) {
	req.Leases = list(req.Leases)
	return send[wire.RenewReply](ctx, c, call{method: http.MethodPost, path: "/v1/leases/renew", body: req, repeat: true, hot: true})
}

// Finish reports ended attempts; the verdicts are in the order of the results.
func (c *Client) Finish(ctx context.Context, req wire.FinishRequest) (wire.FinishReply, error) {
	req.Results = list(req.Results)
	return send[wire.FinishReply](ctx, c, call{method: http.MethodPost, path: "/v1/leases/finish", body: req, repeat: true, hot: true})
}

// Output sends what attempts wrote that are followed; its reply says what is wanted next.
func (c *Client) Output(ctx context.Context, req wire.OutputReport) (wire.OutputReply, error) {
	return send[wire.OutputReply](ctx, c, call{
		method: http.MethodPost, path: "/v1/leases/output", body: req, repeat: true, hot: true, wait: time.Duration(req.WaitS * float64(time.Second)),
	})
}

// list makes an empty list of nil, which would be null.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
