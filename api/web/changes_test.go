package web

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/access"
)

// The audit as a page: who, what, on what, before and after, with links to the things and to filters.
func TestChanges(t *testing.T) {
	s := newStage(t)
	var long []string
	for i := range 9 {
		long = append(long, fmt.Sprintf("share S%d: weight 1 → 2", i))
	}
	s.audit.looked = access.Looked{Next: 41, Items: []access.Audited{
		{ID: 44, At: at, Who: "root", Role: "admin", What: "site.apply", Object: "7", Before: "6", After: strings.Join(long, "\n")},
		{ID: 43, At: at, Who: "alice", Role: "submitter", Subject: "user alice", What: "task.kill", Object: "12", Before: "running", After: "<aborting>"},
		{ID: 42, At: at, Who: "ops", Role: "operator", What: "queue.state", Object: "CERN/1", Before: "online", After: "drain"},
		{ID: 41, At: at, Who: "root", Role: "admin", What: "token.create", Object: "p", After: "divvy_0123, pilot"},
	}}
	page := s.get("/changes?who=root&since=7d")
	links := map[string]bool{}
	for _, a := range page.all("a") {
		links[a.attr["href"]] = true
	}
	for _, to := range []string{"/versions/7", "/tasks/12", "/queues/CERN%2F1", "/changes?since=7d&who=alice", "/changes?since=7d&what=task.kill&who=root",
		"/changes?after=41&since=7d&who=root", "/changes?format=json&since=7d&who=root", "/changes"} {
		if !links[to] {
			t.Errorf("no link to %s in %v", to, links)
		}
	}
	rows := page.all("tr")
	if len(rows) != 5 {
		t.Fatalf("%d rows", len(rows))
	}
	for row, want := range map[int]string{
		1: "2026-11-22 10:00:00 root admin site.apply 7 6 share S0: weight 1 → 2",
		2: "2026-11-22 10:00:00 alice submitter, user alice task.kill 12 running <aborting>",
		4: "2026-11-22 10:00:00 root admin token.create p – divvy_0123, pilot",
	} {
		if got := rows[row].words(); !strings.HasPrefix(got, want) {
			t.Errorf("row %d: %q, want %q", row, got, want)
		}
	}
	if d := rows[1].all("details"); len(d) != 1 || d[0].all("summary")[0].words() != "5 more lines" || len(rows[1].all("td")[4].all("div")) != len(long) {
		t.Errorf("a long text: %q", rows[1].words())
	}
	if got, want := s.audit.filter, (access.AuditFilter{Who: "root", Since: s.audit.filter.Since, Limit: changesOfPage}); got != want ||
		time.Since(got.Since).Round(time.Hour) != 7*24*time.Hour || s.audit.among != changesAmong {
		t.Errorf("asked for %+v among %d", got, s.audit.among)
	}
	if w := s.call(http.MethodGet, "/changes?what=task&format=json", nil, ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"before":"running","after":"\u003caborting\u003e"`) ||
		!strings.Contains(w.Body.String(), `"next":"41"`) || !strings.Contains(w.Body.String(), `"at":"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// What the view is asked for: bounds of time, pages, and all that is wrong at once.
func TestChangesAsked(t *testing.T) {
	s := newStage(t)
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for query, want := range map[string]access.AuditFilter{
		"": {}, "since=2026-11-20": {Since: day}, "since=2026-11-20T02:00:00%2B02:00": {Since: day}, "after=9&object=12&what=task.kill": {Before: 9, Object: "12", What: "task.kill"},
	} {
		want.Limit = changesOfPage
		s.get("/changes?" + query)
		got := s.audit.filter
		if got.Since = got.Since.UTC(); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", query, got, want)
		}
	}
	for query, says := range map[string]string{"": "Nobody has changed anything yet.", "who=x": "No change is like that. All changes"} {
		if text := s.get("/changes?" + query).byID("live").words(); text != says {
			t.Errorf("%q: %q", query, text)
		}
	}
	s.audit.looked.Next = 5
	if text := s.get("/changes?who=x").byID("live").words(); text != "None of those that were looked at is like that. Older ones" {
		t.Error(text)
	}
	w := s.call(http.MethodGet, "/changes?since=yesterday&what=taks.kill&after=x&colour=red", nil, "")
	for _, name := range []string{"since", "what", "after", "colour"} {
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "query."+name+" is ") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
