package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/dispatcher"
)

func TestRequestID(t *testing.T) {
	b := newBench(t)
	for sent, kept := range map[string]bool{"abc-1": true, "": false, "two words": false, strings.Repeat("x", 129): false, "bad\x01": false} {
		got := b.call("GET", "/healthz", "", edge.HeaderRequestID, sent).Header().Get(edge.HeaderRequestID)
		if got == "" || (got == sent) != kept {
			t.Errorf("sent %q, got %q", sent, got)
		}
	}
}

// An error is logged once, with its request id; what it is does not leave the daemon.
func TestErrorsAreLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	b := newBench(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	b.dispatcher.err = errors.New("disk on fire")
	for _, path := range []string{"/v1/jobs/7", "/v1/jobs"} {
		log.Reset()
		p := b.problem(b.call("GET", path, ""), 500)
		if n := strings.Count(log.String(), "disk on fire"); n != 1 || !strings.Contains(log.String(), p.RequestID) {
			t.Errorf("%s: logged %d times:\n%s", path, n, log.String())
		}
	}
	log.Reset()
	b.dispatcher.pull = func(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error) { panic("boom") }
	b.problem(b.call("POST", "/v1/pulls", goodPull), 500)
	if strings.Count(log.String(), "boom") != 1 || !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("panic: %s", log.String())
	}
	log.Reset()
	b.problem(b.call("POST", "/v1/pulls", "{"), 400)
	if log.Len() > 0 {
		t.Errorf("a fault of the client is logged above debug: %s", log.String())
	}
}

func TestUnknownRoutes(t *testing.T) {
	b := newBench(t)
	if p := b.problem(b.call("GET", "/v1/nothing", ""), 404); p.Code != "no_route" {
		t.Error(p)
	}
	w := b.call("DELETE", "/v1/pulls", "")
	if p := b.problem(w, 405); p.Code != "method_not_allowed" || w.Header().Get("Allow") != "POST" {
		t.Error(p, w.Header())
	}
}

// What the database does not take of a text is the caller's mistake, and HEAD is a GET without the answer.
func TestTextsAndHeads(t *testing.T) {
	b := newBench(t)
	for _, code := range []string{problem.CodeNotInEncoding, problem.CodeUntranslatable} {
		b.dispatcher.err = &pgconn.PgError{Code: code}
		if p := b.problem(b.call("GET", "/v1/jobs/7", ""), 422); !strings.Contains(p.Detail, "U+0000") {
			t.Errorf("%s: %+v", code, p)
		}
	}
	for path, status := range map[string]int{"/healthz": 200, "/v1/jobs/7": 422, "/nowhere": 404} {
		if got := b.call("HEAD", path, "").Code; got != status {
			t.Errorf("HEAD %s: %d, want %d", path, got, status)
		}
	}
}

func TestMetricsAreBounded(t *testing.T) {
	reg := prometheus.NewRegistry()
	b := newBench(t, func(c *Config) { c.Registry = reg })
	for i := range 50 {
		b.call("GET", fmt.Sprintf("/v1/jobs/%d", i+1), "")
		b.call("GET", fmt.Sprintf("/v1/odd/%d", i+1), "")
		b.call(fmt.Sprintf("ODD%d", i), "/v1/jobs", "")
	}
	text := b.call("GET", "/metrics", "").Body.String()
	if n := strings.Count(text, "\ndivvy_http_requests_total{"); n > 4 {
		t.Errorf("%d series for two routes", n)
	}
	if want := `divvy_http_requests_total{method="GET",route="/v1/jobs/{id}",status="2xx"} 50`; !strings.Contains(text, want) {
		t.Errorf("no %s in\n%s", want, text)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
}

func TestReady(t *testing.T) {
	var down atomic.Bool
	b := newBench(t, func(c *Config) {
		c.Ready = func(context.Context) error {
			if down.Load() {
				return errors.New("no database")
			}
			return nil
		}
	})
	if w := b.call("GET", "/readyz", ""); w.Code != 200 {
		t.Error(w.Code, w.Body)
	}
	down.Store(true)
	if p := b.problem(b.call("GET", "/readyz", ""), 503); p.Detail != "no database" {
		t.Error(p)
	}
	if w := b.call("GET", "/healthz", ""); w.Code != 200 {
		t.Error(w.Code, w.Body)
	}
}

// served is the API on a real listener.
type served struct {
	URL      string
	Listener net.Listener
}

// serve runs the API as the daemon does, with short deadlines.
func serve(t *testing.T, b *bench, deadline time.Duration) served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := NewServer(b.handler, nil)
	srv.ReadTimeout, srv.WriteTimeout = deadline, deadline
	over := make(chan error, 1)
	go func() { over <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(srv.Close(), <-over); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return served{"http://" + l.Addr().String(), l}
}

// A long poll lives longer than the server's deadlines, and is not taken for a client that went away.
func TestLongPollOutlivesTheDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.dispatcher.pull = func(ctx context.Context, _ dispatcher.PullRequest) (dispatcher.PullReply, error) {
			select {
			case <-ctx.Done():
				return dispatcher.PullReply{}, ctx.Err()
			case <-time.After(600 * time.Millisecond): // three deadlines
				return dispatcher.PullReply{Leases: []dispatcher.Lease{{Lease: "L"}}}, nil
			}
		}
		_, client := servePiped(t, b, 200*time.Millisecond)
		resp, err := client.Post("http://divvy/v1/pulls", "application/json", strings.NewReader(`{"queue":"CERN","pilot":"p","wait_s":5}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
			t.Fatalf("%d %s", resp.StatusCode, text)
		}
	})
}

func TestGoneClientCancelsItsPull(t *testing.T) {
	b := newBench(t)
	waiting, cancelled := make(chan struct{}), make(chan struct{})
	b.dispatcher.pull = func(ctx context.Context, _ dispatcher.PullRequest) (dispatcher.PullReply, error) {
		close(waiting)
		<-ctx.Done()
		close(cancelled)
		return dispatcher.PullReply{}, ctx.Err()
	}
	ts := serve(t, b, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", ts.URL+"/v1/pulls", strings.NewReader(`{"queue":"CERN","pilot":"p","wait_s":60}`))
	go func() {
		<-waiting
		cancel()
	}()
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Fatal("answered", resp.Status)
	}
	select {
	case <-cancelled:
	case <-time.After(10 * time.Second):
		t.Fatal("the dispatcher was not told")
	}
}

// A stream goes on as long as something comes, and is cut when nothing does.
func TestInputsDeadlinesMoveOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.server.doc.timeout = 3 * time.Second
		_, client := servePiped(t, b, 700*time.Millisecond)
		put := func(lines int, pause time.Duration) (int, string) {
			t.Helper()
			in, out := io.Pipe()
			var said sync.WaitGroup
			defer said.Wait()
			said.Go(func() {
				defer out.Close()
				for i := range lines {
					if _, err := fmt.Fprintf(out, "\"f%d\"\n", i); err != nil {
						return // it was cut
					}
					time.Sleep(pause)
				}
			})
			req, _ := http.NewRequestWithContext(t.Context(), "PUT", "http://divvy/v1/tasks/3/inputs?offset=0", in)
			resp, err := client.Do(req)
			if err != nil {
				return 0, err.Error()
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			return resp.StatusCode, string(text)
		}
		// 24 s, longer than the server's deadline, and than one of the stream.
		if status, text := put(12, 2*time.Second); status != 200 || !strings.Contains(text, `"next_offset":12`) {
			t.Errorf("%d %s", status, text)
		}
		if status, text := put(2, 4*time.Second); status == 200 {
			t.Errorf("a stream that says nothing for 4 s: %d %s", status, text)
		}
	})
}

// A body that dribbles in is cut at the deadline.
func TestSlowBodyIsCut(t *testing.T) {
	b := newBench(t)
	ts := serve(t, b, 300*time.Millisecond)
	conn, err := net.Dial("tcp", ts.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/pulls HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	text, _ := io.ReadAll(conn)
	if len(text) > 0 && !strings.Contains(string(text), "408") {
		t.Errorf("%s", text)
	}
}
