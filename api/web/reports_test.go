package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/report"
)

// reported has a report of errors with two lines.
func reported(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	text := func(s string) *string { return &s }
	s.world.table = report.Table{Report: report.Report{Name: "errors", Title: "What failed attempts said", By: "task,user,share"}, Since: at, From: at, Until: at, At: at,
		Columns: []report.Column{{Name: "outcome"}, {Name: "exit_code", Numeric: true}, {Name: "message"}, {Name: "attempts", Numeric: true}, {Name: "share"}, {Name: "for_example", Numeric: true}},
		Rows:    [][]*string{{text("failed"), text("3"), text("no <space>, \"x\""), text("40"), text("Prod/MC"), text("77")}, {text("lost"), nil, text(""), text("10"), nil, text("78")}}}
	return s
}

// A report shows its table with links and amounts, its bounds, its statement, and gives a CSV; it is asked once for all who look.
func TestReports(t *testing.T) {
	s := reported(t)
	list := s.get("/reports").byID("main")
	for _, r := range report.List() {
		if !slices.ContainsFunc(list.all("a"), func(a *element) bool { return a.attr["href"] == "/reports/"+r.Name && a.words() == r.Title }) {
			t.Errorf("the list lacks %s", r.Name)
		}
	}
	page := s.get("/reports/errors?since=7d&by=share").byID("main")
	for _, want := range []string{"From 2026-11-22 10:00:00 UTC to 2026-11-22 10:00:00 UTC", `failed 3 no <space>, "x" 40 Prod/MC 77`, "lost – 10 – 78", "for example", "@since"} {
		if !strings.Contains(page.words(), want) {
			t.Errorf("it does not say %q: %s", want, page.words())
		}
	}
	links := page.all("a")
	for _, want := range []string{"/shares/Prod/MC", "/jobs/77", "/reports/errors?by=share&format=csv&since=7d"} {
		if !slices.ContainsFunc(links, func(a *element) bool { return a.attr["href"] == want }) {
			t.Errorf("no link to %s", want)
		}
	}
	bars := page.all("rect")
	if len(bars) != 2 || bars[0].attr["width"] != "100.0" || bars[1].attr["width"] != "25.0" {
		t.Errorf("amounts %v", bars)
	}
	w := s.call(http.MethodGet, "/reports/errors?since=7d&by=share&format=csv", nil, "")
	if want := "outcome,exit_code,message,attempts,share,for_example\nfailed,3,\"no <space>, \"\"x\"\"\",40,Prod/MC,77\nlost,,,10,,78\n"; w.Body.String() != want || !strings.Contains(w.Header().Get("Content-Disposition"), "errors.csv") {
		t.Errorf("%s\n%s", w.Header(), w.Body)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(s.call(http.MethodGet, "/reports/errors?since=7d&by=share&format=json", nil, "").Body.Bytes(), &got); err != nil || len(got["at"]) < 10 || len(got["rows"]) < 10 || len(got["sql"]) < 10 {
		t.Errorf("%v %s", err, got)
	}
	if want := `errors by "share" since 168h0m0s`; len(s.world.asked) != 1 || s.world.asked[0] != want {
		t.Errorf("asked %q, want %s once", s.world.asked, want)
	}
	s.world.table.Rows = nil
	if said := s.get("/reports/errors").byID("main").words(); !strings.Contains(said, "There is nothing of the kind since 2026-11-22") {
		t.Error(said)
	}
}

// What there is none of is refused by name.
func TestWrongReports(t *testing.T) {
	s := reported(t)
	for path, want := range map[string]string{"/reports/errors?by=x": "one of task, user, share", "/reports/errors?since=1y": "one of 1h, 6h, 24h, 7d, 30d", "/reports/shares?by=user": "", "/reports/x": "unknown report", "/queues?format=csv": "expected json or html", "/reports/errors?format=x": "json, html or csv"} {
		if w := s.call(http.MethodGet, path, nil, "text/html"); w.Code < 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if len(s.world.asked) != 0 {
		t.Errorf("asked %q", s.world.asked)
	}
}
