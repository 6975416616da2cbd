package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/generator"
)

// Forms do what they say; what cannot be taken back is asked twice.
func TestWorkActs(t *testing.T) {
	s := filled(t)
	for verb, v := range taskVerbs {
		s.tasks.said = ""
		w := s.post("/tasks/5/say", "verb", string(verb))
		if v.confirm {
			page := checkPage(t, w.Body.String())
			if w.Code != 200 || s.tasks.said != "" || !strings.Contains(page.text, "400 of 1\u202f000 jobs are over") || !strings.Contains(page.text, v.says) {
				t.Errorf("%s, not sure: %d %q %s", verb, w.Code, s.tasks.said, page.words())
			}
			w = s.post("/tasks/5/say", "verb", string(verb), "sure", "yes")
		}
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/tasks/5" || s.tasks.said != string(verb)+" 5" {
			t.Errorf("%s: %d %q", verb, w.Code, s.tasks.said)
		}
	}
	if w := s.post("/tasks/5/priority", "priority", "-7"); w.Code != http.StatusSeeOther || s.tasks.said != "priority 5 -7" {
		t.Errorf("%d %q", w.Code, s.tasks.said)
	}
	if w := s.post("/jobs/77/kill"); w.Code != 200 || s.world.killed != 0 || !strings.Contains(w.Body.String(), "Kill job 77?") {
		t.Errorf("%d %d %s", w.Code, s.world.killed, w.Body)
	}
	if w := s.post("/jobs/77/kill", "sure", "yes"); w.Code != http.StatusSeeOther || s.world.killed != 77 || w.Header().Get("Location") != "/jobs/77" {
		t.Errorf("%d %d", w.Code, s.world.killed)
	}
	if w := s.post("/queues/CERN/state", "state", "drain"); w.Code != http.StatusSeeOther || s.sites.said != "CERN drain" {
		t.Errorf("%d %q", w.Code, s.sites.said)
	}
	if w := s.post("/queues/CERN/state", "state", "offline"); w.Code != 200 || s.sites.said != "CERN drain" {
		t.Errorf("%d %q", w.Code, s.sites.said)
	}
	if w := s.post("/queues/CERN/state", "state", "offline", "sure", "yes"); w.Code != http.StatusSeeOther || s.sites.said != "CERN offline" {
		t.Errorf("%d %q", w.Code, s.sites.said)
	}
}

// What is not of this page, or makes no sense, changes nothing.
func TestWorkActsRefuse(t *testing.T) {
	s := filled(t)
	for path, fields := range map[string][]string{"/tasks/5/say": {"verb", "explode"}, "/tasks/5/priority": {"priority", "high"}, "/queues/CERN/state": {"state", "gone"}} {
		if w := s.post(path, fields...); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s %v: %d", path, fields, w.Code)
		}
	}
	for _, path := range []string{"/tasks/5/say", "/tasks/5/priority", "/jobs/77/kill", "/queues/CERN/state"} {
		fields := []string{"verb", "kill", "priority", "1", "state", "drain", "sure", "yes", formField, strings.Repeat("cd", 16)}
		if w := s.post(path, fields...); w.Code != http.StatusForbidden {
			t.Errorf("%s with another's token: %d", path, w.Code)
		}
		if w := s.call(http.MethodGet, path, nil, "text/html"); w.Code == http.StatusOK {
			t.Errorf("GET %s: %d", path, w.Code)
		}
	}
	if s.tasks.said != "" || s.world.killed != 0 || s.sites.said != "" {
		t.Errorf("%q %d %q", s.tasks.said, s.world.killed, s.sites.said)
	}
}

// What is offered is what can be done.
func TestVerbsOffered(t *testing.T) {
	s := filled(t)
	for state, want := range map[string]string{"running": "Pause Finish Kill Set", "paused": "Resume Finish Kill Set", "done": "", "failed": "Retry", "aborting": "",
		"scouting": "Pause End scouting Finish Kill Set"} {
		s.tasks.task.State = state
		var names []string
		for _, b := range s.get("/tasks/5").byID("main").all("button") {
			names = append(names, b.words())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	for _, state := range taskStates {
		for _, v := range generator.VerbsFor(state) {
			if taskVerbs[v].name == "" {
				t.Errorf("%s: no button for %s", state, v)
			}
		}
	}
}

// An explanation is asked for once in some seconds, and anew when the job has gone on.
func TestExplainedOnceInAWhile(t *testing.T) {
	s := filled(t)
	for range 5 {
		s.get("/jobs/77")
	}
	if s.world.explained != 1 {
		t.Errorf("asked %d times", s.world.explained)
	}
	s.world.job.State = "leased"
	s.get("/jobs/77")
	if s.world.explained != 2 {
		t.Errorf("after the job was leased: %d", s.world.explained)
	}
}

// What open pages are told is what a fresh page shows.
func TestWorkUpdates(t *testing.T) {
	s := filled(t)
	for _, path := range []string{"/queues", "/tasks"} {
		show, err := s.page.byPath[path].Show(t.Context(), &Request{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		u := s.page.byPath[path].Live(show)
		seen := map[string]bool{}
		s.get(path).walk(func(e *element, _ []*element) {
			key := e.attr["data-live"]
			if key == "" {
				return
			}
			got := e.text
			if a := e.attr["data-live-attr"]; a != "" {
				got = e.attr[a]
			}
			if want, there := u.Cells[key]; !there || got != want || seen[key] {
				t.Errorf("%s: %s is %q on the page, %q %t in its events, twice: %t", path, key, got, want, there, seen[key])
			}
			seen[key] = true
		})
		if len(seen) != len(u.Cells) || len(seen) < 10 || u.Shape == "" {
			t.Errorf("%s: %d cells on the page, %d in its events", path, len(seen), len(u.Cells))
		}
	}
}

// Every cookie is for this site alone, out of reach of scripts, and for TLS alone where the browser came by TLS.
func TestCookies(t *testing.T) {
	s := filled(t)
	for proto, secure := range map[string]bool{"https": true, "http": false} {
		form := url.Values{formField: {strings.Repeat("ab", 16)}, "priority": {"-7"}}
		r := httptest.NewRequest(http.MethodPost, "/tasks/5/priority", strings.NewReader(form.Encode()))
		r.Header.Set("X-Forwarded-Proto", proto)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: formCookie, Value: strings.Repeat("ab", 16)})
		act := httptest.NewRecorder()
		s.mux.ServeHTTP(act, r)
		r = httptest.NewRequest(http.MethodGet, "/tasks/5", nil)
		r.Header.Set("X-Forwarded-Proto", proto)
		r.Header.Set("Accept", "text/html")
		for _, c := range act.Result().Cookies() {
			r.AddCookie(c)
		}
		next := httptest.NewRecorder()
		s.mux.ServeHTTP(next, r)
		all := append(act.Result().Cookies(), next.Result().Cookies()...)
		var names []string
		for _, c := range all {
			names = append(names, c.Name)
			if c.Secure != secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
				t.Errorf("%s: %+v", proto, c)
			}
		}
		if got := strings.Join(names, " "); got != "divvy_said divvy_form divvy_said" {
			t.Errorf("%s: cookies %s", proto, got)
		}
	}
}
