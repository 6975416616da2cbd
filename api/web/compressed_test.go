package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Pages and scripts are sent compressed to who takes that, and say the same.
func TestCompressed(t *testing.T) {
	s := newStage(t)
	get := func(path, takes string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Accept-Encoding", takes)
		w := httptest.NewRecorder()
		s.mux.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s: %d", path, w.Code)
		}
		return w
	}
	for _, path := range []string{"/tasks", "/assets/page.js", "/assets/page.css"} {
		plain, small := get(path, ""), get(path, "gzip, br")
		if plain.Header().Get("Content-Encoding") != "" || small.Header().Get("Content-Encoding") != "gzip" || small.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v, compressed %v", path, plain.Header(), small.Header())
			continue
		}
		if n, all := small.Body.Len(), plain.Body.Len(); n > all/2 {
			t.Errorf("%s: %d bytes of %d", path, n, all)
		}
		z, err := gzip.NewReader(small.Body)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if path != "/tasks" && string(body) != plain.Body.String() { // a page says when it was made
			t.Errorf("%s says something else compressed", path)
		} else if path == "/tasks" {
			checkPage(t, string(body))
		}
	}
}
