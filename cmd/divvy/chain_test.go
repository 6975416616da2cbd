package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"
	"github.com/divvyhq/divvy/cmd/divvy/work"
	"github.com/divvyhq/divvy/generator/spec"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// writeFile writes a file for a command line and returns its path.
func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A submission that broke off goes on with its key: the inputs that are stored are not sent again, and no task
// is made twice.
func TestSubmitGoesOn(t *testing.T) {
	t.Parallel()
	d, cl := launch(t, nil)
	dir := t.TempDir()
	const n = 25_000
	var names strings.Builder
	for i := range n {
		fmt.Fprintf(&names, "file-%d\n", i)
	}
	writeFile(t, dir, "inputs.txt", names.String())
	file := writeFile(t, dir, "tasks.yml", `
name: first
user: alice
label: user
count: 3
command: ["true"]
---
name: big
user: alice
label: user
inputs_file: inputs.txt
per_job: 100
command: ["echo", "{{.Input}}"]
`)
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := spec.ParseSpecs(file, src)
	if err != nil {
		t.Fatal(err)
	}
	begun, err := cl.Tasks().Submit(t.Context(), work.ServerSpec(specs[1]), "some-key-2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Tasks().SendInputs(t.Context(), begun.ID, 0, strings.NewReader("\"file-0\"\n\"file-1\"\n"), nil); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing left to do
		o := divvy(t, "task", "submit", "-f", file, "--key", "some-key", "-o", "json", "--server", d.URL())
		var page wire.Page[wire.Task]
		if err := json.Unmarshal([]byte(o.out), &page); err != nil || len(page.Items) != 2 {
			t.Fatalf("%+v, %v", o, err)
		}
		if big := page.Items[1]; big.ID != begun.ID || big.Pieces != n/100 || big.Inputs != n {
			t.Errorf("%+v", big)
		}
	}
	all, err := cl.Tasks().List(t.Context(), client.TaskFilter{})
	if err != nil || len(all.Items) != 2 {
		t.Errorf("%d tasks, %v", len(all.Items), err)
	}
}

// What only the server can refuse is refused when the tasks before it are submitted: they are shown, and the rest
// follows under the same key.
func TestSubmitSaysWhatIsSubmitted(t *testing.T) {
	t.Parallel()
	d, cl := launch(t, nil)
	const doc = "name: %s\nuser: alice\nlabel: user\nshare: %s\ncount: 1\ncommand: [\"true\"]\n"
	tasks := func(share string) string {
		return writeFile(t, t.TempDir(), "tasks.yml", fmt.Sprintf(doc, "one", "Analysis/Grp")+"---\n"+fmt.Sprintf(doc, "two", share))
	}
	o := divvy(t, "task", "submit", "-f", tasks("Nope"), "--key", "k", "--server", d.URL())
	if o.code != fail.Failed || !strings.Contains(o.out, "one") || !strings.Contains(o.err, "Go on with: ") || !strings.Contains(o.err, `no share "Nope"`) {
		t.Errorf("%+v", o)
	}
	if o := divvy(t, "task", "submit", "-f", tasks("Test"), "--key", "k", "--server", d.URL()); o.code != fail.OK {
		t.Errorf("%+v", o)
	}
	if all, err := cl.Tasks().List(t.Context(), client.TaskFilter{}); err != nil || len(all.Items) != 2 {
		t.Errorf("%d tasks, %v", len(all.Items), err)
	}
}

// A file is checked as a whole before anything is submitted.
func TestSubmitChecksFirst(t *testing.T) {
	t.Parallel()
	d, cl := launch(t, nil)
	dir := t.TempDir()
	good := "name: good\nuser: alice\nlabel: user\ncount: 3\ncommand: [\"true\"]\n---\n"
	for name, c := range map[string]struct{ second, want string }{
		"a bad document":       {"name: bad\nuser: alice\ncount: 0\ncommand: [\"true\"]\nprio: 3\n", `tasks.yml:11:1: unknown key "prio"`},
		"a missing input file": {"name: bad\nuser: alice\ninputs_file: none.txt\ncommand: [\"true\"]\n", "none.txt: no such file"},
	} {
		file := writeFile(t, dir, "tasks.yml", good+c.second)
		if o := divvy(t, "task", "submit", "-f", file, "--server", d.URL()); o.code != fail.Failed || !strings.Contains(o.err, c.want) {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if all, err := cl.Tasks().List(t.Context(), client.TaskFilter{}); err != nil || len(all.Items) != 0 {
		t.Errorf("%d tasks, %v", len(all.Items), err)
	}
}

// The life of a site by command line: dry run, refusal with counts, move, history, rollback.
func TestSiteByCommandLine(t *testing.T) {
	t.Parallel()
	d, cl := launch(t, nil)
	task, err := cl.Tasks().Submit(t.Context(), servetest.Hello(50), "")
	if err != nil {
		t.Fatal(err)
	}
	servetest.Eventually(t, 10*time.Second, func() (bool, string) {
		task, err = cl.Tasks().Get(t.Context(), task.ID)
		return err == nil && task.Jobs.Ready == 50, fmt.Sprintf("%+v, %v", task.Jobs, err)
	})
	site, err := os.ReadFile("servetest/site.yml")
	if err != nil {
		t.Fatal(err)
	}
	next := strings.ReplaceAll(string(site), "{name: User, weight: 80}", "{name: Users, weight: 80}")
	file := writeFile(t, t.TempDir(), "next.yml", strings.ReplaceAll(next, "share: Analysis/User", "share: Analysis/Users"))
	for _, step := range []struct {
		args []string
		code int
		want string // on either stream
	}{
		{[]string{"apply", "-f", file, "--dry-run"}, fail.Failed, "share Analysis/User is removed but has live work: 1 task, 50 ready jobs"},
		{[]string{"apply", "-f", file}, fail.Failed, "--move Analysis/User="},
		{[]string{"apply", "-f", file, "--move", "Analysis/User"}, fail.Usage, "expected OLD=NEW"},
		{[]string{"apply", "-f", file, "--move", "Analysis/User=Analysis/Users", "--note", "a better name"}, fail.OK, "version 2 is in force"},
		{[]string{"apply", "-f", file}, fail.OK, "version 2 is in force already"},
		{[]string{"shares", "history"}, fail.OK, "a better name"},
		{[]string{"shares", "diff", "1", "2"}, fail.OK, "+ share Analysis/Users added"},
		{[]string{"shares", "rollback", "1", "--move", "Analysis/Users=Analysis/Grp"}, fail.OK, "version 3 is in force"},
		{[]string{"shares", "show", "--version", "1"}, fail.OK, "{name: User, weight: 80}"},
		{[]string{"task", "show", "1"}, fail.OK, "Analysis/Grp"},
		{[]string{"queue", "drain", "LOCAL"}, fail.OK, "queue LOCAL is drain"},
		{[]string{"queue", "show", "LOCAL"}, fail.OK, "drain"},
		{[]string{"task", "pause", "1"}, fail.OK, "→ paused"},
		{[]string{"task", "resume", "1"}, fail.OK, "paused →"},
		{[]string{"task", "kill", "1"}, fail.OK, "50 jobs that did not run"},
	} {
		if o := divvy(t, append(step.args, "--server", d.URL())...); o.code != step.code || !strings.Contains(o.out+o.err, step.want) {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s%s", step.args, o.code, step.code, step.want, o.out, o.err)
		}
	}
}
