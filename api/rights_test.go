package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// callers has a token for each role.
var callers = map[access.Role]access.Subject{access.Pilot: {Queues: []string{"CERN"}}, access.Submitter: {User: "alice"},
	access.ShareOwner: {Share: "Physics"}, access.Operator: {}, access.Reader: {}, access.Admin: {}}

func tokenOf(role access.Role) string { return "token-of-the-" + string(role) }

func bearer(role access.Role) string { return "Bearer " + tokenOf(role) }

// withRoles lets in one token of each role.
func withRoles(c *Config) {
	var fixed []access.Fixed
	for role, subject := range callers {
		fixed = append(fixed, access.Fixed{Hash: access.HashOf(tokenOf(role)), Caller: &access.Caller{ID: 1, Name: string(role) + "'s", Role: role, Subject: subject}})
	}
	c.Book, c.Closed = access.NewBook(nil, fixed...), true
}

// free are the routes that ask for no token.
var free = []string{"GET /healthz", "GET /readyz", "GET /v1/login", "GET /login", "GET /login/start", "GET /login/back", "POST /login", "POST /logout", "GET /assets/*"}

// The table has every route of the router, and nothing else.
func TestEveryRouteHasRights(t *testing.T) {
	b := newBench(t, withRoles)
	left := map[string]bool{}
	for route := range edge.Rights {
		left[route] = true
	}
	err := chi.Walk(b.handler.(chi.Routes), func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		route := method + " " + path
		if edge.Rights[route] == nil && !slices.Contains(free, route) {
			t.Errorf("%s is not in the table of rights", route)
		}
		delete(left, route)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for route := range left {
		t.Errorf("there is no route %s", route)
	}
}

// Each role at each route: who has no right gets a 403 that says which role would do, and who has it does not.
func TestRolesAtRoutes(t *testing.T) {
	b := newBench(t, withRoles)
	for _, right := range edge.Rights {
		path := strings.NewReplacer("{id}", "3", "{name}", "CERN", "{version}", "1", "{queue}", "CERN", "{task}", "3", "{job}", "7", "{claim}", "7", "*", "A").Replace(right.Pattern)
		if right.Pattern == "/events" {
			continue // a stream, see below
		}
		for role := range callers {
			w := b.call(right.Method, path, "", "Authorization", bearer(role), "Accept", "application/json")
			body := w.Body.String()
			if strings.Contains(body, "of its own tasks") || strings.Contains(body, "is not one of") {
				continue // the right to the route it has, but not to what the request names: TestSubmitterSeesItsOwn
			}
			refused := w.Code == http.StatusForbidden && strings.Contains(body, "needs a token with the role")
			if has := slices.Contains(right.Roles, role); refused == has {
				t.Errorf("%s at %s %s: %d %s", role, right.Method, path, w.Code, body)
			} else if refused && (!strings.Contains(body, string(right.Roles[0])) || !strings.Contains(body, string(role)+"'s")) {
				t.Errorf("%s at %s %s: the refusal names neither who asks nor what would do: %s", role, right.Method, path, body)
			}
		}
		if w := b.call(right.Method, path, "", "Accept", "application/json"); w.Code != http.StatusUnauthorized {
			t.Errorf("nobody at %s %s: %d", right.Method, path, w.Code)
		}
	}
}

// What the table must never say, by hand.
func TestRightsThatMatter(t *testing.T) {
	for _, c := range []struct {
		route string
		roles string
	}{
		{"POST /v1/pulls", "pilot admin"}, {"POST /v1/tokens", "admin"}, {"DELETE /v1/tokens", "admin"}, {"GET /v1/tokens", "admin"},
		{"PUT /v1/site", "share-owner admin"}, {"POST /v1/site/rollback", "admin"}, {"GET /metrics", "reader share-owner operator admin"},
		{"POST /v1/queues/{name}/drain", "operator admin"}, {"POST /v1/tasks/reassign", "operator admin"}, {"GET /events", "reader share-owner operator admin"},
	} {
		if got := strings.Trim(fmt.Sprint(edge.Rights[c.route].Roles), "[]"); got != c.roles {
			t.Errorf("%s: %s, want %s", c.route, got, c.roles)
		}
	}
	for route, r := range edge.Rights {
		if r.Method != "GET" && r.Has(&access.Caller{Role: access.Reader}) && !strings.Contains(route, "what-if") && !strings.Contains(route, "/tags/test") {
			t.Errorf("a reader may %s", route)
		}
		if !r.Has(&access.Caller{Role: access.Admin}) {
			t.Errorf("an admin may not %s", route)
		}
	}
	if edge.RightOf("POST", "/v1/nothing").Has(&access.Caller{Role: access.Operator}) {
		t.Error("a route that is not in the table is anybody's")
	}
}

func TestPilotPullsAtItsQueues(t *testing.T) {
	b := newBench(t, withRoles)
	pull := func(queue string, role access.Role) int {
		return b.call("POST", "/v1/pulls", strings.Replace(goodPull, `"CERN"`, `"`+queue+`"`, 1), "Authorization", bearer(role)).Code
	}
	if pull("CERN", access.Pilot) != 200 || pull("BNL", access.Pilot) != 403 || pull("BNL", access.Admin) != 200 {
		t.Error(pull("CERN", access.Pilot), pull("BNL", access.Pilot), pull("BNL", access.Admin))
	}
}

// twoUsers knows task 3 of alice, with job 7, and task 4 of bob, with job 8.
type twoUsers struct{ *fakeTasks }

func (f twoUsers) Task(_ context.Context, id int64) (view.Task, error) {
	return view.Task{ID: id, User: map[int64]string{3: "alice", 4: "bob"}[id], State: "ready"}, nil
}

type twoJobs struct{ *fakeDispatcher }

func (f twoJobs) Job(_ context.Context, id int64) (dispatcher.JobRow, error) {
	return dispatcher.JobRow{ID: id, Task: id - 4, State: "ready"}, nil
}

// A submitter steers and sees what is of its user, by every route, and nothing else.
func TestSubmitterSeesItsOwn(t *testing.T) {
	b := newBench(t, withRoles, func(c *Config) {
		c.Tasks, c.Dispatcher = twoUsers{c.Tasks.(*fakeTasks)}, twoJobs{c.Dispatcher.(*fakeDispatcher)}
	})
	call := func(method, path, body string) (int, string) {
		w := b.call(method, path, body, "Authorization", bearer(access.Submitter), "Accept", "application/json")
		return w.Code, w.Body.String()
	}
	for route, r := range edge.Rights {
		mine, other := "3", "4"
		if strings.Contains(route, "/jobs/") {
			mine, other = "7", "8"
		}
		one := strings.NewReplacer("{id}", mine, "{task}", mine, "{job}", mine)
		if !r.Has(&access.Caller{Role: access.Submitter}) || one.Replace(r.Pattern) == r.Pattern {
			continue
		}
		body := ""
		switch {
		case strings.HasSuffix(r.Pattern, "/priority"):
			body = `{"priority":1}`
		case strings.HasSuffix(r.Pattern, "/scale"):
			body = `{"group":"g","replicas":1}`
		case strings.HasSuffix(r.Pattern, "/clone"):
			body = `{}`
		}
		code, text := call(r.Method, strings.NewReplacer("{id}", other, "{task}", other, "{job}", other).Replace(r.Pattern), body)
		page := r.Method == http.MethodPost && !strings.HasPrefix(r.Pattern, "/v1/") // refused before, without its cookie
		if !page && (code != 403 || !strings.Contains(text, "is not one of")) {
			t.Errorf("bob's %s: %d %s", route, code, text)
		}
		if code, text := call(r.Method, one.Replace(r.Pattern), body); !page && code >= 400 {
			t.Errorf("its own %s: %d %s", route, code, text)
		}
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/tasks", strings.Replace(goodTask, `"user":"alice"`, `"user":"bob"`, 1)},
		{"POST", "/v1/tasks/batch", `{"tasks":[{"task":` + strings.Replace(goodTask, `"user":"alice"`, `"user":"bob"`, 1) + `}]}`},
	} {
		if code, text := call(c.method, c.path, c.body); code >= 300 || b.tasks.submitted.Spec.User != "alice" {
			t.Errorf("%s: %d %s; of %s", c.path, code, text, b.tasks.submitted.Spec.User)
		}
	}
	// Letters that encoding/json takes for those of user, and sorts behind it.
	for _, key := range []string{"user", "uſer", "useR"} {
		if code, text := call("POST", "/v1/tasks/3/clone", `{"changes":{"`+key+`":"bob","name":"x"}}`); code >= 300 || b.tasks.clone.User != "alice" || b.tasks.clone.Name != "x" {
			t.Errorf("clone, %s: %d %s %+v", key, code, text, b.tasks.clone)
		}
	}
	needs := func(task string) string {
		return strings.Replace(goodTask, `{`, `{"needs":[{"task":`+task+`,"outputs":"*"}],`, 1)
	}
	for _, c := range []struct{ path, before, after string }{
		{"/v1/tasks", "", ""}, {"/v1/tasks/batch", `{"tasks":[{"task":`, `}]}`}, {"/v1/tasks/3/clone", `{"changes":`, `}`},
	} {
		if code, text := call("POST", c.path, c.before+needs("4")+c.after); code != 403 || !strings.Contains(text, "needs[0].task: ") {
			t.Errorf("%s that needs bob's: %d %s", c.path, code, text)
		}
		if code, text := call("POST", c.path, c.before+needs("3")+c.after); code >= 300 {
			t.Errorf("%s that needs its own: %d %s", c.path, code, text)
		}
	}
	if code, _ := call("GET", "/v1/tasks?user=bob", ""); code != 200 || b.tasks.filter.User != "alice" {
		t.Errorf("list: %d, of %q", code, b.tasks.filter.User)
	}
	if code, _ := call("POST", "/v1/tasks/actions", `{"verb":"kill","user":"bob"}`); code != 200 || b.tasks.act.User != "alice" {
		t.Errorf("actions: %d, of %q", code, b.tasks.act.User)
	}
	for _, body := range []string{`{"verb":"kill","tasks":[3,4]}`, `{"verb":"reassign","to":"A","label":"x"}`} {
		if code, text := call("POST", "/v1/tasks/actions", body); code != 403 {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
	if code, text := call("GET", "/v1/jobs", ""); code != 403 || !strings.Contains(text, "task=ID") {
		t.Errorf("jobs of all: %d %s", code, text)
	}
	if code, _ := call("GET", "/v1/jobs?task=4", ""); code != 403 {
		t.Errorf("jobs of bob's: %d", code)
	}
}

// A share owner changes weights below its node, and nothing else.
func TestOnlyWeights(t *testing.T) {
	c := &access.Caller{Name: "o", Role: access.ShareOwner, Subject: access.Subject{Share: "Physics"}}
	weight := func(path string) shares.Change {
		return shares.Change{Kind: shares.Changed, Path: path, Field: "weight", Before: "1", After: "2"}
	}
	good := site.Changes{Shares: []shares.Change{weight("Physics/Higgs"), weight("Physics/Higgs/MC")}}
	if err := onlyWeights(c, good); err != nil {
		t.Error(err)
	}
	for _, bad := range []site.Changes{
		{Shares: []shares.Change{weight("Physics")}}, {Shares: []shares.Change{weight("Physics2/x")}},
		{Shares: []shares.Change{weight("Physics/Higgs"), {Kind: shares.Changed, Path: "Physics/Higgs", Field: "max", After: "3"}}},
		{Shares: []shares.Change{{Kind: shares.Added, Path: "Physics/New"}}}, {Shares: []shares.Change{{Kind: shares.Moved, Path: "Physics/x", From: "B"}}},
		{Shares: good.Shares, Rules: []site.RuleChange{{Kind: "added"}}}, {Shares: good.Shares, Queues: []site.QueueChange{{Kind: "added"}}},
	} {
		if err := onlyWeights(c, bad); err == nil || !strings.Contains(err.Error(), "Physics") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	b := newBench(t, withRoles)
	if w := b.call("PUT", "/v1/site", "shares: []\n", "Authorization", bearer(access.ShareOwner), "Content-Type", "text/yaml"); w.Code != 200 || b.site.applied.Check == nil ||
		b.site.applied.By != "share-owner's" {
		t.Errorf("%d %s %+v", w.Code, w.Body, b.site.applied)
	}
	if w := b.call("PUT", "/v1/site?move=A=B", "shares: []\n", "Authorization", bearer(access.ShareOwner), "Content-Type", "text/yaml"); w.Code != 403 {
		t.Errorf("with a move: %d %s", w.Code, w.Body)
	}
	b.call("PUT", "/v1/site", "shares: []\n", "Authorization", bearer(access.Admin), "Content-Type", "text/yaml")
	if b.site.applied.Check != nil {
		t.Error("an admin is checked")
	}
}

// The page shows what its reader may see, and no button that would be refused.
func TestPageFollowsTheRole(t *testing.T) {
	b := newBench(t, withRoles, func(c *Config) {
		c.Tasks, c.Dispatcher = twoUsers{c.Tasks.(*fakeTasks)}, twoJobs{c.Dispatcher.(*fakeDispatcher)}
	})
	page := func(path string, role access.Role) string {
		w := b.call("GET", path, "", "Authorization", bearer(role), "Accept", "text/html")
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	for _, c := range []struct {
		path, has     string
		with, without []access.Role
	}{
		{"/tasks/3", `action="/tasks/3/say"`, []access.Role{access.Submitter, access.Operator, access.Admin}, []access.Role{access.Reader, access.ShareOwner}},
		{"/jobs/7", `action="/jobs/7/kill"`, []access.Role{access.Submitter, access.Operator}, []access.Role{access.Reader}},
		{"/queues/CERN", `action="/queues/CERN/state"`, []access.Role{access.Operator, access.Admin}, []access.Role{access.Reader, access.Submitter}},
		{"/", `href="/decisions"`, []access.Role{access.Reader}, []access.Role{access.Submitter}},
		{"/tasks/4", "forbidden", []access.Role{access.Submitter}, []access.Role{access.Reader}},
		{"/versions", "needs a token with the role", []access.Role{access.Submitter, access.Pilot}, []access.Role{access.Reader}},
	} {
		for _, role := range c.with {
			if p := page(c.path, role); !strings.Contains(p, c.has) {
				t.Errorf("%s as %s has no %s:\n%s", c.path, role, c.has, p)
			}
		}
		for _, role := range c.without {
			if p := page(c.path, role); strings.Contains(p, c.has) || !strings.HasPrefix(p, "200") {
				t.Errorf("%s as %s has %s:\n%s", c.path, role, c.has, p)
			}
		}
	}
}

// Who has made a change is what the caller is known by, not what he says: of a token of the table as of a token file, a
// certificate or an issuer, which have no number. Only where nobody is asked who he is, what he says is kept.
func TestChangesAreKeptUnderTheCallersName(t *testing.T) {
	for _, c := range []struct {
		caller *access.Caller
		want   string
	}{
		{&access.Caller{ID: 7, Name: "root", Role: access.Admin}, "root"}, {&access.Caller{Name: "/CN=root", Role: access.Admin}, "/CN=root"}, {nil, "mallory"},
	} {
		b := newBench(t, func(cfg *Config) {
			if c.caller != nil {
				cfg.Book, cfg.Closed = access.NewBook(nil, access.Fixed{Hash: access.HashOf(secret), Caller: c.caller}), true
			}
		})
		for route, kept := range map[string]func() string{
			"PUT /v1/site?by=mallory":                                func() string { return b.site.applied.By },
			"POST /v1/site/rollback?version=1&by=mallory":            func() string { return b.site.rolled.By },
			"POST /v1/site/later?at=2030-01-02T08:00:00Z&by=mallory": func() string { return b.site.later.By },
			"DELETE /v1/site/later/7?by=mallory":                     func() string { return b.site.ended },
			"PUT /v1/resources/CERN/capacity?by=mallory":             func() string { return b.site.set.By },
		} {
			method, path, _ := strings.Cut(route, " ")
			body := "shares: []\n"
			if strings.Contains(path, "capacity") {
				body = `{"capacity":6}`
			}
			if w := b.call(method, path, body, "Authorization", "Bearer "+secret); w.Code/100 != 2 || kept() != c.want {
				t.Errorf("%s by %v: %d %s, kept as of %q, want %q", route, c.caller, w.Code, w.Body, kept(), c.want)
			}
		}
	}
}
