package client

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Pilots' calls go to the daemon that an answer names once it has answered, and back when it does not; other calls stay, and so do all of a
// client that is to stay.
func TestLeader(t *testing.T) {
	came := make(chan string, 100)
	hangs := make(chan struct{})
	silent := make(chan struct{})
	leader := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
			<-hangs
		default:
		}
		if r.URL.Path != "/healthz" {
			came <- "leader " + r.URL.Path + " " + r.Header.Get("Authorization")
		} else if r.Header.Get("Authorization") != "" {
			t.Error("a token for somebody who is not known yet")
		}
		answer(w, 200, RenewReply{})
	}))
	t.Cleanup(leader.Close)
	follower := func(w http.ResponseWriter, r *http.Request) {
		came <- "follower " + r.URL.Path + " " + r.Header.Get("Authorization")
		w.Header().Set(headerLeader, leader.URL)
		answer(w, 200, RenewReply{})
	}
	c, _ := daemon(t, follower, func(c *Config) { c.Timeout = time.Second })
	renew := func(c *Client) string {
		if _, err := c.Renew(t.Context(), RenewRequest{Pilot: "p"}); err != nil {
			t.Fatal(err)
		}
		return <-came
	}
	if got, want := renew(c), "follower /v1/leases/renew Bearer secret"; got != want {
		t.Errorf("the first call: %s", got)
	}
	for until := time.Now().Add(10 * time.Second); renew(c) != "leader /v1/leases/renew Bearer secret"; {
		if time.Now().After(until) {
			t.Fatal("no call goes to the leader")
		}
	}
	if _, err := c.Status(t.Context()); err != nil || <-came != "follower /v1/status Bearer secret" {
		t.Error("a call that is not a pilot's went to the leader, or failed:", err)
	}
	stays, _ := daemon(t, follower, func(c *Config) { c.Stay = true })
	for range 3 {
		if got := renew(stays); !strings.HasPrefix(got, "follower") {
			t.Errorf("of one that stays: %s", got)
		}
	}

	close(silent) // it stands still: the call is made again where it was made before
	for range 2 {
		if got := renew(c); !strings.HasPrefix(got, "follower") {
			t.Errorf("the leader is silent: %s", got)
		}
	}
	if c.leader.url != "" || time.Since(c.leader.silent[leader.URL]) > leaveAlone {
		t.Errorf("it is not left alone: %q, %v", c.leader.url, c.leader.silent)
	}
	close(hangs)
}

// From TLS nobody is led to where there is none.
func TestLeaderWithoutTLS(t *testing.T) {
	var l leader
	l.meet(nil, "https://a:1", "http://b:1")
	if l.meeting != nil {
		t.Error("it was asked")
	}
}
