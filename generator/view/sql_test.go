package view

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pgtest"
)

var namedArg = regexp.MustCompile(`@[a-z_]+::`)

// Every statement is understood by the migrated database, starts with a comment, casts its arguments, and is used.
func TestStatements(t *testing.T) {
	tx := pgtest.Tx(t)
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, f := range sources {
		if !strings.HasSuffix(f, "_test.go") {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(src)
		}
	}
	for name, sql := range query {
		if !strings.HasPrefix(sql, "-- ") {
			t.Errorf("%s.sql has no comment on its first line", name)
		}
		if !strings.Contains(code.String(), `query["`+name+`"]`) {
			t.Errorf("%s.sql is not used", name)
		}
		args := pgx.NamedArgs{}
		for _, a := range namedArg.FindAllString(sql, -1) {
			args[strings.Trim(a, "@:")] = nil
		}
		text, _, err := args.RewriteQuery(context.Background(), nil, sql, nil)
		if err != nil {
			t.Errorf("%s.sql: %v", name, err)
		}
		if _, err := tx.Prepare(context.Background(), name, text); err != nil {
			t.Errorf("%s.sql: %v", name, err)
		}
	}
}
