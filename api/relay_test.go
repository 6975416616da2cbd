package api

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/relay"
)

// A pull that waited here and is then handed on waits there for what is left of its time only.
func TestHandedOnAfterWaiting(t *testing.T) {
	done := make(chan struct{})
	there := newBench(t, func(c *Config) {
		c.Relay = &Relay{Secret: "s", SecretOf: secretOf, Lead: func() *relay.Conn { return nil }, Done: done}
	})
	conn, err := relay.Dial(t.Context(), relay.Callee{Address: serve(t, there, time.Minute).Listener.Addr().String(), Secret: "s"}, relay.Caller{ID: 1, Secret: "c"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer close(done)

	var decides atomic.Pointer[relay.Conn] // nil: the daemon here
	here := newBench(t, func(c *Config) { c.Relay = &Relay{Lead: decides.Load} })
	var waited time.Duration
	here.dispatcher.pull = func(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error) {
		began := time.Now()
		<-time.After(20 * time.Millisecond)
		decides.Store(conn)
		waited = time.Since(began)
		return dispatcher.PullReply{}, dispatcher.ErrHandOn
	}
	there.dispatcher.pull = func(context.Context, dispatcher.PullRequest) (dispatcher.PullReply, error) {
		return dispatcher.PullReply{Leases: []dispatcher.Lease{{Lease: "L"}}}, nil
	}
	w := here.call("POST", "/v1/pulls", `{"queue":"CERN","pilot":"p","wait_s":5,"request_id":"r","slot":{"cores":3}}`)
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	got := there.dispatcher.pulled
	if left := 5 - waited.Seconds(); got.WaitS > left || got.WaitS < left-2 {
		t.Errorf("waits %v s there, %v were left", got.WaitS, left)
	}
	if got.RequestID != "r" || got.Queue != "CERN" || got.Slot.Cores != 3 {
		t.Errorf("another request: %+v", got)
	}
}

// How resources stand is asked of the daemon that decides: only it knows whose jobs its pilots could run.
func TestResourcesOfTheDaemonThatDecides(t *testing.T) {
	done := make(chan struct{})
	there := newBench(t, func(c *Config) {
		c.Relay = &Relay{Secret: "s", SecretOf: secretOf, Lead: func() *relay.Conn { return nil }, Done: done}
	})
	conn, err := relay.Dial(t.Context(), relay.Callee{Address: serve(t, there, time.Minute).Listener.Addr().String(), Secret: "s"}, relay.Caller{ID: 1, Secret: "c"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer close(done)
	here := newBench(t, func(c *Config) { c.Relay = &Relay{Lead: func() *relay.Conn { return conn }} })
	there.dispatcher.resources = []dispatcher.ResourceStanding{{Name: "maya", Held: 3}}
	here.dispatcher.resources = []dispatcher.ResourceStanding{{Name: "maya", Held: 2}}
	held := func(want string) {
		t.Helper()
		if w := here.call("GET", "/v1/resources/maya", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d %s, want %s", w.Code, w.Body, want)
		}
	}
	held(`"held":3`)
	if there.dispatcher.asked != "maya" || here.dispatcher.asked != "" {
		t.Errorf("there %q was asked for, here %q", there.dispatcher.asked, here.dispatcher.asked)
	}
	there.dispatcher.err = dispatcher.ErrUnknownResource // it has not heard of the new site yet
	held(`"held":2`)
}

// What was decided of late, and who holds queues, only the daemon that decides knows: its page and any other's say the same.
func TestPagesOfTheDaemonThatDecides(t *testing.T) {
	done := make(chan struct{})
	there := newBench(t, func(c *Config) {
		c.Relay = &Relay{Secret: "s", SecretOf: secretOf, Lead: func() *relay.Conn { return nil }, Done: done}
	})
	conn, err := relay.Dial(t.Context(), relay.Callee{Address: serve(t, there, time.Minute).Listener.Addr().String(), Secret: "s"}, relay.Caller{ID: 1, Secret: "c"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	defer close(done)
	here := newBench(t, func(c *Config) { c.Relay = &Relay{Lead: func() *relay.Conn { return conn }} })
	there.dispatcher.decided = []dispatcher.Decided{{N: 9, Job: 4711, Queue: "CERN", Share: "A"}}
	there.dispatcher.lately = []dispatcher.QueueLately{{Queue: "CERN", Pulls: 1234, Held: []dispatcher.QueueHeld{{Share: "A", Cores: 77}}}}
	for path, want := range map[string]string{"/decisions?format=json": `"job":4711`, "/queues?format=json": `"pulls":1234`, "/queues/CERN?format=json": `"cores":77`} {
		if w := here.call("GET", path, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}

// secretOf is that of every daemon.
func secretOf(context.Context, int64) (string, error) { return "c", nil }
