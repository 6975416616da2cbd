package api

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/ownca"
)

// withIssuer lets in whom lines name, in which I is the issuer.
func withIssuer(t *testing.T, i *ownca.Issuer, lines string) func(*Config) {
	t.Helper()
	is, err := access.ReadIssuers(nil)("f", strings.NewReader(strings.ReplaceAll(lines, "I ", i.URL+" ")))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) {
		withRoles(c)
		c.Outside = func() *access.Outside { return &access.Outside{Issuers: is} }
	}
}

const loginLines = "I divvy login groups\nI divvy sub=ann submitter user:{preferred_username}\n"

// Who has no credential learns where to get one.
func TestLoginRoute(t *testing.T) {
	i := ownca.NewIssuer(t)
	b := newBench(t, withIssuer(t, i, loginLines))
	w := b.call("GET", "/v1/login", "")
	var l wire.Login
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || w.Code != 200 || l.Issuer != i.URL || l.ClientID != "divvy" || strings.Join(l.Scopes, " ") != "openid profile groups" {
		t.Errorf("%d %+v %v", w.Code, l, err)
	}
	for name, change := range map[string]func(*Config){"no issuer": withRoles, "no line": withIssuer(t, i, "I divvy sub=ann reader"), "open": func(*Config) {}} {
		b := newBench(t, change)
		if p := b.problem(b.call("GET", "/v1/login", ""), 404); p.Code != "no_login" || !strings.Contains(p.Hint, "CLIENT login") {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Each kind of credential is told for whom it stands.
func TestWhoami(t *testing.T) {
	i := ownca.NewIssuer(t)
	b := newBench(t, withIssuer(t, i, loginLines))
	ask := func(b *bench, token string) (me wire.Whoami) {
		t.Helper()
		w := b.call("GET", "/v1/whoami", "", "Authorization", "Bearer "+token)
		if err := json.Unmarshal(w.Body.Bytes(), &me); err != nil || w.Code != 200 {
			t.Fatalf("%d %s %v", w.Code, w.Body, err)
		}
		return me
	}
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	me := ask(b, i.Token(map[string]any{"preferred_username": "alice", "exp": until.Unix()}))
	if me.Name != "ann" || me.Role != "submitter" || me.User != "alice" || me.By != "web token" || me.Subject != i.URL+" ann" || !me.Until.Equal(until) || !strings.HasPrefix(me.May, "submit, steer") {
		t.Errorf("%+v", me)
	}
	if me := ask(b, tokenOf(access.Pilot)); me.By != "token" || me.Role != "pilot" || strings.Join(me.Queues, ",") != "CERN" || me.Subject != "" || me.Until != nil || me.May == "" {
		t.Errorf("%+v", me)
	}
	file, err := access.ReadTokens("f", strings.NewReader("0123456789abcdef-ops ops operator"))
	if err != nil {
		t.Fatal(err)
	}
	if me := ask(newBench(t, func(c *Config) { c.Book, c.Closed = access.NewBook(nil, file...), true }), "0123456789abcdef-ops"); me.By != "token file" || me.Name != "ops" {
		t.Errorf("%+v", me)
	}
	if me := ask(newBench(t), ""); me.By != "none" || me.Role != "admin" || me.Until != nil {
		t.Errorf("%+v", me)
	}
	b.problem(b.call("GET", "/v1/whoami", "", "Authorization", "Bearer "+i.Token(map[string]any{"sub": "eve"})), 401)
}

// surfer is a browser, as far as a login needs one.
type surfer struct {
	t    *testing.T
	http *http.Client
	at   string // the daemon
}

func newSurfer(t *testing.T, h http.Handler) *surfer {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &surfer{t, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, s.URL}
}

// get opens a page; to is where it leads, by a redirect or by itself.
func (s *surfer) get(address string) (status int, to, text string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	to = resp.Header.Get("Location")
	if after, ok := strings.CutPrefix(resp.Header.Get("Refresh"), "0; url="); ok {
		to = after
	}
	return resp.StatusCode, to, string(body)
}

// toIssuer begins a login and returns where the issuer sends the browser back to.
func (s *surfer) toIssuer(next string) (back string) {
	s.t.Helper()
	status, to, text := s.get(s.at + "/login/start?next=" + url.QueryEscape(next))
	if status != http.StatusSeeOther {
		s.t.Fatalf("%d %s", status, text)
	}
	if _, back, _ = s.get(to); !strings.HasPrefix(back, s.at+"/login/back?") {
		s.t.Fatalf("the issuer sends the browser to %q", back)
	}
	return back
}

// A browser logs in at the issuer, and is that person until its session ends.
func TestPageLogin(t *testing.T) {
	i := ownca.NewIssuer(t)
	i.Claims = map[string]any{"preferred_username": "alice"}
	b := newBench(t, withIssuer(t, i, loginLines))
	s := newSurfer(t, b.handler)
	if _, to, _ := s.get(s.at + "/queues"); to != "/login?next=%2Fqueues" {
		t.Errorf("without a session: to %q", to)
	}
	if _, _, text := s.get(s.at + "/login?next=%2Fqueues"); !strings.Contains(text, `href="/login/start?next=%2Fqueues"`) || !strings.Contains(text, "Log in at "+strings.TrimPrefix(i.URL, "http://")) {
		t.Error(text)
	}
	status, to, text := s.get(s.toIssuer("/queues?x=ü"))
	if status != 200 || to != "/queues?x=ü" && to != "/queues?x=%C3%BC" || !strings.Contains(text, "You are logged in") {
		t.Errorf("%d to %q: %s", status, to, text)
	}
	if status, to, text := s.get(s.at + "/queues"); status != 200 || !strings.Contains(text, "Log out") {
		t.Errorf("%d to %q: %s", status, to, text)
	}
	if status, _, _ := s.get(s.at + "/changes"); status != http.StatusForbidden {
		t.Errorf("a submitter sees the audit: %d", status)
	}
	there, _ := url.Parse(s.at)
	for _, c := range s.http.Jar.Cookies(there) {
		if c.Name == "divvy_session" {
			b.problem(b.call("GET", "/v1/status", "", "Authorization", "Bearer "+c.Value), 401)
			_, token, _ := strings.Cut(c.Value, ".")
			stolen := &http.Cookie{Name: c.Name, Value: "x." + token}
			if w := b.call("GET", "/queues", "", "Cookie", stolen.String(), "Accept", "text/html"); w.Code != http.StatusSeeOther {
				t.Errorf("a token without what its nonce was made of: %d", w.Code)
			}
		}
	}
	if w := b.call("GET", "/login/start", ""); !strings.Contains(strings.Join(w.Header()["Set-Cookie"], " "), "SameSite=Lax") {
		t.Errorf("cookies %q", w.Header()["Set-Cookie"])
	}
	secure := b.call("GET", "/login/start", "", "X-Forwarded-Proto", "https")
	if to := secure.Header().Get("Location"); !strings.Contains(to, "redirect_uri=https%3A%2F%2Fexample.com%2Flogin%2Fback") || !strings.Contains(secure.Header().Get("Set-Cookie"), "Secure") {
		t.Errorf("behind a proxy: %s, %s", to, secure.Header().Get("Set-Cookie"))
	}
}

// A login that fails says why, and logs nobody in.
func TestPageLoginFails(t *testing.T) {
	for name, c := range map[string]struct {
		set   func(*ownca.Logins)
		lines string
		do    func(s *surfer, i *ownca.Issuer) string // returns where the browser comes back to
		code  int
		want  string
	}{
		"wrong state": {do: func(s *surfer, _ *ownca.Issuer) string {
			return strings.Replace(s.toIssuer("/"), "state=", "state=x", 1)
		},
			code: 401, want: "this login was not begun in this browser"},
		"another browser": {do: func(s *surfer, _ *ownca.Issuer) string {
			back := s.toIssuer("/")
			s.http.Jar, _ = cookiejar.New(nil)
			return back
		}, code: 401, want: "this login was not begun in this browser"},
		"wrong nonce": {set: func(l *ownca.Logins) { l.Nonce = "x" }, code: 401, want: "its nonce differs"},
		"denied": {do: func(s *surfer, _ *ownca.Issuer) string {
			return s.at + "/login/back?error=access_denied&error_description=" + url.QueryEscape("<b>no</b>") + "&" + strings.SplitN(s.toIssuer("/"), "?", 2)[1]
		}, code: 401, want: "says: access_denied: &lt;b&gt;no&lt;/b&gt;"},
		"no role":          {set: func(l *ownca.Logins) { l.Claims = map[string]any{"sub": "eve"} }, code: 401, want: "the token of eve has no claim that stands for a role here"},
		"another audience": {set: func(l *ownca.Logins) { l.Claims = map[string]any{"aud": "x"} }, code: 401, want: "is not for this server"},
		"too long": {set: func(l *ownca.Logins) {
			l.Claims = map[string]any{"preferred_username": "alice", "x": strings.Repeat("x", 3000)}
		}, code: 401,
			want: "ask for fewer scopes"},
		"issuer away": {do: func(s *surfer, i *ownca.Issuer) string {
			back := s.toIssuer("/")
			i.Away.Store(true)
			return back
		}, code: 502, want: "does not answer"},
		"old": {set: func(l *ownca.Logins) {
			l.Claims = map[string]any{"preferred_username": "alice", "iat": time.Now().Add(-13 * time.Hour).Unix()}
		}, code: 401, want: "the login is over"},
		"no line": {lines: "I divvy sub=ann reader", do: func(s *surfer, _ *ownca.Issuer) string { return s.at + "/login/back?state=x&code=y" }, code: 401,
			want: "this login was not begun in this browser"},
	} {
		t.Run(name, func(t *testing.T) {
			i := ownca.NewIssuer(t)
			if c.set != nil {
				i.Now(c.set)
			}
			if c.lines == "" {
				c.lines = loginLines
			}
			if c.do == nil {
				c.do = func(s *surfer, _ *ownca.Issuer) string { return s.toIssuer("/") }
			}
			s := newSurfer(t, newBench(t, withIssuer(t, i, c.lines)).handler)
			status, _, text := s.get(c.do(s, i))
			if status != c.code || !strings.Contains(text, c.want) || !strings.Contains(text, `role="alert"`) {
				t.Errorf("%d %s, want %d %s", status, text, c.code, c.want)
			}
			there, _ := url.Parse(s.at)
			for _, cookie := range s.http.Jar.Cookies(there) {
				if cookie.Name == "divvy_session" {
					t.Error("there is a session")
				}
			}
		})
	}
}

// A session lasts as long as it says, although its token is good for minutes only, and ends with the line that lets its person in.
func TestSessionOutlivesItsToken(t *testing.T) {
	i := ownca.NewIssuer(t)
	i.Claims = map[string]any{"preferred_username": "alice", "exp": time.Now().Add(-time.Hour).Unix(), "iat": time.Now().Add(-2 * time.Hour).Unix()}
	b := newBench(t, withIssuer(t, i, loginLines))
	s := newSurfer(t, b.handler)
	if status, _, text := s.get(s.toIssuer("/queues")); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if status, _, _ := s.get(s.at + "/queues"); status != 200 {
		t.Errorf("%d", status)
	}
	changed := newBench(t, withIssuer(t, i, "I divvy login\n"))
	there, _ := url.Parse(s.at)
	for _, c := range s.http.Jar.Cookies(there) {
		if w := changed.call("GET", "/queues", "", "Cookie", c.String(), "Accept", "text/html"); c.Name == "divvy_session" && w.Code != http.StatusSeeOther {
			t.Errorf("without its line: %d", w.Code)
		}
	}
}
