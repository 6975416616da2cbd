package web

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
)

// A job whose pilot is told to end it says so, and cannot be killed a second time.
func TestPendingKill(t *testing.T) {
	for ending, want := range map[string]struct {
		says   string
		button bool
	}{
		"": {"", true}, "killed": {"It was killed (killed) and still runs: pilot p1 at CERN is told to end it with its next renewal.", false},
		reclaimed: {"Its units are reclaimed for another share: pilot p1 at CERN", true},
	} {
		s := filled(t)
		s.world.job = dispatcher.JobRow{ID: 77, Task: 5, Share: "Prod/MC", State: "leased", Attempt: 1, MaxAttempts: 3, CreatedAt: at, Queue: "CERN", Pilot: "p1",
			Attempts: []dispatcher.Attempt{{Attempt: 1, Queue: "CERN", Pilot: "p1", State: "running", ClaimedAt: at, Ending: ending}}}
		s.world.explain.State = "leased"
		page := s.get("/jobs/77")
		said := page.byID("ending")
		if (said != nil) != (ending != "") || said != nil && !strings.Contains(said.words(), want.says) {
			t.Errorf("%q: %s", ending, page.words())
		}
		if has := strings.Contains(page.words(), "Kill job 77"); has != want.button {
			t.Errorf("%q: a button %t", ending, has)
		}
	}
}

// A reason that several jobs of a page have stands once; in their rows, its beginning.
func TestSharedReason(t *testing.T) {
	s := filled(t)
	long := "no queue can run it; CERN: needs 8 cores; open: offline"
	s.world.jobs = nil
	for i := range 5 {
		s.world.jobs = append(s.world.jobs, dispatcher.JobRow{ID: int64(i + 1), State: "ready", CreatedAt: at, Reason: long})
	}
	s.world.jobs[4].Reason = "another one; of its own"
	text := s.get("/tasks/5").words()
	if strings.Count(text, "needs 8 cores; open") != 1 || strings.Count(text, "no queue can run it") != 5 || !strings.Contains(text, "4 jobs of these: "+long) ||
		!strings.Contains(text, "another one; of its own") {
		t.Error(text)
	}
}

// A task names the rule that gave it its share, which is looked up once.
func TestTagged(t *testing.T) {
	s := filled(t)
	rule := 1
	for verdict, want := range map[string]string{
		"matched": "by tagging rule 2 in site version 4: label managed, working_group (AP|GP)_.* → Prod/MC", "explicit": "it names its share itself",
		"default": "no tagging rule matches it, and on_no_match names this share in site version 4", "hold": "holds such tasks in site version 4",
	} {
		s.tasks.task.SiteVersion, s.tasks.task.TaggedBy = 4, view.TaggedBy{Verdict: verdict}
		if verdict == "matched" {
			s.tasks.task.TaggedBy.Rule = &rule
		}
		for range 2 {
			if text := s.get("/tasks/5").byID("spec").words(); !strings.Contains(text, want) {
				t.Errorf("%s: %s", verdict, text)
			}
		}
	}
	if s.sites.got != 1 {
		t.Errorf("the site was read %d times", s.sites.got)
	}
}

// One thing is one thing.
func TestPlural(t *testing.T) {
	for _, c := range []struct{ got, want string }{{plural(1, "share"), "1 share"}, {plural(int64(0), "share"), "0 shares"}, {plural(1200, "job"), "1\u202f200 jobs"}} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
