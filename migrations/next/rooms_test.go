package next_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// While rooms still make their tables by themselves, these are those of the files: columns, constraints, indexes, functions.
func TestRoomsAgree(t *testing.T) {
	files, err := filepath.Glob("../../dispatcher/*/sql/create_*.sql")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no room makes tables any more: this test can go")
	}
	rooms, err := pg.Open(t.Context(), pgtest.Empty(t), pg.MaxConns(2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rooms.Close)
	if _, err := rooms.Exec(t.Context(), "CREATE SCHEMA report"); err != nil {
		t.Fatal(err)
	}
	makeTables(t, rooms, files)
	want, got := relations(t, rooms), relations(t, pgtest.OpenNext(t))
	for name, columns := range want {
		more := func(what string) bool { // an index that reports go by
			return strings.HasPrefix(what, "CREATE INDEX") && !slices.Contains(columns, what)
		}
		if diff := cmp.Diff(columns, slices.DeleteFunc(got[name], more)); diff != "" {
			t.Errorf("%s: rooms (-) and migrations/next (+) differ:\n%s", name, diff)
		}
	}
}

// makeTables runs the statements, those that need others of them behind these.
func makeTables(t *testing.T, db *pgxpool.Pool, files []string) {
	t.Helper()
	for len(files) > 0 {
		var left []string
		var failed error
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(t.Context(), string(text)); err != nil {
				left, failed = append(left, f), err
			}
		}
		if len(left) == len(files) {
			t.Fatalf("%s: %v", left[len(left)-1], failed)
		}
		files = left
	}
}

// relations describes tables, views and functions by name.
func relations(t *testing.T, db *pgxpool.Pool) map[string][]string {
	t.Helper()
	rows, err := db.Query(context.Background(), `SELECT c.oid::regclass::text, d.what FROM pg_class c
		CROSS JOIN LATERAL (
			SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
				|| coalesce(' DEFAULT ' || pg_get_expr(f.adbin, f.adrelid), '') || a.attidentity::text AS what
			FROM pg_attribute a LEFT JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
			WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			UNION ALL SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k WHERE k.conrelid = c.oid
			UNION ALL SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i WHERE i.indrelid = c.oid
			UNION ALL SELECT 'PARTITION BY ' || pg_get_partkeydef(c.oid) WHERE c.relkind = 'p'
		) d
		WHERE c.relnamespace::regnamespace::text IN ('public', 'report') AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
		UNION ALL SELECT p.oid::regprocedure::text, p.prosrc FROM pg_proc p WHERE p.pronamespace::regnamespace::text IN ('public', 'report') ORDER BY 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	var name, what string
	if _, err := pgx.ForEachRow(rows, []any{&name, &what}, func() error {
		all[strings.TrimPrefix(name, "public.")] = append(all[strings.TrimPrefix(name, "public.")], what)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
