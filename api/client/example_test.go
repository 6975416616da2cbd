package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
)

// A pilot asks for jobs and tells apart the three kinds of "no".
func ExampleClient_Pull() {
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusNoContent)
	}))
	defer daemon.Close()
	c, err := client.New(client.Config{URL: daemon.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	reply, err := c.Pull(context.Background(), wire.PullRequest{Queue: "CERN", Pilot: "p1", Max: 4, WaitS: 30, RequestID: "1"})
	switch {
	case errors.Is(err, client.ErrNoJobs):
		fmt.Println("no job; again in", client.RetryAfter(err))
	case client.IsUnavailable(err):
		fmt.Println("the daemon is away; again with the same request id")
	case err != nil:
		fmt.Println("refused:", err)
	default:
		fmt.Println("jobs:", len(reply.Leases))
	}
	// Output: no job; again in 2s
}
