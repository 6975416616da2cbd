package migrations_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/migrations"
)

// refused says that Up refuses a database with these words, and that nothing is in it.
func refused(t *testing.T, db *pgxpool.Pool, words ...string) {
	t.Helper()
	done, err := migrations.Up(t.Context(), db)
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v, want %q", err, w)
		}
	}
	if n := count(t, db, "SELECT count(*) FROM pg_class WHERE relname IN ('migrations', 'daemons')"); len(done) > 0 || n > 0 {
		t.Errorf("%d migrations, %d relations", len(done), n)
	}
}

func TestOtherEncodingsAreRefused(t *testing.T) {
	dsn := pgtest.Empty(t)
	server := open(t, dsn)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII"} {
		t.Run(encoding, func(t *testing.T) {
			name := pgx.Identifier{server.Config().ConnConfig.Database + "_" + strings.ToLower(encoding)}.Sanitize()
			run(t, server, "CREATE DATABASE "+name+" ENCODING '"+encoding+"' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
			defer run(t, server, "DROP DATABASE "+name+" WITH (FORCE)")
			cfg := server.Config()
			cfg.ConnConfig.Database = strings.Trim(name, `"`)
			db, err := pgxpool.NewWithConfig(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			refused(t, db, "has the encoding "+encoding, "needs UTF8", "CREATE DATABASE")
		})
	}
}

func TestOtherSchemasAreRefused(t *testing.T) {
	for name, prepare := range map[string]string{"app": "CREATE SCHEMA app", "": "SELECT"} {
		t.Run(name, func(t *testing.T) {
			dsn := pgtest.Empty(t)
			run(t, open(t, dsn), prepare)
			cfg := open(t, dsn).Config()
			cfg.ConnConfig.RuntimeParams["search_path"] = "app"
			db, err := pgxpool.NewWithConfig(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			refused(t, db, `the schema "`+name+`"`, "search_path=public")
		})
	}
}
