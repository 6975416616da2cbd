package servetest

import (
	"bytes"
	"context"
	_ "embed"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// Site is the site file of these daemons.
//
//go:embed site.yml
var Site string

// Config is that of a daemon on a fresh database and a free port, with Site, and with what change makes of it.
func Config(t testing.TB, change func(*config.Config)) config.Config {
	t.Helper()
	cfg := config.Defaults()
	cfg.Database.DSN, cfg.Listen, cfg.Site = pgtest.DSN(t), "127.0.0.1:0", filepath.Join(t.TempDir(), "site.yml")
	if err := os.WriteFile(cfg.Site, []byte(Site), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Sample, cfg.Database.Connections = 200*time.Millisecond, 5 // each costs the server a process
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// Daemon is a serve.Daemon.
type Daemon interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	URL() string
}

// Start starts a daemon, and stops it at the end of the test.
func Start(t testing.TB, d Daemon, as client.Config) *client.Client {
	t.Helper()
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	as.URL = d.URL()
	cl, err := client.New(as)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// Log writes to the log of a test.
func Log(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(lines{t}, nil)) }

type lines struct{ t testing.TB }

func (l lines) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// Eventually polls until ok, and fails the test with the last complaint when that takes too long.
func Eventually(t testing.TB, within time.Duration, ok func() (bool, string)) {
	t.Helper()
	over := time.After(within)
	for rest := 10 * time.Millisecond; ; rest = min(rest*5/4, 100*time.Millisecond) {
		good, complaint := ok()
		if good {
			return
		}
		select {
		case <-time.After(rest):
		case <-over:
			t.Fatal(complaint)
		}
	}
}

// Hello is a task of so many jobs that say something.
func Hello(count int64) wire.TaskSpec {
	return wire.TaskSpec{Name: "hello", User: "alice", Label: "user", Count: count, Requirements: wire.TaskRequirements{MemoryMB: 10},
		Command: []string{"sh", "-c", "echo piece {{.Index}}"}}
}

// File is a file with a text.
func File(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Said keeps what several write at once.
type Said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *Said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *Said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
