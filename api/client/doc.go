// Package client is the typed Go client of the daemon's HTTP API; the command line and the pilot use it.
//
//	c, err := client.New(client.Config{URL: "http://127.0.0.1:8470"})
//	reply, err := c.Pull(ctx, wire.PullRequest{Queue: "CERN", Pilot: "p1", RequestID: "1", WaitS: 30})
//	switch {
//	case errors.Is(err, client.ErrNoJobs): // a 204; client.RetryAfter(err) says when to come back
//	case client.IsUnavailable(err):        // no answer, or the daemon cannot serve now: keep trying
//	}
//
// A Client pulls, renews and finishes; other calls are in groups: c.Tasks(), Jobs(), Shares(), Queues(), Site(), Resources(),
// Claims(), Tokens(), Reports() and Daemon(). The shapes are those of api/wire. Neither package imports anything of the server.
//
// # What is promised
//
//  1. An error answer is a *Problem; no answer at all is an *Unreachable. Both know how long to wait.
//  2. A call is retried, within Config.Patience, only if a repeat changes nothing: reads; pulls with a request id; renew and finish; a
//     submission, which gets an idempotency key; a chunk of inputs; the verbs that set a state. Other calls are retried only if no connection
//     was made. The pauses double, have jitter, respect Retry-After and end with the context.
//  3. A long poll has its wait_s and half a minute more; other calls have Config.Timeout.
//  4. Calls of pilots go to the leader if an answer names it and it can be reached; they go back to Config.URL if it does not answer, or
//     refuses. A token is never sent to a daemon that a stranger could impersonate: not from TLS to none, nor to or from a loopback address.
//  5. Inputs of any length are sent in constant memory, chunk by chunk, each at its offset, so that a broken
//     connection costs one chunk.
//
// A Client is safe for concurrent use.
package client
