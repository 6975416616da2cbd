package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/cmd/divvy/demo"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// The demo in short: everything it does, and its verdict, however busy the machine is.
func TestDemoInShort(t *testing.T) {
	if testing.Short() {
		t.Skip("short: the demo takes half a minute")
	}
	dir := filepath.Join(t.TempDir(), "report")
	nothingLeft := ownTemp(t, dir)
	o := divvy(t, "demo", "--seconds", "12", "--report", dir)
	if o.code == fail.Usage || !strings.Contains(o.out, "share ") && !strings.Contains(o.out, "SHARE") {
		t.Fatalf("exit code %d\n%s%s", o.code, o.out, o.err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatalf("%v\n%s%s", err, o.out, o.err)
	}
	var r demo.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if o.code != 0 || !r.Passed || len(r.Problems) > 0 {
		t.Errorf("exit code %d, %q\n%s", o.code, r.Problems, o.out)
	}
	for _, row := range r.Rows {
		if row.Jobs == 0 || row.Failed > 0 || row.Due <= 0 || row.Due > row.Target+row.MeanJob || r.Busy() != strings.Contains(o.out, "this machine was busy") {
			t.Errorf("%+v\n%s", row, o.out)
		}
	}
	if len(r.Rows) != len(demo.Leaves) || r.Outputs < 20 {
		t.Errorf("%d rows, %d outputs", len(r.Rows), r.Outputs)
	}
	if st, err := os.Stat(filepath.Join(dir, "plot.svg")); err != nil || st.Size() < 5000 {
		t.Errorf("plot: %v", err)
	}
	nothingLeft()
}

// Ctrl-C in the middle: exit code 1, no processes, no folders, no report.
func TestDemoInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts a private cluster")
	}
	dir := filepath.Join(t.TempDir(), "report")
	nothingLeft := ownTemp(t, dir)
	p := startProcess(t, "demo", "--seconds", "60", "--report", dir, "-v")
	p.says(t, "msg=serving")
	servetest.Eventually(t, 2*time.Minute, func() (bool, string) {
		outputs, _ := filepath.Glob(filepath.Join(dir, "outputs", "*", "*.json"))
		return len(outputs) > 10, "no outputs:\n" + p.text()
	})
	if err := p.end(t, syscall.SIGINT); err == nil {
		t.Error("it ended with exit code 0")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the report folder is still there: %v", err)
	}
	if !strings.Contains(p.text(), "nothing was kept") {
		t.Errorf("it does not say what happened:\n%s", p.text())
	}
	nothingLeft()
}

// ownTemp gives the test a temporary folder of its own that the private cluster's user may enter, and returns a
// check that nothing is left in it, and no process that works in it or writes into dir.
func ownTemp(t *testing.T, dir string) (nothingLeft func()) {
	t.Helper()
	tmp, err := os.MkdirTemp("", "divvy-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	if err := os.Chmod(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	return func() {
		t.Helper()
		left, err := filepath.Glob(filepath.Join(tmp, "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		cmdlines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, f := range cmdlines {
			b, _ := os.ReadFile(f)
			words := strings.ReplaceAll(string(b), "\x00", " ")
			if strings.Contains(words, tmp) || strings.Contains(words, "payload") && strings.Contains(words, dir) {
				t.Errorf("still running: %s", words)
			}
		}
	}
}

// A folder that is not empty is not touched.
func TestDemoKeepsOldReports(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := demo.Run(context.Background(), demo.Config{Folder: dir})
	if err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error(err)
	}
}
