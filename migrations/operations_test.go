package migrations_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// Every query of docs/operations.md runs, and what must have rows on any database has them.
func TestOperationsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	// At least so many rows: settings, who holds a snapshot, tables, days, how far the fold is, reclaims under way and over.
	atLeast := []int{14, 0, 8, 2, 1, 0, 0}
	queries := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(queries) != len(atLeast) {
		t.Fatalf("%d queries in the page, %d expectations here", len(queries), len(atLeast))
	}
	tx := pgtest.Tx(t)
	for i, q := range queries {
		if rows := table(t, tx, q[1]); len(rows) < atLeast[i] {
			t.Errorf("%d rows, want %d:\n%s", len(rows), atLeast[i], q[1])
		}
	}
}

// A transaction that has a snapshot is found.
func TestOperationsPageFindsASnapshot(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
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
