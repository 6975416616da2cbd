package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/site"
)

func TestResourceRoutes(t *testing.T) {
	b := newBench(t)
	if w := b.call("GET", "/v1/resources", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"items":[]`) {
		t.Errorf("no resource: %d %s", w.Code, w.Body)
	}
	b.dispatcher.resources = []dispatcher.ResourceStanding{{Name: "table:orders", Capacity: 4, Held: 3, SplitBy: "user",
		IDs: []dispatcher.ResourceID{{Allowance: resource.Allowance{ID: "alice", Weight: 1, Held: 3, Wanted: 9, Allowance: 3}, Why: resource.OverItsPart, KeptFor: []string{"bob"}}}}}
	w := b.call("GET", "/v1/resources/table:orders", "")
	if w.Code != 200 || b.dispatcher.asked != "table:orders" ||
		!strings.Contains(w.Body.String(), `{"id":"alice","weight":1,"held":3,"wanted":9,"allowance":3,"waited":0,"why":"allowance","kept_for":["bob"]}`) {
		t.Errorf("%d %q %s", w.Code, b.dispatcher.asked, w.Body)
	}
	if w := b.call("POST", "/v1/resources/table:orders/external?queue=CERN", `{"total":100,"used":30}`); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if d := cmp.Diff([]any{"table:orders", "CERN", int64(100), int64(30)}, b.dispatcher.external); d != "" {
		t.Error(d)
	}
}

func TestResourceCapacityRoutes(t *testing.T) {
	b := newBench(t)
	six := int64(6)
	for _, c := range []struct {
		method, path, body string
		want               site.SetCapacity
		answer             string
	}{
		{"PUT", "/v1/resources/CERN/capacity?by=ann", `{"capacity":6}`, site.SetCapacity{Resource: "CERN", Capacity: &six, By: "ann"},
			`{"name":"CERN","capacity":4,"file_capacity":4,"set":true}`},
		{"PUT", "/v1/resources/table:orders/capacity?queue=BNL", `{"capacity":6}`, site.SetCapacity{Resource: "table:orders", Queue: "BNL", Capacity: &six, By: "api"},
			`{"name":"table:orders","queue":"BNL","capacity":8,"file_capacity":8,"set":true}`},
		{"DELETE", "/v1/resources/table/capacity", "", site.SetCapacity{Resource: "table", By: "api"},
			`{"name":"table","capacity":8,"file_capacity":8,"set":false}`},
	} {
		w := b.call(c.method, c.path, c.body)
		if d := cmp.Diff(c.want, b.site.set); w.Code != 200 || d != "" || strings.TrimSpace(w.Body.String()) != c.answer {
			t.Errorf("%s %s: %d %s %s", c.method, c.path, w.Code, w.Body, d)
		}
	}
}

func TestResourceErrors(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		err        error
		call, body string
		status     int
		code, hint string
	}{
		{fmt.Errorf("%w: %q", dispatcher.ErrUnknownResource, "maya"), "GET /v1/resources/maya", "", 404, "unknown_resource", "the site has CERN, table:<key>"},
		{fmt.Errorf("%w: %q", site.ErrUnknownResource, "maya"), "PUT /v1/resources/maya/capacity", `{"capacity":1}`, 404, "unknown_resource", ""},
		{fmt.Errorf("%w: maya is not per queue", site.ErrCapacity), "PUT /v1/resources/maya/capacity", `{"capacity":1}`, 422, "invalid", ""},
		{fmt.Errorf("%w: %q", site.ErrUnknownQueue, "x"), "DELETE /v1/resources/maya/capacity?queue=x", "", 404, "unknown_queue", "the site has BNL, CERN"},
		{nil, "PUT /v1/resources/maya/capacity", `{"capacity":-1}`, 422, "invalid", ""},
		{nil, "PUT /v1/resources/maya/capacity", `{}`, 422, "invalid", ""},
		{nil, "POST /v1/resources/maya/external", `{"total":1}`, 422, "invalid", ""},
		{nil, "POST /v1/resources/maya/external", `{"total":1,"used":2.5}`, 422, "invalid", ""},
	} {
		b.site.err, b.dispatcher.err = nil, c.err
		if c.err != nil && !strings.HasPrefix(c.call, "GET") {
			b.site.err = c.err
		}
		method, path, _ := strings.Cut(c.call, " ")
		if p := b.problem(b.call(method, path, c.body), c.status); p.Code != c.code || c.hint != "" && p.Hint != c.hint {
			t.Errorf("%s %s: %+v", c.call, c.body, p)
		}
	}
}
