package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/serve"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// runAsDivvy makes the test binary a divvy, for tests that need processes of their own.
const runAsDivvy = "DIVVY_TEST_RUN_AS_DIVVY"

func TestMain(m *testing.M) {
	// A pilot's guard, and whatever a job calls, come without the variable: as a test binary they would run all tests, which start pilots.
	if os.Getenv(runAsDivvy) != "" || len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(run(os.Args[1:], cli.StandardStreams()))
	}
	pgtest.Main(m)
}

// tested is a daemon of a test, and its database.
type tested struct {
	*serve.Daemon
	cfg  config.Config
	pool *pgxpool.Pool
}

// launch starts a daemon on a fresh database and a free port, and stops it at the end of the test.
func launch(t testing.TB, change func(*config.Config)) (*tested, *client.Client) {
	t.Helper()
	cfg := servetest.Config(t, change)
	d := serve.New(cfg, servetest.Log(t))
	cl := servetest.Start(t, d, client.Config{Stay: true})
	pool, err := pgxpool.New(t.Context(), cfg.Database.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &tested{d, cfg, pool}, cl
}

// With a token file nobody gets in without; health is free.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("0123456789abcdef0123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, cl := launch(t, func(c *config.Config) { c.Access.TokenFile = file })
	if _, err := cl.Shares().Standing(t.Context()); !client.IsCode(err, "unauthorized") {
		t.Errorf("without a token: %v", err)
	}
	if o := divvy(t, "shares", "show", "--server", d.URL(), "--token-file", file); o.code != fail.OK || !strings.Contains(o.out, "Production") {
		t.Errorf("with the token: %+v", o)
	}
	if o := divvy(t, "shares", "show", "--server", d.URL()); o.code != fail.Failed || !strings.Contains(o.err, "DIVVY_TOKEN") {
		t.Errorf("without a token: %+v", o)
	}
}
