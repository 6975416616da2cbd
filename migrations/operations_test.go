package migrations_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// Every query of these pages runs and returns at least so many rows.
func TestQueriesOfOperators(t *testing.T) {
	tx := pgtest.Tx(t)
	for page, atLeast := range map[string][]int{
		"postgresql.md":            {14, 0, 8, 2, 1}, // settings, snapshots, tables, partitions, the lag of the fold
		"howto/take-units-back.md": {0, 0},           // reclaims under way and over
	} {
		text, err := os.ReadFile("../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		queries := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
		if len(queries) != len(atLeast) {
			t.Fatalf("%d queries in %s, %d expectations here", len(queries), page, len(atLeast))
		}
		for i, q := range queries {
			if rows := table(t, tx, q[1]); len(rows) < atLeast[i] {
				t.Errorf("%d rows, want %d:\n%s", len(rows), atLeast[i], q[1])
			}
		}
	}
}

// A transaction that has a snapshot is found.
func TestQueryFindsASnapshot(t *testing.T) {
	page, err := os.ReadFile("../docs/postgresql.md")
	if err != nil {
		t.Fatal(err)
	}
	find := regexp.MustCompile("(?s)```sql\n(SELECT 'session' AS what.*?)```").FindStringSubmatch(string(page))
	if find == nil {
		t.Fatal("the query is not in the page")
	}
	db := pgtest.Open(t)
	held, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback(t.Context())
	if _, err := held.Exec(t.Context(), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
		t.Fatal(err)
	}
	var pid string
	if err := held.QueryRow(t.Context(), "SELECT pg_backend_pid()::text").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	looker, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer looker.Rollback(t.Context())
	for _, row := range table(t, looker, find[1]) {
		if cells := regexp.MustCompile(`\|`).Split(row, -1); cells[0] == "session" && cells[1] == pid {
			return
		}
	}
	t.Errorf("session %s is not among those that hold a snapshot", pid)
}
