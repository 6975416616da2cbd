package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// Shapes of the pilots' calls.
type (
	Slot          = job.Slot
	PullRequest   = dispatcher.PullRequest
	PullReply     = dispatcher.PullReply
	Lease         = dispatcher.Lease
	RenewRequest  = dispatcher.RenewRequest
	Renewal       = dispatcher.Renewal
	RenewReply    = dispatcher.RenewReply
	CancelOrder   = dispatcher.CancelOrder
	FinishRequest = dispatcher.FinishRequest
	Result        = dispatcher.Result
	FinishReply   = dispatcher.FinishReply
	Verdict       = dispatcher.Verdict
	Usage         = dispatcher.Usage
	LeaseState    = dispatcher.LeaseState
	Outcome       = dispatcher.Outcome
)

// Pull asks for jobs. No job is a *NoJobs, which is ErrNoJobs. Without a request id it is made once: a repeat
// could lease a second set of jobs.
func (c *Client) Pull(ctx context.Context, req PullRequest) (PullReply, error) {
	var reply PullReply
	resp, err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/pulls", body: req, out: &reply, hot: true,
		repeat: req.RequestID != "", wait: time.Duration(req.WaitS * float64(time.Second)),
	})
	if err != nil {
		return PullReply{}, err
	}
	if resp.StatusCode == http.StatusNoContent {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return PullReply{}, &NoJobs{After: time.Duration(seconds) * time.Second}
	}
	return reply, nil
}

// Renew keeps leases; its reply says which are lost and which to end.
func (c *Client) Renew(ctx context.Context, req RenewRequest) (RenewReply, error) {
	req.Leases = list(req.Leases)
	return get[RenewReply](ctx, c, call{method: http.MethodPost, path: "/v1/leases/renew", body: req, repeat: true, hot: true})
}

// Finish reports ended attempts; the verdicts are in the order of the results.
func (c *Client) Finish(ctx context.Context, req FinishRequest) (FinishReply, error) {
	req.Results = list(req.Results)
	return get[FinishReply](ctx, c, call{method: http.MethodPost, path: "/v1/leases/finish", body: req, repeat: true, hot: true})
}

// get makes a call whose answer is a T.
func get[T any](ctx context.Context, c *Client, k call) (T, error) {
	var out T
	k.out = &out
	_, err := c.do(ctx, k)
	return out, err
}

// list makes an empty list of nil, which would be null.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
