package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/explain"
)

// No view shows anything for a link with a parameter that it does not know, or a format that there is not.
func TestEveryViewRefusesWhatItDoesNotKnow(t *testing.T) {
	s := filled(t)
	s.world.standing = []explain.PoolStanding{treeOf(nil, 2, 3)}
	for _, v := range s.page.rooms.views() {
		path := strings.NewReplacer("/shares/*", "/shares/S0", "/series/*", "/series/S0", "/resources/*", "/resources/lic", "{queue}", "CERN", "{task}", "5", "{job}", "77",
			"{claim}", "31", "{version}", "2").Replace(v.Path)
		for query, want := range map[string]string{"colour=red": "query.colour", "format=xml": "query.format", "colour=&format=json": "query.colour"} {
			if w := s.call(http.MethodGet, path+"?"+query, nil, "text/html"); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s?%s: %d %.200s", path, query, w.Code, w.Body)
			}
		}
	}
}

// A name that nothing has is refused, with one that is near, and not taken for one that selects nothing.
func TestUnknownNames(t *testing.T) {
	s := filled(t)
	s.world.standing = []explain.PoolStanding{treeOf(nil, 2, 3)}
	decided, claims, tasks := s.world.decided, s.world.claims, s.tasks.listed
	s.world.decided, s.world.claims = nil, nil
	s.tasks.listed.Tasks, s.tasks.listed.Next = nil, ""
	for path, want := range map[string]struct {
		status int
		says   []string
	}{
		"/decisions?share=S1/S9":             {422, []string{`query.share is "S1/S9": no share has this name`, `did you mean "S1/S0"?`}},
		"/decisions?share=x&queue=CERM":      {422, []string{"query.share", `query.queue is "CERM": no queue has this name (did you mean "CERN"?)`}},
		"/decisions?queue=CERN&share=S1":     {200, []string{"Nothing of the kind"}},
		"/tasks?share=Prod":                  {422, []string{"query.share"}},
		"/tasks?share=S1/S2":                 {200, []string{"No task is like that"}},
		"/tasks?share=nope&state=odd":        {422, []string{"query.share", "query.state"}},
		"/queues?pool=gpus":                  {422, []string{`query.pool is "gpus"`, `did you mean "gpu"?`}},
		"/queues?pool=gpus&state=x&sort=y":   {422, []string{"query.pool", "query.state", "query.sort"}},
		"/queues?page=9":                     {422, []string{"query.page", "from 1 to 1"}},
		"/queues?q=nothing":                  {200, []string{"No queue is like that"}},
		"/claims?resource=table:orders":      {200, []string{"No claim is like that"}},
		"/claims?resource=lics&state=x":      {422, []string{"query.resource", "query.state"}},
		"/shares/S1/S9":                      {404, []string{`did you mean "S1/S0"?`}},
		"/series/S0x":                        {404, []string{`did you mean "S0"?`}},
		"/queues/CERM":                       {404, []string{`did you mean "CERN"?`}},
		"/resources/table:order":             {404, []string{`did you mean "table:orders"?`}},
		"/versions?before=x&format=xml":      {422, []string{"query.before", "query.format"}},
		"/jobs/77?attempt=0&at=1&format=yml": {422, []string{"query.attempt", "query.at", "query.format"}},
	} {
		w := s.call(http.MethodGet, path, nil, "text/html")
		text := checkPage(t, w.Body.String()).text
		for _, says := range want.says {
			if w.Code != want.status || !strings.Contains(text, says) {
				t.Errorf("%s: %d, want %d and %q: %s", path, w.Code, want.status, says, text)
			}
		}
	}
	// What is there of a share or a resource that has gone is shown.
	s.world.decided, s.world.claims, s.tasks.listed = decided, claims, tasks
	for _, path := range []string{"/decisions?share=Prod", "/tasks?share=Prod&over=too", "/claims?resource=gone"} {
		s.get(path)
	}
}

// The list of versions asks for nothing but versions: the standing of a thousand shares takes a solve.
func TestVersionsAskNoStanding(t *testing.T) {
	s := newStage(t)
	s.world.standing = []explain.PoolStanding{treeOf(nil, 2)}
	if text := s.get("/versions").words(); !strings.Contains(text, "Version 7 is in force") || s.world.outlooks != 0 {
		t.Errorf("%d standings: %s", s.world.outlooks, text)
	}
	if text := s.get("/versions?before=7").words(); !strings.Contains(text, "Version 7 is in force") || !strings.Contains(text, "6 ") || s.world.outlooks != 0 {
		t.Errorf("%d standings: %s", s.world.outlooks, text)
	}
}
