package client

import (
	"net/http"
	"slices"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
)

func TestClaims(t *testing.T) {
	var got []string
	c, _ := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.RequestURI())
		if r.URL.Path == "/v1/resource-claims" {
			answer(w, 200, wire.Page[wire.ClaimStanding]{Items: []wire.ClaimStanding{{ID: 7}}, Next: "7"})
			return
		}
		answer(w, 200, wire.ClaimStanding{ID: 7, Holders: []wire.ClaimHolder{{Job: 1}}, Waiters: []wire.ClaimWaiter{{Job: 2}}})
	})
	p, err := c.Claims().List(t.Context(), ClaimFilter{Task: 3, State: "bound", Node: "n1", Resource: "table:a b", After: "5", Limit: 2})
	if err != nil || len(p.Items) != 1 || p.Next != "7" {
		t.Errorf("%+v %v", p, err)
	}
	if one, err := c.Claims().Get(t.Context(), 7); err != nil || one.ID != 7 || one.Holders[0].Job != 1 || one.Waiters[0].Job != 2 {
		t.Errorf("%+v %v", one, err)
	}
	want := []string{"GET /v1/resource-claims?after=5&limit=2&node=n1&resource=table%3Aa+b&state=bound&task=3", "GET /v1/resource-claims/7"}
	if !slices.Equal(got, want) {
		t.Errorf("called\n%q, want\n%q", got, want)
	}
}
