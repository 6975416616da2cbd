package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// Health says by its exit code what probes would say, and needs no token for it: one that is not ready lives all the same.
func TestHealth(t *testing.T) {
	d, _ := launch(t, func(c *config.Config) { c.Access.TokenFile = servetest.File(t, "token-of-the-file-0123456789") })
	t.Setenv("DIVVY_TOKEN_FILE", "/nowhere/token")
	if o := divvy(t, "health", "--server", d.URL()); o.code != fail.OK || o.out != "ready\n" {
		t.Errorf("%+v", o)
	}
	if o := divvy(t, "health", "--live", "--server", d.URL(), "-o", "json"); o.code != fail.OK || !strings.Contains(o.out, `"live"`) {
		t.Errorf("%+v", o)
	}
	leaving := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, `{"status":"live"}`)
	}))
	defer leaving.Close()
	if o := divvy(t, "health", "--server", leaving.URL); o.code != fail.Failed || o.err == "" {
		t.Errorf("while it leaves: %+v", o)
	}
	if o := divvy(t, "health", "--live", "--server", leaving.URL); o.code != fail.OK {
		t.Errorf("while it leaves: %+v", o)
	}
	ill := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer ill.Close()
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"health", "--live", "--server", ill.URL}, fail.Failed},
		{[]string{"health", "--server", "http://127.0.0.1:1"}, fail.Failed},
		{[]string{"health", "now"}, fail.Usage},
	} {
		if o := divvy(t, c.args...); o.code != c.code || o.err == "" {
			t.Errorf("%v: %+v", c.args, o)
		}
	}
}
