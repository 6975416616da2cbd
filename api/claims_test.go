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
	b.dispatcher.err = fmt.Errorf("%w: 7", dispatcher.ErrNoClaim)
	if p := b.problem(b.call("GET", "/v1/resource-claims/7", ""), 404); p.Code != "no_claim" {
		t.Errorf("%+v", p)
	}
}
