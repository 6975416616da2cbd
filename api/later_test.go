package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/site"
)

func TestLaterRoutes(t *testing.T) {
	b := newBench(t)
	w := b.call("POST", "/v1/site/later?at=2030-01-02T08:00:00%2B01:00&move=A%3DB&note=why&by=me&file=n.yml", "shares: []\n")
	if got := b.site.later; w.Code != 201 || !got.At.Equal(time.Date(2030, 1, 2, 7, 0, 0, 0, time.UTC)) || got.Moves["A"] != "B" ||
		got.Note != "why" || got.By != "me" || got.Name != "n.yml" || string(got.Source) != "shares: []\n" {
		t.Errorf("%d %+v", w.Code, got)
	}
	for path, code := range map[string]string{
		"POST /v1/site/later?at=tomorrow":                 "invalid",
		"POST /v1/site/later":                             "invalid",
		"POST /v1/site/later?at=2030-01-02T08:00:00Z&x=1": "invalid",
		"POST /v1/tags/what-if?since=soon":                "invalid",
		"POST /v1/shares/what-if?move=A":                  "invalid",
		"DELETE /v1/site/later/x":                         "invalid",
	} {
		var method, rest string
		fmt.Sscan(path, &method, &rest)
		if p := b.problem(b.call(method, rest, "shares: []\n"), 422); p.Code != code {
			t.Errorf("%s: %+v", path, p)
		}
	}
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{site.ErrNoLater, 404, "no_later"}, {site.ErrLaterOver, 409, "later_over"}, {site.ErrPast, 422, "past"},
	} {
		b.site.err = c.err
		if p := b.problem(b.call("DELETE", "/v1/site/later/7?by=me", ""), c.status); p.Code != c.code {
			t.Errorf("%v: %+v", c.err, p)
		}
	}
}

// A rehearsal never asks for a change.
func TestWhatIfIsADryRun(t *testing.T) {
	b := newBench(t)
	if w := b.call("POST", "/v1/shares/what-if?at=2030-01-02T08:00:00Z", "shares: []\n"); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	if !b.site.applied.DryRun || b.site.applied.When.Year() != 2030 {
		t.Errorf("%+v", b.site.applied)
	}
}
