package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/golden"
)

// outcome is what a command line did.
type outcome struct {
	code     int
	out, err string
}

func divvy(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	code := cli.Execute(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, rootCommand, args)
	return outcome{code, out.String(), errs.String()}
}

// fakeServer answers "METHOD /path" with a file of testdata/api.
func fakeServer(t *testing.T, answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := answers[r.Method+" "+r.URL.Path]
		if !ok {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]any{"title": "Nothing lives at this path", "status": 404, "code": "no_route", "detail": r.URL.Path})
			return
		}
		b, err := os.ReadFile(filepath.Join("testdata/api", name))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(name, "problem") {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// What people see, as files. Ages are left out of these: they would change with the day.
func TestTables(t *testing.T) {
	server := fakeServer(t, map[string]string{
		"GET /v1/shares":             "shares.json",
		"GET /v1/queues":             "queues.json",
		"GET /v1/queues/CERN":        "queue.json",
		"GET /v1/site/versions":      "versions.json",
		"GET /v1/site/later":         "later.json",
		"GET /v1/site/versions/3":    "version.json",
		"GET /v1/site/diff":          "diff.json",
		"PUT /v1/site":               "dryrun.json",
		"POST /v1/tags/test":         "tags.json",
		"POST /v1/tasks/actions":     "acted.json",
		"POST /v1/jobs/12/kill":      "killed.json",
		"POST /v1/tasks/7/priority":  "priority.json",
		"POST /v1/tasks/7/scale":     "scale.json",
		"POST /v1/resource-claims":   "claim_created.json",
		"DELETE /v1/resource-claims": "claim_deleted.json",
		"GET /v1/jobs/12/log":        "log.json",
		"POST /v1/queues/CERN/drain": "queue.json",
	})
	for name, args := range map[string][]string{
		"shares-show":      {"shares", "show"},
		"shares-show-wide": {"shares", "show", "-o", "wide"},
		"shares-show-yaml": {"shares", "show", "-o", "yaml"},
		"shares-history":   {"shares", "history"},
		"shares-version":   {"shares", "show", "--version", "3"},
		"shares-diff":      {"shares", "diff", "2", "3"},
		"queue-list":       {"queue", "list"},
		"queue-list-wide":  {"queue", "list", "-o", "wide"},
		"queue-show":       {"queue", "show", "CERN"},
		"queue-drain":      {"queue", "drain", "CERN"},
		"apply-dry-run":    {"apply", "-f", "servetest/site.yml", "--dry-run"},
		"tags-test":        {"tags", "test", "-f", "testdata/task.yml"},
		"task-kill":        {"task", "kill", "7"},
		"task-priority":    {"task", "priority", "--to=900", "7"},
		"task-scale":       {"task", "scale", "7", "--group=sgx", "--replicas=2"},
		"claim-create":     {"resource-claim", "create", "disk", "--queue=CERN", "--node=n1", "--device=gpu:0", "--device=gpu:1"},
		"claim-delete":     {"resource-claim", "delete", "disk", "--force"},
		"job-kill":         {"job", "kill", "12"},
		"job-logs":         {"job", "logs", "12"},
	} {
		t.Run(name, func(t *testing.T) {
			o := divvy(t, append(args, "--server", server)...)
			if o.code != fail.OK && name != "apply-dry-run" {
				t.Fatalf("exit code %d: %s", o.code, o.err)
			}
			golden.Equal(t, "testdata/golden/"+name+".txt", o.out)
		})
	}
}

// -o json and -o yaml print the API's own shapes.
func TestStructuredOutputIsTheAnswer(t *testing.T) {
	server := fakeServer(t, map[string]string{"GET /v1/tasks": "tasks.json"})
	raw, err := os.ReadFile("testdata/api/tasks.json")
	if err != nil {
		t.Fatal(err)
	}
	var want, fromJSON, fromYAML map[string]any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	o := divvy(t, "task", "list", "-o", "json", "--server", server)
	if err := json.Unmarshal([]byte(o.out), &fromJSON); err != nil {
		t.Fatalf("%v\n%s%s", err, o.out, o.err)
	}
	y := divvy(t, "task", "list", "-o", "yaml", "--server", server)
	if err := yaml.Unmarshal([]byte(y.out), &fromYAML); err != nil {
		t.Fatalf("%v\n%s", err, y.out)
	}
	for what, got := range map[string]map[string]any{"json": fromJSON, "yaml": fromYAML} {
		task := got["items"].([]any)[0].(map[string]any)
		for key, value := range want["items"].([]any)[0].(map[string]any) {
			w, _ := json.Marshal(value)
			g, _ := json.Marshal(task[key])
			if !bytes.Equal(w, g) {
				t.Errorf("%s: %s is %s, want %s", what, key, g, w)
			}
		}
	}
}

func TestExitCodes(t *testing.T) {
	server := fakeServer(t, map[string]string{"PUT /v1/site": "problem.json", "GET /v1/queues": "queues.json"})
	for name, c := range map[string]struct {
		args []string
		code int
		err  string // part of stderr
	}{
		"done":               {[]string{"queue", "list", "--server", server}, fail.OK, ""},
		"version":            {[]string{"--version"}, fail.OK, ""},
		"unknown command":    {[]string{"quue"}, fail.Usage, "unknown command"},
		"command of a group": {[]string{"submit"}, fail.Usage, "Did you mean 'divvy task submit'?"},
		"unknown subcommand": {[]string{"queue", "lst"}, fail.Usage, `unknown command "lst"`},
		"unknown flag":       {[]string{"queue", "list", "--al"}, fail.Usage, "unknown flag"},
		"missing argument":   {[]string{"task", "show"}, fail.Usage, "task show needs TASK, the id of a task"},
		"missing flag":       {[]string{"apply"}, fail.Usage, "which site file? Give -f"},
		"bad id":             {[]string{"task", "show", "x", "--server", server}, fail.Usage, "not the id of a task"},
		"bad format":         {[]string{"status", "-o", "xml"}, fail.Usage, "unknown output format"},
		"bad server":         {[]string{"status", "--server", "ftp://x"}, fail.Usage, "expected http"},
		"not found":          {[]string{"task", "show", "9", "--server", server}, fail.Failed, "Nothing lives"},
		"no file":            {[]string{"apply", "-f", "/nonexistent.yml", "--server", server}, fail.Failed, "no such file"},
		"nobody there":       {[]string{"status", "--server", "http://127.0.0.1:1"}, fail.Failed, "divvy serve"},
		"bad site":           {[]string{"apply", "-f", "servetest/site.yml", "--server", server}, fail.Failed, "site.yml:4:5: weight -1 is negative"},
		"open port":          {[]string{"serve", "--listen", "0.0.0.0:1"}, fail.Usage, "no token is asked for\n  Give --require-token, --token-file"},
		"bad task file":      {[]string{"task", "submit", "-f", "servetest/site.yml", "--server", server}, fail.Failed, "servetest/site.yml:2:1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := divvy(t, c.args...)
			if o.code != c.code || !strings.Contains(o.err, c.err) {
				t.Errorf("exit code %d, want %d; stderr:\n%s\nwant in it: %s", o.code, c.code, o.err, c.err)
			}
			if c.code != fail.OK && o.out != "" {
				t.Errorf("an error wrote to stdout: %s", o.out)
			}
		})
	}
}

// Without a terminal --watch writes a table whenever it changed, until it is interrupted.
func TestWatch(t *testing.T) {
	server := fakeServer(t, map[string]string{"GET /v1/shares": "shares.json"})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	var out, errs bytes.Buffer
	code := cli.Execute(ctx, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, rootCommand, []string{"shares", "show", "--watch", "--every", "100ms", "--server", server})
	if code != fail.OK || strings.Count(out.String(), "SHARE ") != 1 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("exit code %d\n%s%s", code, out.String(), errs.String())
	}
	for _, more := range [][]string{{"-o", "json"}, {"--version", "1"}, {"--every", "1ms"}} {
		if o := divvy(t, append([]string{"shares", "show", "--watch", "--server", server}, more...)...); o.code != fail.Usage {
			t.Errorf("%v: %+v", more, o)
		}
	}
}

func TestServerFromEnvironment(t *testing.T) {
	server := fakeServer(t, map[string]string{"GET /v1/queues": "queues.json"})
	t.Setenv("DIVVY_SERVER", strings.TrimPrefix(server, "http://")+"/")
	if o := divvy(t, "queue", "list"); o.code != fail.OK {
		t.Errorf("%+v", o)
	}
}

func TestToken(t *testing.T) {
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		_, _ = w.Write([]byte(`{"items":[],"next":""}`))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("# first one counts\nfrom-the-file-0123\nsecond\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DIVVY_TOKEN", "from-the-environment")
	divvy(t, "queue", "list", "--server", s.URL)
	if got != "Bearer from-the-environment" {
		t.Errorf("Authorization %q", got)
	}
	divvy(t, "queue", "list", "--server", s.URL, "--token-file", file)
	if got != "Bearer from-the-file-0123" {
		t.Errorf("Authorization %q", got)
	}
}

func TestPrintConfig(t *testing.T) {
	o := divvy(t, "serve", "--print-config", "--generators", "7", "--database", "postgres://u:secret@h/d")
	if o.code != fail.OK || !strings.Contains(o.out, "generators: 7\n") || strings.Contains(o.out, "secret") {
		t.Errorf("%+v", o)
	}
}

func TestCompletion(t *testing.T) {
	server := fakeServer(t, map[string]string{"GET /v1/queues": "queues.json", "GET /v1/shares": "shares.json", "GET /v1/tasks": "tasks.json"})
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if o := divvy(t, "completion", shell); o.code != fail.OK || len(o.out) < 1000 {
			t.Errorf("completion %s: %+v", shell, o)
		}
	}
	for line, want := range map[string]string{
		"queue drain":                      "CERN\tonline",
		"queue drain CERN":                 "CERN\tonline",
		"stock --queue":                    "CERN\tonline",
		"shares why":                       "Production/MC\tweight ",
		"shares why Production/MC":         "Production/MC\tweight ",
		"task list --share":                "Production/MC\tweight ",
		"task reassign 7 --share":          "Production/MC\tweight ",
		"task show":                        "7\t",
		"task pause 1":                     "7\t",
		"task reassign --share Production": "7\t",
		"job list --task":                  "7\t",
	} {
		args := append([]string{"__complete", "--server", server}, strings.Fields(line)...)
		if o := divvy(t, append(args, "")...); !strings.Contains("\n"+o.out, "\n"+want) {
			t.Errorf("%s: %q wanted: %+v", line, want, o)
		}
	}
	if o := divvy(t, "__complete", "--server", server, "task", "show", "7", ""); strings.Contains(o.out, "7\t") {
		t.Errorf("a second task is completed where one is taken: %+v", o)
	}
}

func TestBranches(t *testing.T) {
	got := strings.Join(show.Branches([]int{0, 1, 2, 2, 1, 2, 1}), "|")
	want := "|├─ |│  ├─ |│  └─ |├─ |│  └─ |└─ "
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		held, target, full float64
		want               string
	}{{2, 4, 8, "██░░    "}, {4, 2, 8, "████    "}, {0, 0, 0, "········"}, {16, 0, 8, "████████"}} {
		if got := show.Bar(c.held, c.target, c.full, 8); got != c.want {
			t.Errorf("bar(%v, %v, %v) = %q, want %q", c.held, c.target, c.full, got, c.want)
		}
	}
}

// Words that other systems have for a command lead to ours.
func TestOtherWords(t *testing.T) {
	for line, want := range map[string]string{
		"shares list": "'divvy shares show'", "task cancel 7": "'divvy task kill'", "job cancel 7": "'divvy job kill'",
		"queue disable CERN": "'divvy queue offline'", "submit": "divvy task submit", "cancel 7": "divvy job kill",
	} {
		o := divvy(t, strings.Fields(line)...)
		if o.code != fail.Usage || !strings.Contains(o.err, "unknown command") || !strings.Contains(o.err, want) {
			t.Errorf("%s: %+v", line, o)
		}
	}
	root := cli.Tree(&cli.CLI{}, rootCommand)
	for path := range cli.ForeignWords {
		if cmd, rest, err := root.Find(strings.Fields(path)); err != nil || len(rest) > 0 || cli.Name(cmd) != path {
			t.Errorf("there is no command %q", path)
		}
	}
}
