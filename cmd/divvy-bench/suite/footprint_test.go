package suite

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy-bench/proc"
)

// A daemon's process says its URL when it serves, and stops when its input ends or its context does.
func TestDaemonProcess(t *testing.T) {
	stopped := 0
	serve := func(_ context.Context, dsn string) (Served, error) {
		if dsn != "postgres://u:secret@h/x" {
			return Served{}, errors.New("no such database")
		}
		return Served{URL: "http://127.0.0.1:1", Stop: func(context.Context) error { stopped++; return nil }}, nil
	}
	const order = `{"Database":"postgres://u:secret@h/x"}` + "\n"
	var out bytes.Buffer
	if err := Daemon(t.Context(), strings.NewReader(order), &out, serve); err != nil || out.String() != "http://127.0.0.1:1\n" || stopped != 1 {
		t.Errorf("%v, it said %q, stopped %d times", err, out.String(), stopped)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	open, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, order) }()
	if err := Daemon(ctx, open, io.Discard, serve); err != nil || stopped != 2 {
		t.Errorf("cancelled: %v, stopped %d times", err, stopped)
	}
	for name, in := range map[string]string{"nothing": "", "no JSON": "postgres://u:secret@h/x\n", "another": `{"Database":"x"}` + "\n"} {
		if err := Daemon(t.Context(), strings.NewReader(in), io.Discard, serve); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if stopped != 2 {
		t.Errorf("stopped %d times", stopped)
	}
}

func TestStartDaemonFails(t *testing.T) {
	s := &stage{place: &place{}}
	if _, err := s.startDaemon(t.Context()); err == nil || !strings.Contains(err.Error(), "DaemonCommand") {
		t.Errorf("without a command: %v", err)
	}
	s.cfg.DaemonCommand = []string{"/bin/sh", "-c", "read order; exit 3"}
	if _, err := s.startDaemon(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("it ends at once: %v", err)
	}
	if _, err := s.startDaemons(t.Context(), 2); err == nil {
		t.Error("two that end at once")
	}
}

func TestMayOpen(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := proc.MayOpen(10); err != nil {
		t.Error(err)
	}
	if err := proc.MayOpen(1 << 40); err == nil || !strings.Contains(err.Error(), "ulimit -Hn") {
		t.Errorf("more than the kernel has: %v", err)
	}
}

// What the kernel says about a process is read of one that runs.
func TestProcessFootprint(t *testing.T) {
	s := &stage{place: &place{}}
	s.cfg.DaemonCommand = []string{"/bin/sh", "-c", "read order; echo http://127.0.0.1:1; cat"}
	d, err := s.startDaemon(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now, peak, err := d.memory()
	if err != nil || now <= 0 || peak < now || d.address() != "127.0.0.1:1" {
		t.Errorf("%v MB, at the most %v, %v", now, peak, err)
	}
	if used, err := d.cpu(); err != nil || used < 0 {
		t.Errorf("%v %v", used, err)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	if _, _, err := d.memory(); err == nil {
		t.Error("a process that has ended has memory")
	}
}
