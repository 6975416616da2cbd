package client

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
)

// Resources are called by their routes; a key and what may stand in one survive the way.
func TestResources(t *testing.T) {
	var got []string
	c, _ := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body))
		if r.Method == http.MethodPut || r.Method == http.MethodDelete {
			answer(w, 200, wire.ResourceCapacity{Name: "maya", Capacity: 6})
			return
		}
		answer(w, 200, wire.Page[wire.ResourceStanding]{Items: []wire.ResourceStanding{{Name: "maya", Held: 3}}})
	})
	ctx := t.Context()
	all, err := c.Resources().List(ctx)
	one, oneErr := c.Resources().Get(ctx, "table:a/b c")
	after, reportErr := c.Resources().ReportExternal(ctx, "maya", "CERN", 100, 30)
	for _, r := range []struct {
		parts []wire.ResourceStanding
		err   error
	}{{all, err}, {one, oneErr}, {after, reportErr}} {
		if r.err != nil || len(r.parts) != 1 || r.parts[0].Held != 3 {
			t.Errorf("%+v, %v", r.parts, r.err)
		}
	}
	set, err := c.Resources().SetCapacity(ctx, "maya", "", 0, "ann")
	reset, resetErr := c.Resources().ResetCapacity(ctx, "maya", "CERN")
	if err != nil || resetErr != nil || set.Capacity != 6 || reset.Capacity != 6 {
		t.Errorf("%+v, %v, %+v, %v", set, err, reset, resetErr)
	}
	want := []string{"GET /v1/resources ", "GET /v1/resources/table:a%2Fb%20c ", `POST /v1/resources/maya/external?queue=CERN {"total":100,"used":30}`,
		`PUT /v1/resources/maya/capacity?by=ann {"capacity":0}`, "DELETE /v1/resources/maya/capacity?queue=CERN "}
	if !slices.Equal(got, want) {
		t.Errorf("called\n%q, want\n%q", got, want)
	}
}
