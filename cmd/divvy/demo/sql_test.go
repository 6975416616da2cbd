package demo

import (
	"regexp"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Every statement is one that the migrated database takes, from whoever may read reports.
func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	conn, err := openReader(t.Context(), pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if len(statements) != 4 {
		t.Errorf("%d statements, 4 are used", len(statements))
	}
	for name, sql := range statements {
		named := map[string]string{}
		prepared := regexp.MustCompile(`@\w+`).ReplaceAllStringFunc(sql, func(arg string) string {
			if named[arg] == "" {
				named[arg] = "$" + string(rune('1'+len(named)))
			}
			return named[arg]
		})
		if _, err := conn.Prepare(t.Context(), name, prepared); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := conn.Exec(t.Context(), "SELECT count(*) FROM public.jobs"); err == nil {
		t.Error("the report connection may read tables")
	}
}
