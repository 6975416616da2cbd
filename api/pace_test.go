package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/internal/access"
)

// atRates is a bench with tokens a and b of each role and these rates.
func atRates(t *testing.T, r edge.Rates) *bench {
	var fixed []access.Fixed
	for i, name := range []string{"a", "b"} {
		for j, role := range access.Roles() {
			fixed = append(fixed, access.Fixed{Hash: access.HashOf(name + tokenOf(role)),
				Caller: &access.Caller{ID: int64(10*i + j + 1), Name: name + "-" + string(role), Role: role, Subject: callers[role]}})
		}
	}
	return newBench(t, func(c *Config) { c.Rates, c.Book, c.Closed = r, access.NewBook(nil, fixed...), true })
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
func TestRequestsOfOneToken(t *testing.T) { synctest.Test(t, requestsOfOneToken) }

func requestsOfOneToken(t *testing.T) {
	b := atRates(t, edge.Rates{Requests: 3})
	reader := tokenOf(access.Reader)
	b.mustBeServed(29, "GET", "/v1/status", "", "a"+reader)
	b.mustBeServed(1, "GET", "/queues", "", "a"+reader)
	b.mustBeTooFast("GET", "/v1/status", "", "a"+reader)
	b.mustBeTooFast("GET", "/queues", "", "a"+reader)
	b.mustBeServed(1, "GET", "/v1/status", "", "b"+reader)
	time.Sleep(time.Second)
	b.mustBeServed(3, "GET", "/v1/status", "", "a"+reader)
	b.mustBeTooFast("GET", "/v1/status", "", "a"+reader)
	for range 3 { // what is refused costs nothing of the next second
		b.mustBeTooFast("GET", "/v1/status", "", "a"+reader)
	}
	time.Sleep(time.Second)
	b.mustBeServed(3, "GET", "/v1/status", "", "a"+reader)
	metrics := b.call("GET", "/metrics", "", "Authorization", "Bearer b"+reader).Body.String()
	if !strings.Contains(metrics, `divvy_requests_limited_total{of="requests"} 6`) || strings.Contains(metrics, "a-reader") {
		t.Errorf("refusals are not counted, or the token is named:\n%s", metrics)
	}
}

// Pulls have a rate of their own; renewals and ends have none, whatever the token has asked for.
func TestRenewalsAndEndsHaveNoRate(t *testing.T) { synctest.Test(t, renewalsAndEndsHaveNoRate) }

func renewalsAndEndsHaveNoRate(t *testing.T) {
	b := atRates(t, edge.Rates{Pulls: 1, Requests: 1})
	pilot := "a" + tokenOf(access.Pilot)
	b.mustBeServed(edge.BurstOf, "POST", edge.PathPulls, `{"queue":"CERN","pilot":"p"}`, pilot)
	b.mustBeTooFast("POST", edge.PathPulls, `{"queue":"CERN","pilot":"p"}`, pilot)
	b.mustBeServed(edge.BurstOf, "GET", "/v1/status", "", pilot)
	b.mustBeTooFast("GET", "/v1/status", "", pilot)
	b.mustBeServed(5*edge.BurstOf, "POST", edge.PathRenew, `{"pilot":"p","leases":[{"lease":"L","state":"running"}]}`, pilot)
	b.mustBeServed(5*edge.BurstOf, "POST", edge.PathFinish, fullResults, pilot)
	w := b.call("GET", "/metrics", "", "Authorization", "Bearer b"+tokenOf(access.Reader))
	if !strings.Contains(w.Body.String(), `divvy_requests_limited_total{of="pulls"} 1`) {
		t.Errorf("no pull is counted:\n%s", w.Body)
	}
}

// Neither a rate of 0 nor a daemon that asks for no token bounds anything.
func TestNoRate(t *testing.T) {
	b := atRates(t, edge.Rates{})
	b.mustBeServed(100, "GET", "/v1/status", "", "a"+tokenOf(access.Reader))
	open := newBench(t, func(c *Config) { c.Rates = edge.Rates{Pulls: 1, Requests: 1} })
	for range 2 * edge.BurstOf {
		if w := open.call("GET", "/v1/status", ""); w.Code != http.StatusOK {
			t.Fatalf("without a token: %d %s", w.Code, w.Body)
		}
	}
}
