package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// daemon answers with what the test says, and counts.
func daemon(t *testing.T, h http.HandlerFunc, change ...func(*Config)) (*Client, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		h(w, r)
	}))
	t.Cleanup(ts.Close)
	cfg := Config{URL: ts.URL + "/", Token: "secret", Patience: 5 * time.Second}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, &calls
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, p wire.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

func TestNewChecksTheURL(t *testing.T) {
	for _, bad := range []string{"", "localhost:8470", "ftp://x", "http://", "://"} {
		if _, err := New(Config{URL: bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestPull(t *testing.T) {
	c, _ := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		var req wire.PullRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/pulls" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%v %s %v", err, r.URL, r.Header)
		}
		switch req.Queue {
		case "full":
			answer(w, 200, wire.PullReply{Leases: []wire.Lease{{Lease: "L", Job: 7}}})
		case "empty":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(204)
		default:
			refuse(w, wire.Problem{Title: "No queue", Status: 404, Code: "unknown_queue", Hint: "the site has CERN"})
		}
	})
	got, err := c.Pull(t.Context(), wire.PullRequest{Queue: "full", Pilot: "p"})
	if err != nil || got.Leases[0].Job != 7 {
		t.Error(got, err)
	}
	_, err = c.Pull(t.Context(), wire.PullRequest{Queue: "empty", Pilot: "p"})
	if !errors.Is(err, ErrNoJobs) || RetryAfter(err) != 7*time.Second || IsUnavailable(err) {
		t.Error(err, RetryAfter(err))
	}
	_, err = c.Pull(t.Context(), wire.PullRequest{Queue: "odd", Pilot: "p"})
	var p *wire.Problem
	if !errors.As(err, &p) || p.Code != "unknown_queue" || !IsNotFound(err) || !IsCode(err, "unknown_queue") || !strings.Contains(err.Error(), "CERN") {
		t.Error(err)
	}
}

// Which calls are repeated when the daemon cannot serve, and which must not be.
func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		name   string
		call   func(*Client) error
		repeat bool
	}{
		{"read", func(c *Client) error { _, err := c.Jobs().Get(context.Background(), 1); return err }, true},
		{"pull with a request id", func(c *Client) error {
			_, err := c.Pull(context.Background(), wire.PullRequest{RequestID: "r"})
			return err
		}, true},
		{"pull without", func(c *Client) error { _, err := c.Pull(context.Background(), wire.PullRequest{}); return err }, false},
		{"renew", func(c *Client) error { _, err := c.Renew(context.Background(), wire.RenewRequest{}); return err }, true},
		{"finish", func(c *Client) error { _, err := c.Finish(context.Background(), wire.FinishRequest{}); return err }, true},
		{"submit", func(c *Client) error {
			_, err := c.Tasks().Submit(context.Background(), wire.TaskSpec{}, "")
			return err
		}, true},
		{"prioritise", func(c *Client) error { _, err := c.Tasks().Prioritise(context.Background(), 1, 9); return err }, true},
		{"create claim", func(c *Client) error {
			_, err := c.Claims().Create(context.Background(), wire.OutsideClaim{Name: "disk"})
			return err
		}, true},
		{"delete claim", func(c *Client) error { _, err := c.Claims().Delete(context.Background(), "disk", true); return err }, false},
		{"scale", func(c *Client) error { _, err := c.Tasks().Scale(context.Background(), 1, wire.Scaling{}); return err }, true},
		{"retry", func(c *Client) error { _, err := c.Tasks().Retry(context.Background(), 1, nil); return err }, false},
		{"rollback", func(c *Client) error {
			_, err := c.Site().Rollback(context.Background(), 1, ApplyOptions{})
			return err
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var keys []string
			n := 0
			cl, calls := daemon(t, func(w http.ResponseWriter, r *http.Request) {
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				if n++; n == 1 {
					refuse(w, wire.Problem{Title: "Database away", Status: 503, Code: "database_unavailable"})
					return
				}
				answer(w, 200, map[string]any{})
			})
			err := c.call(cl)
			if c.repeat && (err != nil || calls.Load() != 2) {
				t.Errorf("%d calls, %v", calls.Load(), err)
			}
			if !c.repeat && (!IsUnavailable(err) || calls.Load() != 1) {
				t.Errorf("%d calls, %v", calls.Load(), err)
			}
			if c.name == "submit" && (keys[0] == "" || keys[0] != keys[1]) {
				t.Errorf("keys %q", keys)
			}
		})
	}
}

func TestPatienceEnds(t *testing.T) {
	c, calls := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "<html>bad gateway", http.StatusBadGateway)
	})
	began := time.Now()
	_, err := c.Jobs().Get(t.Context(), 1)
	if !IsUnavailable(err) || RetryAfter(err) != time.Minute || calls.Load() != 1 || time.Since(began) > 4*time.Second {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	if !IsCode(err, "http_502") || !strings.Contains(err.Error(), "bad gateway") {
		t.Error(err)
	}
}

func TestContextEndsTheWait(t *testing.T) {
	c, _ := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		refuse(w, wire.Problem{Title: "x", Status: 503, Code: "stopping", RetryAfterS: 4})
	}, func(c *Config) { c.Patience = time.Hour })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.Jobs().Get(ctx, 1); err == nil || time.Since(began) > 3*time.Second {
		t.Error(err, time.Since(began))
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	c, err := New(Config{URL: url, Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Tasks().Retry(t.Context(), 1, nil)
	var away *Unreachable
	if !errors.As(err, &away) || !IsUnavailable(err) || !neverSent(err) || !strings.Contains(err.Error(), url) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Jobs().Get(ctx, 1); !errors.Is(err, context.Canceled) || IsUnavailable(err) {
		t.Error(err)
	}
}

// A call that the daemon sits on is given up after Timeout; a long poll gets its wait on top.
func TestTimeouts(t *testing.T) {
	c, _ := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(700 * time.Millisecond):
		case <-r.Context().Done():
		}
		answer(w, 200, wire.PullReply{Leases: []wire.Lease{{Lease: "L"}}})
	}, func(c *Config) { c.Timeout, c.Patience = 300*time.Millisecond, -1 })
	if _, err := c.Jobs().Get(t.Context(), 1); !IsUnavailable(err) {
		t.Error(err)
	}
	if _, err := c.Pull(t.Context(), wire.PullRequest{WaitS: 2}); err != nil {
		t.Error(err)
	}
}

func TestAllPages(t *testing.T) {
	c, calls := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		next := map[string]string{"": "2", "2": "4", "4": ""}[r.URL.Query().Get("after")]
		answer(w, 200, wire.Page[wire.JobRow]{Items: []wire.JobRow{{ID: 1}, {ID: 2}}, Next: next})
	})
	n := 0
	for job, err := range c.Jobs().All(t.Context(), JobFilter{Task: 3}) {
		if err != nil || job.ID == 0 {
			t.Fatal(err)
		}
		n++
	}
	if n != 6 || calls.Load() != 3 {
		t.Errorf("%d jobs in %d calls", n, calls.Load())
	}
	for range c.Jobs().All(t.Context(), JobFilter{}) {
		break
	}
	if calls.Load() != 4 {
		t.Errorf("pages are read ahead: %d calls", calls.Load())
	}
}

func TestApplyParameters(t *testing.T) {
	c, _ := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := fmt.Sprint(r.Method, " ", r.URL.RequestURI(), " ", r.Header.Get("Content-Type"), " ", string(body))
		if want := "PUT /v1/site?by=me&dry_run=true&file=s.yml&move=A%2Fx%3DB&move=C%3DD&note=why text/yaml shares:"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		answer(w, 200, wire.Applied{Version: 4})
	})
	got, err := c.Site().Apply(t.Context(), []byte("shares:"), ApplyOptions{File: "s.yml", DryRun: true, Note: "why", By: "me", Moves: map[string]string{"C": "D", "A/x": "B"}})
	if err != nil || got.Version != 4 {
		t.Error(got, err)
	}
}
