package house_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// statements lists the statement files of all packages.
func statements(t *testing.T) (paths []string) {
	t.Helper()
	walk(t, ".sql", func(p string) {
		if path.Base(path.Dir(p)) == "sql" {
			paths = append(paths, p)
		}
	})
	if len(paths) == 0 {
		t.Fatal("no statements found")
	}
	return paths
}

// The migrated database understands each of them, as one statement.
func TestStatementsPrepare(t *testing.T) {
	tx := pgtest.Tx(t)
	for _, p := range statements(t) {
		t.Run(p, func(t *testing.T) {
			sql, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), tx.Conn(), read(t, p), nil)
			if err != nil {
				t.Fatal(err)
			}
			savepoint, err := tx.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer savepoint.Rollback(t.Context())
			if _, err := tx.Conn().Prepare(t.Context(), p, sql); err != nil {
				t.Error(err)
			}
		})
	}
}

var parameter = regexp.MustCompile(`(^|[^\w@'])@([a-z_]\w*)(::)?`)

// A comment first, every parameter cast, and a Go file of the package that names it.
func TestStatementsKeepTheHouseRules(t *testing.T) {
	used := map[string]map[string]bool{}
	for _, p := range statements(t) {
		text := read(t, p)
		if !strings.HasPrefix(text, "-- ") {
			t.Errorf("%s: the first line must say what the statement does", p)
		}
		for _, line := range strings.Split(text, "\n") {
			code, _, _ := strings.Cut(line, "--")
			for _, m := range parameter.FindAllStringSubmatch(code, -1) {
				if m[3] == "" {
					t.Errorf("%s: parameter @%s is not cast", p, m[2])
				}
			}
		}
		dir, name := path.Dir(path.Dir(p)), strings.TrimSuffix(path.Base(p), ".sql")
		if used[dir] == nil {
			used[dir] = map[string]bool{}
			for l := range literals(t, dir) {
				used[dir][l] = true
			}
		}
		if !used[dir][name] {
			t.Errorf("%s: no Go file of %s says %q: unused", p, dir, name)
		}
	}
}

var builtSQL = regexp.MustCompile(`^\s*(SELECT\s|INSERT INTO\s|UPDATE\s+\w+\s+SET|DELETE FROM\s|WITH\s+\w+\s+AS|COPY\s+\w+\s*\()`)

// Statements are files; only the packages that are about the database itself have them in Go.
func TestNoStatementsInGo(t *testing.T) {
	for _, p := range packages(t) {
		dir := p.path()
		if dir == "internal/pg" || dir == "internal/pgtest" || dir == "migrations" {
			continue
		}
		for l, at := range literals(t, dir) {
			if builtSQL.MatchString(l) {
				t.Errorf("%s: SQL belongs into %s/sql: %.60q", at, dir, l)
			}
		}
	}
}
