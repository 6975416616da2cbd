package stage

import (
	"context"
	"log/slog"
	"strings"
	"testing"
)

// On somebody's server a run works in a database of its own, and leaves the server as it was.
func TestPlaceOnAServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: starts a durable cluster")
	}
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	server, err := OpenPlace(ctx, "", log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	databases := func() (names string) {
		t.Helper()
		if err := server.Pool.QueryRow(ctx, "SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database").Scan(&names); err != nil {
			t.Fatal(err)
		}
		return names
	}
	before := databases()
	own, err := OpenPlace(ctx, server.DSN, log)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	if err := own.Pool.QueryRow(ctx, "SELECT current_database()").Scan(&name); err != nil || !strings.HasPrefix(name, "divvy_bench_") {
		t.Errorf("it works in %q, %v", name, err)
	}
	if !strings.Contains(databases(), name) || !strings.Contains(own.server, name) {
		t.Errorf("%s: %s", own.server, databases())
	}
	if settings, err := own.settings(ctx); err != nil || len(settings) < 10 {
		t.Errorf("%v %v", settings, err)
	}
	if err := own.Close(ctx); err != nil {
		t.Error(err)
	}
	if after := databases(); after != before {
		t.Errorf("databases %s, before %s", after, before)
	}
}
