package stage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
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
	if _, err := Start(t.Context(), nil, ""); err == nil || !strings.Contains(err.Error(), "Config.Daemon") {
		t.Errorf("without a command: %v", err)
	}
	if _, err := Start(t.Context(), []string{"/bin/sh", "-c", "read order; exit 3"}, ""); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("it ends at once: %v", err)
	}
}

// What the kernel says about a process is read of one that runs.
func TestProcessFootprint(t *testing.T) {
	d, err := Start(t.Context(), []string{"/bin/sh", "-c", "read order; echo http://127.0.0.1:1; cat"}, "")
	if err != nil {
		t.Fatal(err)
	}
	now, peak, err := d.Memory()
	if err != nil || now <= 0 || peak < now || d.Address() != "127.0.0.1:1" {
		t.Errorf("%v MB, at the most %v, %v", now, peak, err)
	}
	if used, err := d.CPU(); err != nil || used < 0 {
		t.Errorf("%v %v", used, err)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	if _, _, err := d.Memory(); err == nil {
		t.Error("a process that has ended has memory")
	}
}
