package panda

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/harvester"
	"github.com/divvyhq/divvy/internal/ownca"
	"github.com/divvyhq/divvy/internal/site"
)

const (
	tokenFile = "# pilots\ncern-token-0123456789 cern operator\nwlcg-token-0123456789 wlcg pilot origin:wlcg.* origin:wlcg\nglob-token-0123456789 glob pilot origin:w*\n" +
		"cern-token-9876543210 cern operator\nread-token-0123456789 read reader\nops-token-0123456789\n"
	roleFile = `"/DC=org/DC=grid/CN=Robot: (\w+) pilots" pilot user:$1-robot origin:atlas.pilot` + "\n" +
		`"/DC=org/DC=grid/CN=Robot: (\w+) pilots" operator user:$1-robot origin:atlas.production` + "\n" +
		`"/DC=org/DC=grid/CN=(?P<who>Ann|Bob)" submitter user:${who}` + "\n" + `"/DC=org/DC=grid/CN=Globs" pilot user:globs origin:atlas.* origin:c?s` + "\n"
)

// guardOf has the tokens and the certificates of the files above, and these issuers.
func guardOf(t *testing.T, anyone bool, issuers string) *server {
	t.Helper()
	tokens, err := access.ReadTokens("tokens", strings.NewReader(tokenFile))
	if err != nil {
		t.Fatal(err)
	}
	o := &access.Outside{}
	if o.Certificates, err = access.ReadCertificates("roles", strings.NewReader(roleFile)); err != nil {
		t.Fatal(err)
	}
	if issuers != "" {
		if o.Issuers, err = access.ReadIssuers(slog.New(slog.DiscardHandler))("issuers", strings.NewReader(issuers)); err != nil {
			t.Fatal(err)
		}
	}
	return newServer(Config{Callers: access.Entrance{Book: access.NewBook(nil, tokens...), Outside: func() *access.Outside { return o }, Open: anyone}})
}

// listen serves a guarded handler that answers who it takes the caller for.
func listen(t *testing.T, s *server, c *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme := "http://"
	if c != nil {
		scheme, l = "https://", tls.NewListener(l, c)
	}
	srv := &http.Server{Handler: s.guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, seenAs(wire.CallerOf(r.Context())))
	})), ErrorLog: quiet}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return scheme + l.Addr().String()
}

// seenAs is a caller in a test's words.
func seenAs(c *access.Caller) string {
	if c == nil {
		return "nobody"
	}
	return strings.TrimSpace("caller " + c.String() + " " + c.DN + " " + c.Origin)
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
	for open, cases := range map[bool][]struct {
		knock
		want string
	}{false: {
		{knock{authorization: "Bearer cern-token-0123456789", origin: "atlas.pilot"}, "caller cern (operator)  atlas.pilot"},
		{knock{authorization: "bearer  cern-token-9876543210"}, "caller cern (operator)"},
		{knock{authorization: "Bearer wlcg-token-0123456789", origin: "wlcg:pilot"}, "caller wlcg (pilot)  wlcg.pilot"},
		{knock{authorization: "Bearer wlcg-token-0123456789"}, "caller wlcg (pilot)  wlcg"},
		{knock{authorization: "Bearer ops-token-0123456789", origin: "any.thing"}, "caller token file (admin)  any.thing"},
	}, true: { // an open listener takes any credential and none, and knows the good ones
		{knock{}, "caller anybody (admin)"},
		{knock{authorization: "Bearer mock-token", origin: "wlcg.pilot"}, "caller anybody (admin)  wlcg.pilot"},
		{knock{authorization: "Bearer cern-token-0123456789"}, "caller cern (operator)"},
	}} {
		url := listen(t, guardOf(t, open, ""), nil)
		for _, c := range cases {
			if status, body := c.do(t, http.DefaultClient, url); status != http.StatusOK || body != c.want {
				t.Errorf("%+v: %d %s, want %s", c.knock, status, body, c.want)
			}
		}
	}
}

// Every refusal, in its words, in the body of its generation, and with no key more than that has.
func TestRefusals(t *testing.T) {
	closed, open := listen(t, guardOf(t, false, ""), nil), listen(t, guardOf(t, true, ""), nil)
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
		{closed, knock{authorization: "Bearer glob-token-0123456789"}, "glob needs an origin, one of w*: send the header Origin, or name one without a glob in its line"},
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
	url := listen(t, guardOf(t, false, ""), nil)
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

// A pilot takes jobs and reports on them, and that is all; who is none does not.
func TestPilotsSteerNothing(t *testing.T) {
	url := listen(t, guardOf(t, false, ""), nil)
	const bound, unbound = "Bearer wlcg-token-0123456789", "Bearer cern-token-0123456789"
	const reader = "Bearer read-token-0123456789"
	const readerRefused = `{"success":false,"message":"to take jobs and report on them needs the role pilot or operator or admin; this is read (reader)","data":null}`
	const refused = `{"success":false,"message":"to steer needs the role submitter or operator or admin; this is wlcg (pilot)","data":null}`
	const oldBlind = `{"StatusCode":60,"errorDialog":"to look into tasks needs the role submitter or reader or share-owner or operator or admin; this is wlcg (pilot)"}`
	const oldRefused = `{"StatusCode":60,"errorDialog":"to steer needs the role submitter or operator or admin; this is wlcg (pilot)"}`
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
		{knock{path: "/api/v1/pilot/update_job", authorization: reader}, readerRefused},
		{knock{path: "/api/v1/task/kill", authorization: reader}, strings.Replace(refused, "wlcg (pilot)", "read (reader)", 1)},
		{knock{path: "/server/panda/getJediTaskDetails", authorization: bound, origin: "wlcg.pilot"}, oldBlind},
		{knock{path: "/server/panda/getTaskParamsMap", authorization: bound, origin: "wlcg.pilot"}, oldBlind},
		{knock{path: "/server/panda/getUserJobMetadata", authorization: bound, origin: "wlcg.pilot"}, oldBlind},
		{knock{path: "/server/panda/getJediTaskDetails", authorization: reader}, ""},
		{knock{path: "/server/panda/getStatus", authorization: bound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/server/panda/checkJobStatus", authorization: bound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/server/panda/getJobStatisticsPerSite", authorization: bound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/api/v1/task/kill", authorization: unbound, origin: "wlcg.pilot"}, ""},
		{knock{path: "/api/v1/task/kill", authorization: "Bearer ops-token-0123456789", origin: "wlcg.pilot"}, ""},
	} {
		status, body := c.do(t, http.DefaultClient, url)
		if status != 200 || (c.want == "") != strings.HasPrefix(body, "caller ") || c.want != "" && body != c.want {
			t.Errorf("%+v: %d %s", c.knock, status, body)
		}
	}
}

// Nor does it read what tasks and jobs are made of: it gets the commands of the jobs that it takes with them. How jobs stand
// it may ask.
func TestPilotsLookIntoNothing(t *testing.T) {
	url := listen(t, guardOf(t, false, ""), nil)
	const refused = `{"success":false,"message":"to look into tasks needs the role submitter or reader or share-owner or operator or admin; this is wlcg (pilot)","data":null}`
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
	s := newServer(Config{Jobs: (*dispatcher.Dispatcher)(nil), Known: (*view.Reader)(nil), Submissions: (*generator.Submissions)(nil), Steering: (*generator.Verbs)(nil), Site: (*site.Store)(nil),
		Work: (*view.Reader)(nil), Workers: (*harvester.Store)(nil)})
	n := 0
	for _, e := range s.calls() {
		if e.Method == http.MethodPost {
			continue
		}
		n++
		group, _, _ := strings.Cut(strings.TrimPrefix(e.Path, "/"), "/")
		closed := (group == "task" || group == "job") && !free[e.Path]
		for _, version := range []string{"/api/v1", "/api/latest"} {
			if got := look(version+e.Path+"?task_id=1", "wlcg-token-0123456789", "wlcg.pilot"); (got == refused) != closed || !closed && !strings.HasPrefix(got, "caller ") {
				t.Errorf("%s: %s", version+e.Path, got)
			}
			if got := look(version+e.Path, "cern-token-0123456789", "wlcg"); !strings.HasPrefix(got, "caller ") {
				t.Errorf("%s for who is no pilot: %s", version+e.Path, got)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d questions, expected more than twenty", n)
	}
}

// The audit says which of the tokens it was.
func TestAuditNamesOperators(t *testing.T) {
	var got *access.Caller
	guarded := guardOf(t, false, "").guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = access.CallerIn(r.Context()) }))
	r := httptest.NewRequest(http.MethodPost, "/api/v1/task/kill", nil)
	r.Header.Set("Authorization", "Bearer cern-token-0123456789")
	guarded.ServeHTTP(httptest.NewRecorder(), r)
	if got == nil || got.Name != "cern" || got.Role != access.Operator {
		t.Errorf("%+v", got)
	}
}

type gate struct{ *site.Site }

func TestMayPull(t *testing.T) {
	st, err := site.Parse("f", []byte("shares: [{name: A}]\nqueues: [{name: all}, {name: few, pilots: [token:cern, vo:wlcg.pilot]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	const lists = ": the site file lists its pilots"
	for _, c := range []struct {
		access.Caller
		want string
	}{
		{access.Caller{ID: 1, Name: "cern", Role: access.Pilot}, ""},
		{access.Caller{ID: 1, Name: "cern", Role: access.Pilot, Subject: access.Subject{Queues: []string{"all"}}}, "queue few is not one at which cern (pilot of queues all) may pull"},
		{access.Caller{ID: 1, Name: "x", Role: access.Pilot, Origin: "wlcg.pilot"}, ""},
		{access.Caller{ID: 1, Name: "op", Role: access.Operator}, ""},
		{*access.Anybody, "queue few is not for a pilot without a credential" + lists},
		{access.Caller{ID: 1, Name: "ral", Role: access.Pilot, Origin: "wlcg.user"}, "queue few is not for token ral, origin wlcg.user" + lists},
		{access.Caller{From: "x", Name: "cern", Vouched: true, Role: access.Pilot}, "queue few is not for user cern" + lists},
	} {
		s, ctx := newServer(Config{Gate: gate{st}}), access.With(t.Context(), &c.Caller)
		if err := s.mayPull(ctx, "all"); err != nil {
			t.Errorf("%+v: %v", c.Caller, err)
		}
		got := ""
		if err := s.mayPull(ctx, "few"); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.Caller, got, c.want)
		}
	}
}

// Tokens of issuers are known by their claims and what they say of themselves; an issuer that does not answer is no reason to refuse for ever.
func TestIssuers(t *testing.T) {
	i := ownca.NewIssuer(t)
	guard := guardOf(t, false, i.URL+" divvy groups=/atlas/production operator user:{sub} origin:atlas.production\n"+i.URL+" divvy groups=/atlas submitter user:{sub} origin:atlas\n"+
		i.URL+" divvy groups=/atlas pilot origin:atlas.pilot\n")
	url := listen(t, guard, nil)
	producer := i.Token(map[string]any{"groups": []string{"/atlas", "/atlas/production"}})
	for _, c := range []struct{ token, origin, path, want string }{
		{i.Token(nil), "atlas", "/api/v1/task/kill", "caller ann (submitter of user ann)  atlas"},
		{i.Token(nil), "atlas.pilot", "/api/v1/pilot/acquire_jobs", "caller ann (pilot)  atlas.pilot"},
		{producer, "atlas.production", "/api/v1/task/kill", "caller ann (operator)  atlas.production"},
		{producer, "atlas", "/api/v1/task/kill", "caller ann (submitter of user ann)  atlas"},
		{i.Token(nil), "atlas.production", "/api/v1/task/kill", `{"success":false,"message":"ann may not speak for atlas.production, only for atlas","data":null}`},
		{i.Token(map[string]any{"groups": nil}), "atlas", "/api/v1/task/kill", `{"success":false,"message":"the token of ann has no claim that stands for a role here","data":null}`},
	} {
		if _, body := (knock{path: c.path, authorization: "Bearer " + c.token, origin: c.origin}).do(t, http.DefaultClient, url); body != c.want {
			t.Errorf("%s at %s: %s, want %s", c.origin, c.path, body, c.want)
		}
	}
	away := ownca.NewIssuer(t)
	away.Away.Store(true)
	url = listen(t, guardOf(t, false, away.URL+" divvy groups=/atlas pilot"), nil)
	words := "the token cannot be checked now: its issuer " + away.URL + " does not answer; try again"
	for path, want := range map[string]string{"/server/panda/updateJob": `{"StatusCode":10,"errorDialog":"` + words + `"}`, "/api/v1/pilot/update_job": `{"success":false,"message":"` + words + `","data":null}`} {
		if status, body := (knock{path: path, authorization: "Bearer " + away.Token(nil)}).do(t, http.DefaultClient, url); status != http.StatusServiceUnavailable || body != want {
			t.Errorf("%d %s, want %s", status, body, want)
		}
	}
}
