package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
)

// hang is a dispatcher that never answers.
type hang struct{ fakeDispatcher }

func (*hang) Pull(ctx context.Context, _ dispatcher.PullRequest) (r dispatcher.PullReply, err error) {
	<-ctx.Done()
	return r, ctx.Err()
}

func (*hang) Renew(ctx context.Context, _ dispatcher.RenewRequest) (r dispatcher.RenewReply, err error) {
	<-ctx.Done()
	return r, ctx.Err()
}

func (*hang) Finish(ctx context.Context, _ dispatcher.FinishRequest) (r dispatcher.FinishReply, err error) {
	<-ctx.Done()
	return r, ctx.Err()
}

// A request over its time is 503 with Retry-After, on the daemon's server and on any other; there the connection
// that it came on is closed.
func TestRequestsOverTheirTime(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timeout, c.Dispatcher = 20*time.Millisecond, &hang{} })
	plain := httptest.NewServer(b.handler)
	defer plain.Close()
	for server, base := range map[string]string{"own": serve(t, b, time.Minute).URL, "other": plain.URL} {
		for _, path := range []string{"/v1/pulls", "/v1/leases/renew", "/v1/leases/finish"} {
			body := map[string]string{"/v1/pulls": goodPull, "/v1/leases/renew": fullLeases, "/v1/leases/finish": fullResults}[path]
			resp, err := http.Post(base+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || resp.Header.Get("Content-Type") != wire.ProblemType {
				t.Errorf("%s %s: %s %v %s", server, path, resp.Status, resp.Header, text)
			}
			if resp.Close != (server == "own") {
				t.Errorf("%s %s: Connection: close is %v", server, path, resp.Close)
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

const (
	fullLeases  = `{"pilot":"p","leases":[{"lease":"L"}]}`
	fullResults = `{"pilot":"p","results":[{"lease":"L","outcome":"finished"}]}`
)

// An answer with many leases has its length and is not cut into chunks.
func TestLargeAnswersHaveTheirLength(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Dispatcher = newBusy() })
	conn, err := net.Dial("tcp", serve(t, b, time.Minute).Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for range 3 { // on one connection
		body := strings.Replace(benchPull, `"max":1`, `"max":16`, 1)
		fmt.Fprintf(conn, "POST /v1/pulls HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || len(text) < 2<<10 || resp.ContentLength != int64(len(text)) || len(resp.TransferEncoding) > 0 {
			t.Errorf("%v, %d bytes, Content-Length %d, %v", err, len(text), resp.ContentLength, resp.TransferEncoding)
		}
	}
}
