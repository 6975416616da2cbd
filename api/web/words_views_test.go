package web

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
)

// A job that ended without a slot has no reason beyond the sentence at the top; one that waits has.
func TestWhyOnlyWhereThereIsMore(t *testing.T) {
	s := filled(t)
	if s.get("/jobs/77").byID("why") == nil {
		t.Error("a job that waits is not explained")
	}
	s.world.job = dispatcher.JobRow{ID: 78, Task: 5, Share: "Prod/MC", State: "cancelled", Attempt: 1, MaxAttempts: 3, CreatedAt: at, EndedAt: &at}
	s.world.explain = dispatcher.Explanation{Job: 78, Task: 5, State: "cancelled", At: at, Summary: "It never had a slot: it is cancelled."}
	page := s.get("/jobs/78")
	if page.byID("why") != nil || page.byID("summary").words() != s.world.explain.Summary {
		t.Errorf("a job without a slot: %s", page.words())
	}
}

// The version in force says so, and every other one leads to what has changed since.
func TestVersionsLeadToWhatChanged(t *testing.T) {
	s := newStage(t)
	rows := s.get("/versions").all("tr")
	if len(rows) != 8 || !strings.HasSuffix(rows[1].words(), "in force") || !strings.HasSuffix(rows[5].words(), "since then") {
		t.Fatalf("%d rows", len(rows))
	}
	if links := rows[5].all("a"); !slices.ContainsFunc(links, func(a *element) bool { return a.attr["href"] == "/versions/7?against=3" }) {
		t.Errorf("version 3: %s", rows[5].words())
	}
}

// An id that is none is refused in words that somebody understands.
func TestWordsOfIDs(t *testing.T) {
	s := newStage(t)
	for path, want := range map[string]string{"/decisions?task=x": "expected a whole number, 1 or more", "/claims?after=-1": "expected a whole number, 0 or more",
		"/decisions?limit=5000": "expected a whole number from 1 to 1000"} {
		if w := s.call(http.MethodGet, path, nil, ""); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// The page of a job that failed begins with that: how, where, what it wrote at the end, how the others did. Once another attempt has begun
// it does not.
func TestJobBeginsWithItsFailure(t *testing.T) {
	s := filled(t)
	s.world.log = strings.Repeat("before\n", 100) + "No such file: a.root\n"
	last := &s.world.job.Attempts[0]
	last.Meaning, last.Judged = "The input is missing.", "By rule 2 it is tried again."
	page := s.get("/jobs/77")
	said := page.byID("failure")
	if said == nil || strings.Index(page.words(), said.words()) > strings.Index(page.words(), s.world.explain.Summary) {
		t.Fatalf("it does not begin with the failure: %s", page.words())
	}
	for _, want := range []string{"Attempt 1 failed with exit code 3", "no <space>", "The input is missing.", "At queue CERN, node n1, pilot p1", "By rule 2 it is tried again.",
		"No such file: a.root", "Of the 1 000 jobs of task 5 399 finished, 1 failed, 20 run."} {
		if !strings.Contains(said.words(), want) {
			t.Errorf("it does not say %q: %s", want, said.words())
		}
	}
	if n := strings.Count(said.words(), "before"); n != failureLines-1 {
		t.Errorf("%d lines before the last", n)
	}
	last.State, last.ExitCode = "lost", nil
	if said := s.get("/jobs/77").byID("failure"); said == nil || !strings.Contains(said.words(), "Attempt 1 lost: its pilot renewed the lease no more") {
		t.Error("a lost attempt")
	}
	for _, state := range []string{"running", "finished", "cancelled"} {
		last.State = state
		if s.get("/jobs/77").byID("failure") != nil {
			t.Errorf("an attempt that is %s", state)
		}
	}
}
