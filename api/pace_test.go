package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/access"
)

// atRates is a bench with tokens a and b of each role and these rates, whose clock stands until it is moved.
func atRates(t *testing.T, r Rates) (*bench, *time.Time) {
	var fixed []access.Fixed
	for i, name := range []string{"a", "b"} {
		for j, role := range access.Roles() {
			fixed = append(fixed, access.Fixed{Hash: access.HashOf(name + tokenOf(role)),
				Caller: &access.Caller{ID: int64(10*i + j + 1), Name: name + "-" + string(role), Role: role, Subject: callers[role]}})
		}
	}
	b := newBench(t, func(c *Config) { c.Rates, c.Book, c.Closed = r, access.NewBook(nil, fixed...), true })
	now := time.Unix(1e9, 0)
	b.server.paces.now = func() time.Time { return now }
	return b, &now
}

// mustBeTooFast wants a 429 that says when to come again.
func (b *bench) mustBeTooFast(method, path, body, token string) {
	b.t.Helper()
	w := b.call(method, path, body, "Authorization", "Bearer "+token, "Accept", "application/json")
	p := b.problem(w, http.StatusTooManyRequests)
	if after, err := strconv.Atoi(w.Header().Get("Retry-After")); p.Code != "too_fast" || err != nil || after < 1 || after > 2 {
		b.t.Errorf("%s, Retry-After %q: want too_fast, to be repeated in 1 to 2 s", w.Body, w.Header().Get("Retry-After"))
	}
}

func (b *bench) mustBeServed(n int, method, path, body, token string) {
	b.t.Helper()
	for i := range n {
		if w := b.call(method, path, body, "Authorization", "Bearer "+token, "Accept", "application/json"); w.Code != http.StatusOK {
			b.t.Fatalf("%s %s no. %d: %d %s", method, path, i+1, w.Code, w.Body)
		}
	}
}

// A token has ten seconds' worth at once and then its rate, for itself; the page and its JSON count too.
func TestRequestsOfOneToken(t *testing.T) {
	b, now := atRates(t, Rates{Requests: 3})
	reader := tokenOf(access.Reader)
	b.mustBeServed(29, "GET", "/v1/status", "", "a"+reader)
	b.mustBeServed(1, "GET", "/queues", "", "a"+reader)
	b.mustBeTooFast("GET", "/v1/status", "", "a"+reader)
	b.mustBeTooFast("GET", "/queues", "", "a"+reader)
	b.mustBeServed(1, "GET", "/v1/status", "", "b"+reader)
	*now = now.Add(time.Second)
	b.mustBeServed(3, "GET", "/v1/status", "", "a"+reader)
	b.mustBeTooFast("GET", "/v1/status", "", "a"+reader)
	for range 3 { // what is refused costs nothing of the next second
		b.mustBeTooFast("GET", "/v1/status", "", "a"+reader)
	}
	*now = now.Add(time.Second)
	b.mustBeServed(3, "GET", "/v1/status", "", "a"+reader)
	metrics := b.call("GET", "/metrics", "", "Authorization", "Bearer b"+reader).Body.String()
	if !strings.Contains(metrics, `divvy_requests_limited_total{of="requests"} 6`) || strings.Contains(metrics, "a-reader") {
		t.Errorf("refusals are not counted, or the token is named:\n%s", metrics)
	}
}

// Pulls have a rate of their own; renewals and ends have none, whatever the token has asked for.
func TestRenewalsAndEndsHaveNoRate(t *testing.T) {
	b, _ := atRates(t, Rates{Pulls: 1, Requests: 1})
	pilot := "a" + tokenOf(access.Pilot)
	b.mustBeServed(burstOf, "POST", pathPulls, `{"queue":"CERN","pilot":"p"}`, pilot)
	b.mustBeTooFast("POST", pathPulls, `{"queue":"CERN","pilot":"p"}`, pilot)
	b.mustBeServed(burstOf, "GET", "/v1/status", "", pilot)
	b.mustBeTooFast("GET", "/v1/status", "", pilot)
	b.mustBeServed(5*burstOf, "POST", pathRenew, `{"pilot":"p","leases":[{"lease":"L","state":"running"}]}`, pilot)
	b.mustBeServed(5*burstOf, "POST", pathFinish, fullResults, pilot)
	w := b.call("GET", "/metrics", "", "Authorization", "Bearer b"+tokenOf(access.Reader))
	if !strings.Contains(w.Body.String(), `divvy_requests_limited_total{of="pulls"} 1`) {
		t.Errorf("no pull is counted:\n%s", w.Body)
	}
}

// Neither a rate of 0 nor a daemon that asks for no token bounds anything.
func TestNoRate(t *testing.T) {
	b, _ := atRates(t, Rates{})
	b.mustBeServed(100, "GET", "/v1/status", "", "a"+tokenOf(access.Reader))
	open := newBench(t, func(c *Config) { c.Rates = Rates{Pulls: 1, Requests: 1} })
	for range 2 * burstOf {
		if w := open.call("GET", "/v1/status", ""); w.Code != http.StatusOK {
			t.Fatalf("without a token: %d %s", w.Code, w.Body)
		}
	}
}

// Callers that have been quiet are forgotten, those that are not are not.
func TestPacesAreForgotten(t *testing.T) {
	now := time.Unix(1e9, 0)
	p := newPaces(Rates{Requests: 1})
	p.now = func() time.Time { return now }
	need := rightOf("GET", "/v1/status")
	for i := range mostPaces {
		if err := p.admit(&access.Caller{From: fmt.Sprint("sub ", i)}, need); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(idlePace)
	busy := &access.Caller{From: "sub 7"}
	for range burstOf {
		if err := p.admit(busy, need); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Millisecond)
	if err := p.admit(&access.Caller{ID: 1}, need); err != nil || len(p.all) != 2 {
		t.Errorf("%v, %d callers are kept, want 2", err, len(p.all))
	}
	if err := p.admit(busy, need); err == nil {
		t.Error("the busy one was forgotten: it has its burst again")
	}
}
