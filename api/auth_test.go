package api

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/access"
)

const secret = "0123456789abcdef-secret"

func TestTokens(t *testing.T) {
	tokens, err := access.ReadTokens("token file", strings.NewReader("# pilots\n\n"+secret+"\nanother-token-of-length\n"))
	if err != nil || len(tokens) != 2 {
		t.Fatal(tokens, err)
	}
	b := newBench(t, func(c *Config) { c.Book, c.Closed = access.NewBook(nil, tokens...), true })
	for _, c := range []struct {
		authorization string
		want          int
	}{
		{"", 401}, {"Bearer " + secret, 200}, {"bearer another-token-of-length", 200}, {"Bearer " + secret + "x", 401},
		{"Basic " + secret, 401}, {"Bearer", 401}, {secret, 401},
	} {
		for _, path := range []string{"/v1/status", "/metrics", "/openapi.json"} {
			w := b.call("GET", path, "", "Authorization", c.authorization)
			if w.Code != c.want {
				t.Errorf("%s with %q: %d, want %d", path, c.authorization, w.Code, c.want)
			}
			if w.Code == 401 && w.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", path)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if w := b.call("GET", path, ""); w.Code != 200 {
			t.Errorf("%s needs a token: %d", path, w.Code)
		}
	}
	b.problem(b.call("POST", "/v1/pulls", goodPull), 401)
}

// Without tokens a web page that the user happens to visit must not reach the API through the user's browser.
func TestForeignPages(t *testing.T) {
	b := newBench(t)
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8470}
	for _, c := range []struct {
		method, host, site, origin string
		want                       int
	}{
		{"POST", "127.0.0.1:8470", "", "", 200},
		{"POST", "localhost:8470", "same-origin", "http://localhost:8470", 200},
		{"POST", "localhost:8470", "cross-site", "https://evil.example", 403},
		{"POST", "localhost:8470", "", "https://evil.example", 403},
		{"POST", "evil.example:8470", "same-origin", "http://evil.example:8470", 403},
		{"POST", "[::1]:8470", "", "", 200},
	} {
		r := httptest.NewRequest(c.method, "/v1/pulls", strings.NewReader(goodPull))
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, loopback))
		r.Host = c.host
		r.Header.Set("Sec-Fetch-Site", c.site)
		r.Header.Set("Origin", c.origin)
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
	}
}
