package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/internal/access"
)

// The page stands behind the same tokens as the API, and its errors are pages in the API's words.
func TestPageIsServed(t *testing.T) {
	b := newBench(t)
	w := b.call("GET", "/", "", "Accept", "text/html")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `href="/shares/A"`) || w.Header().Get("Content-Security-Policy") == "" {
		t.Fatalf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
	if w := b.call("GET", "/?format=json", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"path":"A"`) || !strings.Contains(w.Body.String(), `"at":"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w = b.call("GET", "/shares/Nobody", "", "Accept", "text/html")
	if w.Code != 404 || !strings.Contains(w.Body.String(), "no_page") || !strings.Contains(w.Body.String(), w.Header().Get(edge.HeaderRequestID)) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.problem(b.call("GET", "/shares/Nobody", "", "Accept", "application/json"), 404)
	if p := b.problem(b.call("GET", "/?colour=red&format=json", ""), 422); len(p.Errors) != 1 || p.Errors[0].Location != "query.colour" {
		t.Error(p)
	}
	if w := b.call("GET", "/nothing", "", "Accept", "text/html"); w.Code != 404 || !strings.Contains(w.Body.String(), "<html") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.problem(b.call("GET", "/nothing", ""), 404)
}

func TestPageAsksForAToken(t *testing.T) {
	tokens, err := access.ReadTokens("token file", strings.NewReader(secret))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(c *Config) { c.Book, c.Closed = access.NewBook(nil, tokens...), true })
	w := b.call("GET", "/shares/A?format=json", "", "Accept", "text/html")
	if to := w.Header().Get("Location"); w.Code != 303 || to != "/login?next=%2Fshares%2FA%3Fformat%3Djson" {
		t.Errorf("%d to %q", w.Code, to)
	}
	if w := b.call("GET", "/shares/A", "", "Authorization", "Bearer "+secret, "Accept", "application/json"); w.Code != 200 {
		t.Errorf("with a token: %d", w.Code)
	}
	b.problem(b.call("GET", "/", "", "Accept", "application/json"), 401)
	b.problem(b.call("GET", "/events?of=/", "", "Accept", "text/event-stream"), 401)

	w = b.call("GET", "/login?next=//evil.example", "", "Accept", "text/html")
	if w.Code != 200 || strings.Contains(w.Body.String(), "evil") || !strings.Contains(w.Body.String(), "JSON web tokens of other issuers are for the API") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	form := cookieOf(t, w, "divvy_form")
	const kind = "application/x-www-form-urlencoded"
	login := func(body, cookie string) *httptest.ResponseRecorder {
		return b.call("POST", "/login", body, "Content-Type", kind, "Cookie", cookie, "Accept", "text/html")
	}
	if w := login("token="+secret+"&form_token=00112233445566778899aabbccddeeff", "divvy_form="+form); w.Code != 403 {
		t.Errorf("a form of somebody else: %d", w.Code)
	}
	if w := login("token=another-token-of-length&form_token="+form, "divvy_form="+form); w.Code != 401 {
		t.Errorf("a wrong token: %d", w.Code)
	}
	w = login("token="+secret+"&next=/shares/A&form_token="+form, "divvy_form="+form)
	if w.Code != 303 || w.Header().Get("Location") != "/shares/A" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	session := cookieOf(t, w, "divvy_session")
	if strings.Contains(session, secret) {
		t.Error("the session holds the token")
	}
	if w := b.call("GET", "/shares/A", "", "Cookie", "divvy_session="+session, "Accept", "text/html"); w.Code != 200 {
		t.Errorf("with a session: %d", w.Code)
	}
	if w := b.call("GET", "/v1/status", "", "Cookie", "divvy_session="+session); w.Code != 401 {
		t.Errorf("a session is for pages, not for /v1: %d", w.Code)
	}
	forged := session[:len(session)-2] + "zz"
	if w := b.call("GET", "/shares/A", "", "Cookie", "divvy_session="+forged, "Accept", "application/json"); w.Code != 401 {
		t.Errorf("with a forged session: %d", w.Code)
	}
}

func cookieOf(t *testing.T, w *httptest.ResponseRecorder, name string) string {
	t.Helper()
	for _, c := range w.Result().Cookies() {
		if c.Name == name {
			return c.Value
		}
	}
	t.Fatalf("no cookie %s in %v", name, w.Header())
	return ""
}
