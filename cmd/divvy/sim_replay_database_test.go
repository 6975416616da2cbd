package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/tools"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// The server refuses what a replay would write, and says whose the connections are.
func TestReplayOnlyReads(t *testing.T) {
	t.Parallel()
	cfg := config.Defaults()
	cfg.Database.DSN = pgtest.DSN(t)
	c := &cli.CLI{Streams: cli.Streams{Out: io.Discard, Err: io.Discard}}
	err := tools.WithRecords(t.Context(), c, cfg, func(ctx context.Context, db *pgxpool.Pool) error {
		var name string
		if err := db.QueryRow(ctx, "SELECT current_setting('application_name')").Scan(&name); err != nil || name != "divvy replay" {
			t.Errorf("the connection is %q, %v", name, err)
		}
		_, err := db.Exec(ctx, "CREATE TABLE written (n integer)")
		return err
	})
	if pg.Code(err) != pg.CodeReadOnly {
		t.Errorf("a write: %v", err)
	}
}

// Where no daemon has been there is nothing to replay, and nothing is made.
func TestReplayOfNothing(t *testing.T) {
	dir := t.TempDir()
	o := divvy(t, "sim", "replay", "--state-dir", dir)
	if o.code != fail.Failed || !strings.Contains(o.err, "there is no private PostgreSQL in "+dir) {
		t.Errorf("%+v", o)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	o = divvy(t, "sim", "replay", "--database", pgtest.Empty(t))
	if o.code != fail.Failed || !strings.Contains(o.err, "the database lacks tables") {
		t.Errorf("%+v", o)
	}
}
