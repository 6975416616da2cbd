package main

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// hearStates is a socket as systemd's, and what is said to it.
func hearStates(t *testing.T) (socket string, next func() string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return socket, func() string {
		t.Helper()
		text := make([]byte, 4096)
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		n, err := conn.Read(text)
		if err != nil {
			t.Fatalf("systemd hears nothing: %v", err)
		}
		return string(text[:n])
	}
}

// systemd hears of a daemon that it serves, that it lives, also by TLS, and that it stops.
func TestSupervised(t *testing.T) {
	socket, next := hearStates(t)
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "9000000") // a busy machine may let its daemon wait for a second or two
	p := startProcess(t, "serve", "--database", pgtest.DSN(t), "--listen", "127.0.0.1:0", "--site", "servetest/site.yml")
	url := p.says(t, `msg=serving url=(\S+)`)
	if got, want := next(), "READY=1\nSTATUS=serving at "+url; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for range 2 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("%q", got)
		}
	}
	if err := p.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v:\n%s", err, p.text())
	}
	last := next()
	for last == "WATCHDOG=1" {
		last = next()
	}
	if last != "STOPPING=1" {
		t.Errorf("%q", last)
	}
	if strings.Contains(p.text(), "systemd") {
		t.Errorf("it complains:\n%s", p.text())
	}
}
