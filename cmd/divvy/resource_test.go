package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/golden"
)

func TestResourceTables(t *testing.T) {
	server := fakeServer(t, map[string]string{
		"GET /v1/resources":                  "resources.json",
		"GET /v1/resources/maya":             "resource.json",
		"PUT /v1/resources/maya/capacity":    "capacity.json",
		"DELETE /v1/resources/maya/capacity": "capacity-reset.json",
	})
	for name, args := range map[string][]string{
		"resource-list":      {"resource", "list"},
		"resource-list-wide": {"resource", "list", "-o", "wide"},
		"resource-show":      {"resource", "show", "maya"},
		"resource-show-json": {"resource", "show", "maya", "-o", "json"},
		"resource-set":       {"resource", "set", "maya", "--capacity", "6", "--queue", "CERN"},
		"resource-reset":     {"resource", "set", "maya", "--reset"},
	} {
		t.Run(name, func(t *testing.T) {
			o := divvy(t, append(args, "--server", server)...)
			if o.code != fail.OK {
				t.Fatalf("exit code %d: %s", o.code, o.err)
			}
			golden.Equal(t, "testdata/golden/"+name+".txt", o.out)
		})
	}
}

func TestResourceCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"set maya":                              "one of --capacity N and --reset",
		"set maya --capacity 1 --reset":         "one of --capacity N and --reset",
		"set maya --capacity=-1":                "--capacity -1: expected 0 or more",
		"set --reset":                           "resource set needs RESOURCE",
		"watch maya":                            "needs --exec COMMAND",
		"watch maya --exec true --every 1ms":    "--every 1ms: expected a second or more",
		"watch maya --exec true --used-regex x": "go together",
		"watch maya --exec true --used-regex (x) --total-regex [": "--total-regex: error parsing regexp",
		"watch maya --exec true --used-regex x --total-regex (x)": "has no group",
	} {
		o := divvy(t, append([]string{"resource", "--server", "http://127.0.0.1:1"}, strings.Fields(line)...)...)
		if o.code != fail.Usage || !strings.Contains(o.err, want) {
			t.Errorf("resource %s: exit code %d, %q", line, o.code, o.err)
		}
	}
}

// licences is a server that takes reports, or answers with a status.
type licences struct {
	mu      sync.Mutex
	status  int
	reports []string
	*httptest.Server
}

func newLicences(t *testing.T) *licences {
	l := &licences{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		var body struct{ Total, Used int64 }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		l.reports = append(l.reports, fmt.Sprint(r.Method, " ", r.URL.RequestURI(), " ", body.Total, " ", body.Used))
		if l.status != 0 {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(l.status)
			_, _ = fmt.Fprintf(w, `{"title":"No resource has this name","status":%d,"code":"unknown_resource"}`, l.status)
			return
		}
		_, _ = fmt.Fprint(w, `{"items":[]}`)
	}))
	t.Cleanup(l.Close)
	return l
}

func TestWatchReportsOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args         []string
		status       int
		report       string // total and used; "" = none
		code         int
		output, errs string
	}{
		{[]string{"--exec", "echo 100 30"}, 0, "/v1/resources/maya/external 100 30", 0, "maya: 30 of 100 used", ""},
		{[]string{"--exec", "printf '100,\n30\n'", "--queue", "CERN"}, 0, "/v1/resources/maya/external?queue=CERN 100 30", 0, "maya at CERN: 30 of 100 used", ""},
		{[]string{"--exec", "echo 'Users of maya:  (Total of 60 licenses issued;  Total of 1 license in use)'; echo 'Users of maya2:  (Total of 40 licenses issued;  Total of 29 licenses in use)'",
			"--total-regex", `Total of (\d+) licenses? issued`, "--used-regex", `Total of (\d+) licenses? in use`}, 0, "/v1/resources/maya/external 100 30", 0, "30 of 100", ""},
		{[]string{"--exec", "echo no server; echo down >&2; exit 3"}, 0, "", 1, "", `maya: the command "echo no server; echo down >&2; exit 3" failed: exit status 3; it printed "down"`},
		{[]string{"--exec", "sleep 60", "--every", "1s"}, 0, "", 1, "", `the command "sleep 60" failed: it took longer than 1s (--every)`},
		{[]string{"--exec", "echo 100"}, 0, "", 1, "", `the command "echo 100": expected two whole numbers, total and used; it printed "100"`},
		{[]string{"--exec", "true"}, 0, "", 1, "", "expected two whole numbers, total and used; it printed nothing"},
		{[]string{"--exec", "echo 99999999999 1"}, 0, "", 1, "", `"99999999999" is not a whole number in 0 … 1000000000`},
		{[]string{"--exec", "echo a=1", "--total-regex", `a=(\d+)`, "--used-regex", `b=(\d+)`}, 0, "", 1, "", `--used-regex "b=(\\d+)" does not match what it printed; it printed "a=1"`},
		{[]string{"--exec", "echo a=x", "--total-regex", `a=(.)`, "--used-regex", `(a)`}, 0, "", 1, "", `--total-regex: "x" is not a whole number`},
		{[]string{"--exec", "echo 1 1"}, 404, "/v1/resources/maya/external 1 1", 1, "", "No resource has this name"},
	} {
		l := newLicences(t)
		l.status = c.status
		o := divvy(t, append([]string{"resource", "watch", "maya", "--once", "--server", l.URL}, c.args...)...)
		got := strings.TrimPrefix(strings.Join(l.reports, ";"), "POST ")
		if got != c.report || o.code != c.code || !strings.Contains(o.out, c.output) || !strings.Contains(o.err, c.errs) {
			t.Errorf("%q: reported %q, exit code %d, %q, %q", c.args, got, o.code, o.out, o.err)
		}
	}
}

// A watch goes on when its command fails or the daemon is away, and says so; a change is told, the same figures are not.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	l := newLicences(t)
	dir := t.TempDir()
	// 1: good. 2: the command fails. 3: the daemon is away. 4: as in 1. 5: another figure.
	script := `n=$(($(cat ` + dir + `/n 2>/dev/null || echo 0) + 1)); echo $n > ` + dir + `/n; case $n in 2) exit 9;; 5) echo 100 31;; *) echo 100 30;; esac`
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	seen := func(b []byte) {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case bytes.Contains(b, []byte("exit status 9")):
			l.status = http.StatusServiceUnavailable
		case bytes.Contains(b, []byte("No resource")):
			l.status = 0
		case bytes.Contains(b, []byte("31 of 100")):
			cancel()
		}
	}
	args := []string{"resource", "watch", "maya", "--every", "1s", "--exec", script, "--server", l.URL}
	code := cli.Execute(ctx, cli.Streams{In: strings.NewReader(""), Out: heard{&out, seen}, Err: heard{&errs, seen}}, rootCommand, args)
	if code != fail.OK || strings.Count(out.String(), "used\n") != 2 || !strings.Contains(out.String(), "30 of 100 used\n") || !strings.Contains(errs.String(), "exit status 9") ||
		!strings.Contains(errs.String(), "maya: No resource has this name") {
		t.Errorf("exit code %d\n%s%s%v", code, out.String(), errs.String(), l.reports)
	}
}

// heard tells what is written.
type heard struct {
	*bytes.Buffer
	tell func([]byte)
}

func (h heard) Write(p []byte) (int, error) {
	n, err := h.Buffer.Write(p)
	h.tell(p)
	return n, err
}

// A watch that is told to leave while its command runs leaves at once, without an error.
func TestWatchLeaves(t *testing.T) {
	t.Parallel()
	l := newLicences(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	var out, errs bytes.Buffer
	began := time.Now()
	code := cli.Execute(ctx, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, rootCommand, []string{"resource", "watch", "maya", "--exec", "sleep 30", "--server", l.URL})
	if code != fail.OK || errs.Len() > 0 || time.Since(began) > 20*time.Second {
		t.Errorf("exit code %d after %s: %s", code, time.Since(began), errs.String())
	}
}
