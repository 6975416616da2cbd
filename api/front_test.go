package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/pilots"
)

// The routes that do not go through the router are counted like all others, guarded like all others, and are only
// those paths.
func TestFront(t *testing.T) {
	reg := prometheus.NewRegistry()
	b := newBench(t, func(c *Config) { c.Registry = reg })
	if strings.Contains(b.call("GET", "/metrics", "").Body.String(), "/v1/pulls") {
		t.Error("pulls are counted before there are any")
	}
	b.call("POST", "/v1/pulls", goodPull)
	b.call("POST", "/v1/pulls", goodPull)
	b.call("POST", "/v1/pulls", "{")
	b.call("POST", "/v1/leases/renew", fullLeases)
	b.call("POST", "/v1/leases/finish", fullResults)
	text := b.call("GET", "/metrics", "").Body.String()
	for _, want := range []string{
		`divvy_http_requests_total{method="POST",route="/v1/pulls",status="2xx"} 2`,
		`divvy_http_requests_total{method="POST",route="/v1/pulls",status="4xx"} 1`,
		`divvy_http_requests_total{method="POST",route="/v1/leases/renew",status="2xx"} 1`,
		`divvy_http_requests_total{method="POST",route="/v1/leases/finish",status="2xx"} 1`,
		`divvy_http_request_duration_seconds_count{method="POST",route="/v1/pulls"} 3`,
		`divvy_http_requests_in_flight 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, path := range []string{"/v1/pulls/", "/v1//pulls", "/v1%2Fpulls", "/V1/pulls"} {
		if w := b.call("POST", path, goodPull); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := b.call("POST", "/v1/pulls?x=1", goodPull); w.Code != 200 {
		t.Error(w.Code)
	}
	b = newBench(t, func(c *Config) { c.Closed = true })
	for path, body := range map[string]string{"/v1/pulls": goodPull, "/v1/leases/renew": fullLeases, "/v1/leases/finish": fullResults} {
		b.problem(b.call("POST", path, body), 401)
	}
	if b.dispatcher.pulled.Queue != "" || b.dispatcher.renewed.Pilot != "" || b.dispatcher.ended.Pilot != "" {
		t.Error("served without a token")
	}
}

// A body of unknown length is bounded too, and read by hand.
func TestChunkedPull(t *testing.T) {
	b := newBench(t)
	for body, status := range map[string]int{goodPull: 200, `{"queue":"` + strings.Repeat("x", pilots.MaxPull) + `"}`: 413} {
		ts := serve(t, b, edge.Slack)
		resp, err := http.Post(ts.URL+"/v1/pulls", "application/json", struct{ *strings.Reader }{strings.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("%d bytes: %s", len(body), resp.Status)
		}
	}
}
