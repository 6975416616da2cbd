//go:build pandapilot

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
)

// tap stands between a pilot and a daemon and notes what the pilot says and is told.
type tap struct {
	url string
	mu  sync.Mutex
	all []string
	cmd []string
}

func recordWire(t *testing.T, to string) *tap {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	w := &tap{}
	proxy := httputil.NewSingleHostReverseProxy(at) // the daemon hears the proxy's name in Host, as the pilot knows it
	proxy.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var told struct{ Command string }
		if json.Unmarshal(body, &told) == nil && told.Command != "" {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.cmd = append(w.cmd, told.Command)
		}
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the pilot has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.note(path.Base(r.URL.Path), body)
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// note keeps the states of updates, and that jobs were asked for.
func (w *tap) note(call string, body []byte) {
	if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
		body, _ = io.ReadAll(z)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch call {
	case "getJob":
		w.all = append(w.all, call)
	case "updateJob":
		var said struct{ State string }
		_ = json.Unmarshal(body, &said) // what is none shows as an empty state
		w.all = append(w.all, said.State)
	}
}

func (w *tap) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.all, " ")
}

func (w *tap) commands() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.cmd...)
}
