package panda

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/harvester"
	"github.com/divvyhq/divvy/internal/site"
)

const (
	tokenFile = "# pilots\ncern  cern-token-0123456789\nwlcg wlcg-token-0123456789 wlcg.* wlcg\ncern cern-token-9876543210\n"
	userFile  = `"/DC=org/DC=grid/CN=Robot: (\w+) pilots" $1-robot atlas.*` + "\n" + `"/DC=org/DC=grid/CN=(?P<who>Ann|Bob)" ${who}` + "\n"
)

func accessOf(t *testing.T, anyone bool) *Access {
	t.Helper()
	tokens, err := ReadTokens("tokens", strings.NewReader(tokenFile))
	if err != nil {
		t.Fatal(err)
	}
	users, err := ReadUsers("users", strings.NewReader(userFile))
	if err != nil {
		t.Fatal(err)
	}
	return &Access{Tokens: tokens, Users: users, Anyone: anyone, Operator: func(token string) string {
		return map[string]string{"operator-token-0123": "op"}[token]
	}}
}

// listen serves a guarded handler that answers who it takes the caller for.
func listen(t *testing.T, a *Access, c *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme := "http://"
	if c != nil {
		scheme, l = "https://", tls.NewListener(l, c)
	}
	srv := &http.Server{Handler: a.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(CallerOf(r.Context()))
	})), ErrorLog: quiet}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return scheme + l.Addr().String()
}

type knock struct {
	path, authorization, origin, host string
	site                              string // Sec-Fetch-Site
}

func (c knock) do(t *testing.T, client *http.Client, url string) (status int, body string) {
	t.Helper()
	if c.path == "" {
		c.path = "/server/panda/getJob"
	}
	r, err := http.NewRequest(http.MethodPost, url+c.path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Authorization": c.authorization, "Origin": c.origin, "Sec-Fetch-Site": c.site} {
		if v != "" {
			r.Header.Set(k, v)
		}
	}
	r.Host = c.host
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(b))
}

func TestTokens(t *testing.T) {
	url := listen(t, accessOf(t, false), nil)
	for _, c := range []struct {
		knock
		want Caller
	}{
		{knock{authorization: "Bearer cern-token-0123456789", origin: "atlas.pilot"}, Caller{Token: "cern", Origin: "atlas.pilot"}},
		{knock{authorization: "bearer  cern-token-9876543210"}, Caller{Token: "cern"}},
		{knock{authorization: "Bearer wlcg-token-0123456789", origin: "wlcg:pilot"}, Caller{Token: "wlcg", Origin: "wlcg.pilot"}},
		{knock{authorization: "Bearer wlcg-token-0123456789", origin: "wlcg"}, Caller{Token: "wlcg", Origin: "wlcg"}},
		{knock{authorization: "Bearer operator-token-0123", origin: "any.thing"}, Caller{Token: "op", Operator: true, Origin: "any.thing"}},
	} {
		status, body := c.do(t, http.DefaultClient, url)
		var got Caller
		if err := json.Unmarshal([]byte(body), &got); status != http.StatusOK || err != nil || got != c.want {
			t.Errorf("%+v: %d %s", c.knock, status, body)
		}
	}
}

// Every refusal, in its words, in the body of its generation, and with no key more than that has.
func TestRefusals(t *testing.T) {
	closed, open := listen(t, accessOf(t, false), nil), listen(t, &Access{Anyone: true}, nil)
	for _, c := range []struct {
		url string
		knock
		want string
	}{
		{closed, knock{}, "no credential: send the header Authorization: Bearer <token>, or a client certificate"},
		{closed, knock{authorization: "Basic Y2Vybjp4"}, "no credential: send the header Authorization: Bearer <token>, or a client certificate"},
		{closed, knock{authorization: "Bearer "}, "no credential: send the header Authorization: Bearer <token>, or a client certificate"},
		{closed, knock{authorization: "Bearer cern-token-0123456780"}, "the token is not known here"},
		{closed, knock{authorization: "Bearer wlcg-token-0123456789", origin: "atlas.pilot"}, "wlcg may not speak for atlas.pilot, only for wlcg.*, wlcg"},
		{closed, knock{authorization: "Bearer wlcg-token-0123456789"}, "wlcg needs an origin, one of wlcg.*, wlcg"},
		{closed, knock{authorization: "Bearer cern-token-0123456789", origin: "http://evil.example"}, "refused: the request may come from a foreign web page"},
		{open, knock{origin: "http://evil.example"}, "refused: the request may come from a foreign web page"},
		{open, knock{origin: "null"}, "refused: the request may come from a foreign web page"},
		{open, knock{site: "cross-site"}, "refused: the request may come from a foreign web page"},
		{open, knock{host: "evil.example:8470"}, "refused: the request may come from a foreign web page"},
	} {
		for path, want := range map[string]map[string]any{
			"/server/panda/getJob":       {"StatusCode": 60.0, "errorDialog": c.want},
			"/api/v1/pilot/acquire_jobs": {"success": false, "message": c.want, "data": nil},
		} {
			c.path = path
			status, body := c.do(t, http.DefaultClient, c.url)
			if denied := c.want == errPage.Error() || strings.HasPrefix(path, "/api/"); (status == http.StatusForbidden) != denied || !denied && status != http.StatusOK {
				t.Errorf("%+v: status %d", c.knock, status)
			}
			sameJSON(t, body, want)
		}
	}
}

// Monitors ask whether the daemon is there without a credential; one that is not good is refused there as anywhere.
func TestAliveForAll(t *testing.T) {
	url := listen(t, accessOf(t, false), nil)
	for path, status := range map[string]int{"/api/v1/system/is_alive": 200, "/api/latest/system/is_alive": 200, "/api/v1/system/get_attributes": 403} {
		for token, status := range map[string]int{"": status, "Bearer cern-token-0123456780": 403} {
			r, err := http.NewRequest(http.MethodGet, url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", token)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != status {
				t.Errorf("%s with %q: status %d, expected %d", path, token, resp.StatusCode, status)
			}
		}
	}
}

func sameJSON(t *testing.T, got string, want map[string]any) {
	t.Helper()
	var said map[string]any
	if err := json.Unmarshal([]byte(got), &said); err != nil || !cmp.Equal(said, want) {
		t.Errorf("%v: got %s, want %v", err, got, want)
	}
}

// An open listener takes any credential and none, and knows the good ones.
func TestAnyone(t *testing.T) {
	url := listen(t, accessOf(t, true), nil)
	for _, c := range []struct {
		knock
		want Caller
	}{
		{knock{}, Caller{}},
		{knock{authorization: "Bearer mock-token", origin: "wlcg.pilot"}, Caller{Origin: "wlcg.pilot"}},
		{knock{authorization: "Bearer cern-token-0123456789"}, Caller{Token: "cern"}},
	} {
		status, body := c.do(t, http.DefaultClient, url)
		var got Caller
		if err := json.Unmarshal([]byte(body), &got); status != http.StatusOK || err != nil || got != c.want {
			t.Errorf("%+v: %d %s", c.knock, status, body)
		}
	}
}

// A pilot's credential that is bound to its origin takes jobs and reports on them, and that is all.
func TestPilotsSteerNothing(t *testing.T) {
	url := listen(t, accessOf(t, false), nil)
	const bound, unbound = "Bearer wlcg-token-0123456789", "Bearer cern-token-0123456789"
	const refused = `{"success":false,"message":"wlcg speaks for wlcg.pilot: pilots take jobs and report on them, and steer nothing","data":null}`
	const oldBlind = `{"StatusCode":60,"errorDialog":"wlcg speaks for wlcg.pilot: pilots take jobs and report on them, and look into no tasks"}`
	const oldRefused = `{"StatusCode":60,"errorDialog":"wlcg speaks for wlcg.pilot: pilots take jobs and report on them, and steer nothing"}`
	for _, c := range []struct {
		knock
		want string // "" = let in
	}{
		{knock{path: "/api/v1/pilot/acquire_jobs", authorization: bound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/api/v1/task/kill", authorization: bound, origin: "wlcg.pilot"}, refused},
		{knock{path: "/api/latest/task/submit", authorization: bound, origin: "wlcg.pilot"}, refused},
		{knock{path: "/api/v1/job/kill", authorization: bound, origin: "wlcg.pilot"}, refused},
		{knock{path: "/api/v1/harvester/add_target_slots", authorization: bound, origin: "wlcg.pilot"}, refused},
		{knock{path: "/server/panda/setNumSlotsForWP", authorization: bound, origin: "wlcg.pilot"}, oldRefused},
		{knock{path: "/server/panda/sweepPQ", authorization: bound, origin: "wlcg.pilot"}, oldRefused},
		{knock{path: "/server/panda/killTask", authorization: bound, origin: "wlcg.pilot"}, oldRefused},
		{knock{path: "/server/panda/whatIsToCome", authorization: bound, origin: "wlcg.pilot"}, oldRefused},
		{knock{path: "/server/panda/killTask", authorization: unbound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/server/panda/getJob", authorization: bound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/server/panda/updateJobsInBulk", authorization: bound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/api/v1/workflow/submit", authorization: bound, origin: "wlcg.pilot"}, refused},
		{knock{path: "/api/v1/harvester/add_dialogs", authorization: bound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/api/v1/task/kill", authorization: bound, origin: "wlcg.production"}, ""},
		{knock{path: "/api/v1/task/kill", authorization: bound, origin: "wlcg"}, ""},
		{knock{path: "/server/panda/getJediTaskDetails", authorization: bound, origin: "wlcg.pilot"}, oldBlind},
		{knock{path: "/server/panda/getTaskParamsMap", authorization: bound, origin: "wlcg.pilot"}, oldBlind},
		{knock{path: "/server/panda/getUserJobMetadata", authorization: bound, origin: "wlcg.pilot"}, oldBlind},
		{knock{path: "/server/panda/getJediTaskDetails", authorization: bound, origin: "wlcg"}, ""},
		{knock{path: "/server/panda/getStatus", authorization: bound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/server/panda/checkJobStatus", authorization: bound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/server/panda/getJobStatisticsPerSite", authorization: bound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/api/v1/task/kill", authorization: unbound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/api/v1/task/kill", authorization: "Bearer operator-token-0123", origin: "wlcg.pilot"}, ""},
	} {
		status, body := c.do(t, http.DefaultClient, url)
		if status != 200 || (c.want == "") != strings.HasPrefix(body, `{"Token"`) || c.want != "" && body != c.want {
			t.Errorf("%+v: %d %s", c.knock, status, body)
		}
	}
}

// Nor does it read what tasks and jobs are made of: it gets the commands of the jobs that it takes with them. How jobs stand
// it may ask.
func TestPilotsLookIntoNothing(t *testing.T) {
	url := listen(t, accessOf(t, false), nil)
	const refused = `{"success":false,"message":"wlcg speaks for wlcg.pilot: pilots take jobs and report on them, and look into no tasks","data":null}`
	look := func(path, token, origin string) string {
		r, err := http.NewRequest(http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Origin", origin)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %v", path, resp.StatusCode, err)
		}
		return strings.TrimSpace(string(body))
	}
	free := map[string]bool{"/job/get_status": true}
	s := newServer(Config{Jobs: (*dispatcher.Dispatcher)(nil), Steering: (*generator.Generator)(nil), Site: (*site.Store)(nil),
		Work: (*generator.Generator)(nil), Workers: (*harvester.Store)(nil)})
	n := 0
	for _, e := range s.calls() {
		if e.method == http.MethodPost {
			continue
		}
		n++
		group, _, _ := strings.Cut(strings.TrimPrefix(e.path, "/"), "/")
		closed := (group == "task" || group == "job") && !free[e.path]
		for _, version := range []string{"/api/v1", "/api/latest"} {
			if got := look(version+e.path+"?task_id=1", "wlcg-token-0123456789", "wlcg.pilot"); (got == refused) != closed || !closed && !strings.HasPrefix(got, `{"Token"`) {
				t.Errorf("%s: %s", version+e.path, got)
			}
			if got := look(version+e.path, "wlcg-token-0123456789", "wlcg"); !strings.HasPrefix(got, `{"Token"`) {
				t.Errorf("%s for who is no pilot: %s", version+e.path, got)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d questions, expected more than twenty", n)
	}
}

// The audit says which of the tokens of the native API it was.
func TestAuditNamesOperators(t *testing.T) {
	var got *access.Caller
	guarded := accessOf(t, false).Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = access.CallerIn(r.Context()) }))
	r := httptest.NewRequest(http.MethodPost, "/api/v1/task/kill", nil)
	r.Header.Set("Authorization", "Bearer operator-token-0123")
	guarded.ServeHTTP(httptest.NewRecorder(), r)
	if got == nil || got.Name != "op" || got.Role != "panda" {
		t.Errorf("%+v", got)
	}
}

type gate struct{ *site.Site }

func TestMayPull(t *testing.T) {
	s, err := site.Parse("f", []byte("shares: [{name: A}]\nqueues: [{name: all}, {name: few, pilots: [token:cern, vo:wlcg.pilot]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		Caller
		want string
	}{
		{Caller{Token: "cern"}, ""},
		{Caller{Origin: "wlcg.pilot"}, ""},
		{Caller{Operator: true}, ""},
		{Caller{}, "queue few is not for a pilot without a credential: the site file lists its pilots"},
		{Caller{Token: "ral", User: "ann", Origin: "wlcg.user"}, "queue few is not for user ann, token ral, origin wlcg.user: the site file lists its pilots"},
	} {
		if err := c.MayPull(gate{s}, "all"); err != nil {
			t.Errorf("%+v: %v", c.Caller, err)
		}
		got := ""
		if err := c.MayPull(gate{s}, "few"); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.Caller, got, c.want)
		}
	}
}
