package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/servetest"
)

// person is a shell of someone who runs commands in a folder.
type person struct {
	dir, tmp string
	env      []string
}

func newPerson(t *testing.T, script string, env ...string) *person {
	t.Helper()
	p := &person{dir: t.TempDir(), tmp: t.TempDir()}
	p.env = append(os.Environ(), append(env, runAsDivvy+"=1", "TMPDIR="+p.tmp)...)
	if err := os.WriteFile(filepath.Join(p.dir, "script"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *person) command(out, errs io.Writer, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, out, errs
	return cmd
}

func (p *person) runs(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	return outcome{exitOf(t, p.command(&out, &errs, args...).Run()), out.String(), errs.String()}
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if ended != nil {
		return ended.ExitCode()
	}
	return 0
}

// A command of one's own at a daemon with a pilot: its output by stream and job, its exit code, and what a wrong one is told.
func TestRun(t *testing.T) {
	t.Parallel()
	d, cl := launch(t, nil)
	startProcess(t, "pilot", "--server", d.URL(), "--queue", "LOCAL", "--slots", "2", "--work-dir", t.TempDir())
	p := newPerson(t, "echo out $DIVVY_INDEX in $(pwd)\necho err $1 >&2\n[ $1 = 3 ] && exit 7\nexit 0\n", "DIVVY_SERVER="+d.URL())
	o := p.runs(t, "run", "--share", "Test", "--array", "2-4", "--", "./script", "{{.Index}}")
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	slices.Sort(lines)
	if want := []string{"[2] out 2 in " + p.dir, "[3] out 3 in " + p.dir, "[4] out 4 in " + p.dir}; o.code != 7 || !slices.Equal(lines, want) ||
		!strings.Contains(o.err, "[4] err 4\n") || !regexp.MustCompile(`job \d+ \[3\] failed: exit code 7\n`).MatchString(o.err) {
		t.Errorf("%+v", o)
	}
	if o := p.runs(t, "run", "-q", "--share", "Test", "--", "./script", "1"); o.code != 0 || o.out != "out 0 in "+p.dir+"\n" || o.err != "err 1\n" {
		t.Errorf("one job, quietly: %+v", o)
	}
	if o := p.runs(t, "run", "--share", "Test", "--dir", "/no/such/folder", "--", "./script"); o.code != 126 || !strings.Contains(o.err, "dir /no/such/folder: no such file or directory") {
		t.Errorf("a folder that is missing: %+v", o)
	}
	o = p.runs(t, "run", "--share", "Test", "--detach", "--", "./script", "1")
	if id, err := strconv.ParseInt(strings.TrimSpace(o.out), 10, 64); err != nil || id < 1 || o.err != "" || o.code != 0 {
		t.Errorf("detached: %+v", o)
	}
	before := tasksOf(t, cl)
	for want, args := range map[string][]string{
		"Nothing":        {"run", "--share", "Nothing", "--", "./script"},
		"10000":          {"run", "--share", "Test", "--cores", "20000", "--", "./script"},
		"placeholders":   {"run", "--share", "Test", "--", "./script", "{{.Nothing}}"},
		"no command":     {"run", "--share", "Test"},
		"-n 0: expected": {"run", "--share", "Test", "-n", "0", "--", "./script"},
	} {
		if o := p.runs(t, args...); o.code == 0 || !strings.Contains(o.err, want) {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if after := tasksOf(t, cl); after != before {
		t.Errorf("%d tasks were submitted by commands that were refused", after-before)
	}
}

func tasksOf(t *testing.T, cl *client.Client) (n int) {
	t.Helper()
	for _, err := range cl.Tasks().All(t.Context(), client.TaskFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// Ctrl-C says how far the task is; a second one within a second kills it.
func TestRunIsInterrupted(t *testing.T) {
	t.Parallel()
	d, cl := launch(t, nil)
	p := newPerson(t, "", "DIVVY_SERVER="+d.URL())
	var errs servetest.Said
	cmd := p.command(io.Discard, &errs, "run", "--share", "Test", "--", "./script")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	says := func(what string, again func()) {
		servetest.Eventually(t, 2*time.Minute, func() (bool, string) {
			again()
			return strings.Contains(errs.String(), what), "it does not say " + what + ": " + errs.String()
		})
	}
	says("1 job in share Test", func() {})
	press := func() { _ = cmd.Process.Signal(syscall.SIGINT) }
	press()
	says("Ctrl-C again within a second", func() {})
	says("is killed", press) // a machine that is busy may see a second one late: then it is a first one
	if code := exitOf(t, cmd.Wait()); code != 130 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	page, err := cl.Tasks().List(t.Context(), client.TaskFilter{})
	if err != nil || len(page.Items) != 1 || !strings.HasPrefix(page.Items[0].State, "abort") {
		t.Errorf("%v %+v", err, page.Items)
	}
}

// The two commands of README.md and docs/howto/run.md, from a folder with a script; and nothing is left.
func TestRunLocal(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	two := regexp.MustCompile("`(go build -o divvy ./cmd/divvy)`, `./divvy (run --local [^`]*)`").FindStringSubmatch(string(readme))
	if two == nil { // this binary is the divvy that the first one builds
		t.Fatal("README.md has not the two commands")
	}
	page, err := os.ReadFile("../../docs/howto/run.md")
	if want := "\n" + two[1] + "\n./divvy " + two[2] + "\n"; err != nil || !strings.Contains(string(page), want) {
		t.Errorf("docs/howto/run.md has other commands than README.md: %v", err)
	}
	run := two[2]
	p := newPerson(t, "echo my own result; exit 5\n")
	o := p.runs(t, strings.Fields(run)...)
	if o.code != 5 || o.out != "my own result\n" || !strings.Contains(o.err, "failed: exit code 5") {
		t.Errorf("%s: %+v", run, o)
	}
	if left, err := os.ReadDir(p.tmp); err != nil || len(left) > 0 {
		t.Errorf("it left %v %v", left, err)
	}
	p.env = append(p.env, "DIVVY_SERVER=http://127.0.0.1:1")
	if o := p.runs(t, "run", "--", "./script"); o.code != 1 || !strings.Contains(o.err, "divvy run --local -- COMMAND") {
		t.Errorf("without a server: %+v", o)
	}
}
