package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// two are a daemon that names another one, and that one: what came to each.
type two struct {
	*Client
	t      *testing.T
	leader *httptest.Server
	came   chan string
}

func newTwo(t *testing.T, lead http.HandlerFunc, change ...func(*Config)) *two {
	w := &two{t: t, came: make(chan string, 1000)}
	w.leader = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.came <- "leader " + r.URL.Path + " " + r.Header.Get("Authorization")
		} else if r.Header.Get("Authorization") != "" {
			t.Error("a token for somebody who is not known yet")
		}
		rw.Header().Set(headerID, r.Header.Get(headerID))
		lead(rw, r)
	}))
	t.Cleanup(w.leader.Close)
	w.Client, _ = daemon(t, func(rw http.ResponseWriter, r *http.Request) {
		w.came <- "follower " + r.URL.Path + " " + r.Header.Get("Authorization")
		rw.Header().Set(headerLeader, w.leader.URL)
		answer(rw, 200, wire.RenewReply{})
	}, change...)
	return w
}

func (w *two) renew() (at string, err error) {
	_, err = w.Renew(w.t.Context(), wire.RenewRequest{Pilot: "p"})
	return <-w.came, err
}

// settled waits until no daemon is asked whether it is there.
func (w *two) settled() (url string) {
	for until := time.Now().Add(10 * time.Second); ; {
		l := &w.Client.leader
		l.mu.Lock()
		url, asks := l.url, l.meeting != nil
		l.mu.Unlock()
		if !asks {
			return url
		}
		if time.Now().After(until) {
			w.t.Fatal("a daemon is asked for ever")
		}
		<-time.After(time.Millisecond)
	}
}

func (w *two) goesTo(want string) {
	w.t.Helper()
	if at, err := w.renew(); !strings.HasPrefix(at, want+" ") || err != nil {
		w.t.Errorf("%s, %v, want it at the %s", at, err, want)
	}
	w.settled()
}

func well(w http.ResponseWriter, _ *http.Request) { answer(w, 200, wire.RenewReply{}) }

// Pilots' calls go to the daemon that an answer names once it has answered; other calls stay, and so do all of a client that is to stay.
func TestLeader(t *testing.T) {
	w := newTwo(t, well)
	w.goesTo("follower")
	if at, err := w.renew(); at != "leader /v1/leases/renew Bearer secret" || err != nil {
		t.Error(at, err)
	}
	if _, err := w.Daemon().Status(t.Context()); err != nil || <-w.came != "follower /v1/status Bearer secret" {
		t.Error("a call that is not a pilot's went to the leader, or failed:", err)
	}
	stays := newTwo(t, well, func(c *Config) { c.Stay = true })
	for range 3 {
		stays.goesTo("follower")
	}
	closed := newTwo(t, well)
	closed.Close()
	if closed.goesTo("follower"); closed.leader.URL == closed.settled() {
		t.Error("a client that is closed asks daemons whether they are there")
	}
}

// Who is no daemon of ours gets no token.
func TestLeaderIsOurs(t *testing.T) {
	for name, lead := range map[string]http.HandlerFunc{
		"another service": func(w http.ResponseWriter, r *http.Request) { w.Header().Del(headerID); well(w, r) },
		"ill":             func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
			} else {
				well(w, r)
			}
		},
	} {
		w := newTwo(t, lead)
		w.goesTo("follower")
		if at, err := w.renew(); err != nil || !strings.HasPrefix(at, "follower") && !strings.HasPrefix(at, "leader /elsewhere ") || w.settled() != "" {
			t.Errorf("%s: %s, %v", name, at, err)
		}
	}
	for _, c := range []struct {
		at, other string
		may       bool
	}{
		{"http://a:1", "http://b:1", true}, {"http://a:1", "https://b:1", true}, {"https://a:1", "https://b:1", true}, {"https://a:1", "http://b:1", false},
		{"http://a:1", "http://127.0.0.1:1", false}, {"http://localhost:1", "http://[::1]:2", true}, {"http://127.0.0.1:1", "http://b:1", false},
		{"http://a:1", "ftp://b:1", false}, {"http://a:1", "", false}, {"http://a:1", "://", false},
	} {
		if mayFollow(c.at, c.other) != c.may {
			t.Errorf("from %s to %s: %v", c.at, c.other, !c.may)
		}
	}
}

// Calls go back when the leader refuses whom the other daemon knows, and stay where it says that it cannot serve now.
func TestLeaderRefuses(t *testing.T) {
	for _, c := range []struct {
		problem wire.Problem
		after   string
	}{{wire.Problem{Title: "t", Status: 401, Code: "unauthorized"}, "follower"}, {wire.Problem{Status: 404}, "follower"}, {wire.Problem{Title: "t", Status: 503, Code: "unavailable"}, "leader"}} {
		w := newTwo(t, func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				well(rw, r)
			} else {
				refuse(rw, c.problem)
			}
		}, func(c *Config) { c.Patience = -1 })
		w.goesTo("follower")
		at, err := w.renew()
		if stranger := c.after == "follower"; stranger != (err == nil) || !strings.HasPrefix(at, "leader") || stranger && !strings.HasPrefix(<-w.came, "follower") {
			t.Errorf("%+v: %s, %v", c.problem, at, err)
		}
		if at, _ := w.renew(); !strings.HasPrefix(at, c.after) {
			t.Errorf("after %+v: %s", c.problem, at)
		}
	}
}

// One that stands still is left with all calls that wait there, also when it is the caller who did not wait longer.
func TestLeaderStandsStill(t *testing.T) {
	hangs := make(chan struct{})
	w := newTwo(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			<-hangs
		}
		well(rw, r)
	})
	t.Cleanup(func() { close(hangs) })
	w.goesTo("follower")
	pulled := make(chan error, 1)
	go func() {
		_, err := w.Pull(t.Context(), wire.PullRequest{Pilot: "p", RequestID: "r", WaitS: 3600})
		pulled <- err
	}()
	if at := <-w.came; !strings.HasPrefix(at, "leader /v1/pulls") {
		t.Fatal(at)
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := w.Renew(soon, wire.RenewRequest{Pilot: "p"}); !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(<-w.came, "leader") {
		t.Error(err)
	}
	if err := <-pulled; err != nil || !strings.HasPrefix(<-w.came, "follower /v1/pulls") {
		t.Errorf("the pull that waited: %v", err)
	}
	w.goesTo("follower")
	w.goesTo("follower")
	l := &w.Client.leader
	if first := time.Until(l.silent[w.leader.URL].until); first > firstAlone || first < firstAlone/2 {
		t.Errorf("it is left alone for %s", first)
	}
	l.silent[w.leader.URL] = silence{time.Now(), 2 * firstAlone}
	if l.lost(w.leader.URL); time.Until(l.silent[w.leader.URL].until) < 3*firstAlone/2 {
		t.Error("it is not left alone for longer the second time")
	}
	if _, at, err := w.onceThere(t.Context(), call{method: "GET", path: "/v1/leases/renew", hot: true, repeat: true}, nil, ""); at != w.URL() || err != nil {
		t.Error(at, err)
	}
}

// ended is a context whose time is over when done is closed.
type ended struct {
	context.Context
	done chan struct{}
}

func (e ended) Done() <-chan struct{} { return e.done }

func (e ended) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// late is a transport that leaves the leader during a call, and lets the caller's time end before it returns.
type late struct {
	http.RoundTripper
	client *Client
	caller ended
}

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.URL.Host == mustHost(l.client.URL()) {
		return l.RoundTripper.RoundTrip(r)
	}
	l.client.leader.lost(r.URL.Scheme + "://" + r.URL.Host)
	<-r.Context().Done()
	close(l.caller.done)
	return nil, r.Context().Err()
}

func mustHost(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		panic(err)
	}
	return u.Host
}

// A call that was left with the leader and then ran out of its caller's time reports the deadline: nobody cancelled it.
func TestLeaderLeftTooLate(t *testing.T) {
	by := &late{RoundTripper: http.DefaultTransport, caller: ended{t.Context(), make(chan struct{})}}
	w := newTwo(t, well, func(c *Config) { c.HTTPClient = &http.Client{Transport: by} })
	by.client = w.Client
	w.goesTo("follower")
	if _, err := w.Renew(by.caller, wire.RenewRequest{Pilot: "p"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the caller's own deadline", err)
	}
}
