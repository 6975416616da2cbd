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

	"github.com/divvyhq/divvy/cmd/divvy/demo"
)

// The demo in short: everything it does, over a window that is too short for its tolerance.
func TestDemoInShort(t *testing.T) {
	if testing.Short() {
		t.Skip("short: the demo takes half a minute")
	}
	dir := filepath.Join(t.TempDir(), "report")
	o := divvy(t, "demo", "--seconds", "8", "--report", dir)
	if o.code == exitUsage || !strings.Contains(o.out, "share ") && !strings.Contains(o.out, "SHARE") {
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
	for _, p := range r.Problems {
		if !strings.Contains(p, "its target was") {
			t.Error(p)
		}
	}
	for _, row := range r.Rows {
		if row.Jobs == 0 || row.Failed > 0 || row.Target < 4 || row.Deviation > 3 || row.Deviation < -3 {
			t.Errorf("%+v", row)
		}
	}
	if len(r.Rows) != len(demo.Leaves) || r.Outputs < 40 {
		t.Errorf("%d rows, %d outputs", len(r.Rows), r.Outputs)
	}
	if st, err := os.Stat(filepath.Join(dir, "plot.svg")); err != nil || st.Size() < 5000 {
		t.Errorf("plot: %v", err)
	}
	nothingLeft(t)
}

// Ctrl-C in the middle: exit code 1, no processes, no folders, no report.
func TestDemoInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts a private cluster")
	}
	dir := filepath.Join(t.TempDir(), "report")
	p := startProcess(t, "demo", "--seconds", "60", "--report", dir, "-v")
	p.says(t, "msg=serving")
	eventually(t, 30*time.Second, func() (bool, string) {
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
	nothingLeft(t)
}

// nothingLeft looks for temporary folders of a demo, and processes that work in one.
func nothingLeft(t *testing.T) {
	t.Helper()
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "divvy-demo-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	cmdlines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range cmdlines {
		b, _ := os.ReadFile(f)
		if words := strings.Split(string(b), "\x00"); len(words) > 1 && words[1] == "payload" {
			t.Errorf("still running: %s", strings.Join(words, " "))
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
