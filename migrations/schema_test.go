package migrations_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/migrations"
)

var update = flag.Bool("update", false, "write schema.sql")

const schemaFile = "schema.sql"

// schema.sql is what the migrations make. Versions of PostgreSQL print the same schema differently, so the dump
// is compared only on the version that it was written with.
func TestSchemaDump(t *testing.T) {
	dsn := pgtest.Empty(t) // those of DSN have days
	db := open(t, dsn)
	if _, err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	var server int
	if err := db.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int / 10000").Scan(&server); err != nil {
		t.Fatal(err)
	}
	header := fmt.Sprintf("-- The schema as PostgreSQL %d prints it. Written by: go test ./migrations -update\n", server)
	want, err := os.ReadFile(schemaFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(string(want), "\n"); !*update && first+"\n" != header {
		t.Skipf("SKIPPED: schema.sql says %q, and this is PostgreSQL %d", first, server)
	}
	program, major, err := pg.Program(t.Context(), "pg_dump")
	if err != nil || major < server {
		t.Skipf("SKIPPED: no pg_dump for PostgreSQL %d: %v", server, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dump, err := exec.CommandContext(ctx, program, "--schema-only", "--no-owner", "--exclude-table=migrations*", dsn).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := header + normalise(string(dump))
	if *update {
		if err := os.WriteFile(schemaFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("schema.sql is not what the migrations make (go test ./migrations -update):\n%s", diff)
	}
}

var (
	noise     = regexp.MustCompile(`(?m)^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*)\n`)
	forRole   = regexp.MustCompile(`FOR ROLE \S+ `)
	manyLines = regexp.MustCompile(`\n{3,}`)
)

// normalise drops what depends on the programs, the settings and the user that made the dump.
func normalise(dump string) string {
	dump = noise.ReplaceAllString(dump, "")
	dump = forRole.ReplaceAllString(dump, "")
	return strings.TrimLeft(manyLines.ReplaceAllString(dump, "\n\n"), "\n")
}
