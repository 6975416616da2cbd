package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestReaderMayReadNothingElse(t *testing.T) {
	tx := sample(t)
	expect(t, tx, `SELECT n.nspname, c.relname, 'readable' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'report', 'pg_toast') AND c.relkind IN ('r', 'p', 'v', 'm')
		AND (has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE') OR has_table_privilege(c.oid, 'DELETE, TRUNCATE'))`)
	expect(t, tx, `SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(c.oid, 'USAGE, SELECT, UPDATE') END`)
	expect(t, tx, `SELECT relname FROM pg_class WHERE relnamespace = 'report'::regnamespace AND
		(NOT has_table_privilege(oid, 'SELECT') OR has_table_privilege(oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))`)
	expect(t, tx, "SELECT rolcanlogin, rolconfig FROM pg_roles WHERE rolname = 'divvy_reader'", "f|{statement_timeout=60s}")
	// What runs with the rights of its owner, and can be called.
	expect(t, tx, `SELECT n.nspname, p.proname, p.provolatile FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE p.prosecdef AND has_function_privilege(p.oid, 'EXECUTE') ORDER BY 2`, "public|divvy_payer|s", "report|ledger_seq|s")
	expect(t, tx, "SELECT has_schema_privilege('report', 'CREATE'), has_schema_privilege('public', 'CREATE')", "f|f")
}

// writes are what a reader may not do, each in a savepoint.
var writes = []string{
	"UPDATE report.usage_daily SET jobs = 0", "DELETE FROM report.tasks", "INSERT INTO report.waits (jobs) VALUES (1)", "UPDATE report.about SET counted_up_to = 3",
	"UPDATE tasks SET state = 'aborted'", "DELETE FROM history", "TRUNCATE hour_usage", "SELECT nextval('job_ids')", "SELECT command FROM payloads",
	"SELECT secret FROM daemons", "SELECT spec FROM tasks", "SELECT divvy_drop_history('history', now() + interval '9 days')", "SELECT divvy_make_history(current_date + 90)",
	"CREATE TABLE mine (i int)", "CREATE VIEW report.mine AS SELECT 1", "COPY report.tasks TO PROGRAM 'cat'",
}

func TestReaderMayNotWrite(t *testing.T) {
	tx := sample(t)
	for _, sql := range writes {
		inner, err := tx.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = inner.Exec(t.Context(), sql)
		if failed := new(pgconn.PgError); !errors.As(err, &failed) || failed.Code != "42501" && failed.Code != "55000" {
			t.Errorf("%s: %v, want insufficient privilege, or a view that cannot be changed at all", sql, err)
		}
		if err := inner.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A password in what a task runs, in its environment, its labels and parameters, in what its pilots printed, in the file of the
// site or of another daemon, is in no view.
func TestReaderSeesNoSecrets(t *testing.T) {
	const secret = "Tr0ub4dor"
	tx := sample(t, "resources", "claims")
	if _, err := tx.Exec(t.Context(), "RESET ROLE"); err != nil {
		t.Fatal(err)
	}
	holders := map[string]string{
		"payloads": "command env matrix roles retry", "tasks": "spec parameters scaled scouted tagged_by", "shapes": "labels", "inputs": "names",
		"attempt_texts": "log metadata", "jobs": "inputs", "daemons": "secret address", "site_versions": "source", "outbox": "entries", "latest": "entry",
		"payload_logs": "log",
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO payloads (task_id, command, env, matrix) SELECT id, '{}', '{}', '{}' FROM tasks ON CONFLICT DO NOTHING;
		INSERT INTO inputs (task_id, position, names) SELECT id, 0, '{a}' FROM tasks ON CONFLICT DO NOTHING;
		INSERT INTO outbox (entries) VALUES ('[]');
		INSERT INTO latest (kind, key, name, entry) VALUES ('h', 1, '', '{}');
		INSERT INTO payload_logs (job_id, attempt, log) SELECT job, attempt, '' FROM history`); err != nil {
		t.Fatal(err)
	}
	for relation, columns := range holders {
		for _, column := range strings.Fields(columns) {
			var kind string
			err := tx.QueryRow(t.Context(), "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = $1::text::regclass AND attname = $2",
				relation, column).Scan(&kind)
			if err != nil {
				t.Fatalf("%s.%s: %v", relation, column, err)
			}
			value := map[string]string{"text": secret, "text[]": "{" + secret + "}", "json": `{"` + secret + `": 1}`, "jsonb": `{"` + secret + `": 1}`}[kind]
			tag, err := tx.Exec(t.Context(), fmt.Sprintf("UPDATE %s SET %s = '%s'", relation, column, value))
			if err != nil || tag.RowsAffected() == 0 {
				t.Fatalf("%s.%s: %d rows, %v", relation, column, tag.RowsAffected(), err)
			}
		}
	}
	if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE divvy_reader"); err != nil {
		t.Fatal(err)
	}
	views := table(t, tx, "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'report'::regnamespace AND c.relkind = 'v' ORDER BY 1")
	if len(views) < 25 {
		t.Fatalf("%d views", len(views))
	}
	full := 0
	for _, view := range views {
		rows := table(t, tx, "SELECT v::text FROM report."+pgx.Identifier{view}.Sanitize()+" v")
		full += min(1, len(rows))
		for _, row := range rows {
			if strings.Contains(row, secret) {
				t.Errorf("%s shows it: %s", view, row)
			}
		}
	}
	if full < 20 {
		t.Errorf("%d of %d views have rows: the others are not tested", full, len(views))
	}
	if _, err := tx.Exec(t.Context(), "SELECT * FROM payloads"); err == nil {
		t.Error("it reads the payloads themselves")
	}
}

// The login that docs/reporting.md makes: it reads, it does not write, and what takes too long ends.
func TestLoginOfAReader(t *testing.T) {
	dsn := pgtest.DSN(t)
	db := open(t, dsn)
	login := "divvy_test_" + strings.ToLower(strings.NewReplacer("/", "_").Replace(t.Name())) + "_" + fmt.Sprint(db.Config().ConnConfig.Database)
	login = login[:min(60, len(login))]
	run(t, db, fmt.Sprintf(`CREATE ROLE %[1]s LOGIN PASSWORD 'a' IN ROLE divvy_reader; ALTER ROLE %[1]s SET statement_timeout = '300ms'`, login))
	t.Cleanup(func() {
		if _, err := db.Exec(context.Background(), "DROP ROLE "+login); err != nil {
			t.Error(err)
		}
	})
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Password = login, "a"
	delete(cfg.RuntimeParams, "statement_timeout")
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	var timeout string
	var version int
	if err := conn.QueryRow(t.Context(), "SELECT current_setting('statement_timeout'), version FROM report.about").Scan(&timeout, &version); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"300ms", 5}, []any{timeout, version}); diff != "" {
		t.Error(diff)
	}
	for sql, code := range map[string]string{
		"SELECT count(*) FROM generate_series(1, 1000000000000)": "57014", "SELECT * FROM payloads": "42501", "UPDATE report.about SET counted_up_to = 1": "42501",
		"CREATE TABLE mine (i int)": "42501", "SET ROLE pg_read_all_data": "42501",
	} {
		_, err := conn.Exec(t.Context(), sql)
		if failed := new(pgconn.PgError); !errors.As(err, &failed) || failed.Code != code {
			t.Errorf("%s: %v, want %s", sql, err, code)
		}
	}
}
