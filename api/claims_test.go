package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
)

func TestClaimRoutes(t *testing.T) {
	b := newBench(t)
	b.dispatcher.claims = []dispatcher.ClaimStanding{{ID: 7, Key: "0/gpu", State: "bound"}, {ID: 9, Key: "1/gpu", State: "bound"}}
	w := b.call("GET", "/v1/resource-claims?task=3&state=bound&node=n1&resource=table:orders&after=5&limit=2", "")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"next":"9"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	want := dispatcher.ClaimFilter{Task: 3, State: "bound", Node: "n1", Resource: "table:orders", After: 5, Limit: 2}
	if d := cmp.Diff(want, b.dispatcher.claimFilter); d != "" {
		t.Error(d)
	}
	if w := b.call("GET", "/v1/resource-claims/7", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"id":7,"key":"0/gpu","state":"pending"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for path, field := range map[string]string{"?state=over": "query.state", "?task=0": "query.task", "?after=x": "query.after", "/x": "path.id"} {
		if p := b.problem(b.call("GET", "/v1/resource-claims"+path, ""), 422); len(p.Errors) != 1 || p.Errors[0].Location != field {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if w := b.call("POST", "/v1/resource-claims", `{"name":"disk","queue":"CERN","node":"n1","devices":["gpu:0"]}`); w.Code != 201 ||
		!strings.Contains(w.Body.String(), `"key":"disk","state":"bound"`) {
		t.Errorf("create: %d %s", w.Code, w.Body)
	}
	for body, at := range map[string]string{`{}`: "body", `{"name":"x","queue":"q","node":"n","max_sharers":-1}`: "body.max_sharers",
		`{"name":"x","queue":"q","node":"n","device":"gpu:0"}`: "body.device"} {
		if p := b.problem(b.call("POST", "/v1/resource-claims", body), 422); len(p.Errors) == 0 || p.Errors[0].Location != at {
			t.Errorf("%s: %v", body, p)
		}
	}
	for query, state := range map[string]string{"?name=disk": "released", "?name=disk&force=true": "draining"} {
		if w := b.call("DELETE", "/v1/resource-claims"+query, ""); w.Code != 200 || !strings.Contains(w.Body.String(), state) {
			t.Errorf("delete: %d %s", w.Code, w.Body)
		}
	}
	if p := b.problem(b.call("DELETE", "/v1/resource-claims", ""), 422); len(p.Errors) == 0 || p.Errors[0].Location != "query.name" {
		t.Error(p)
	}
	for code, err := range map[string]error{"claim_exists": dispatcher.ErrClaimExists, "claim_held": dispatcher.ErrClaimHeld, "device_taken": dispatcher.ErrDeviceTaken} {
		b.dispatcher.err = fmt.Errorf("%w: x", err)
		if p := b.problem(b.call("DELETE", "/v1/resource-claims?name=disk", ""), 409); p.Code != code {
			t.Errorf("%v: %v", err, p)
		}
	}
	b.dispatcher.err = fmt.Errorf("%w: 7", dispatcher.ErrNoClaim)
	if p := b.problem(b.call("GET", "/v1/resource-claims/7", ""), 404); p.Code != "no_claim" {
		t.Errorf("%+v", p)
	}
}
