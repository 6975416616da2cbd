package migrations_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// operators returns the queries of docs/examples/operators.sql, in its order.
func operators(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/examples/operators.sql")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n\n")[1:] // the head is a comment
}

// Every query runs and returns at least so many rows.
func TestQueriesOfOperators(t *testing.T) {
	// Settings, snapshots, tables, partitions, the lag of the fold, reclaims under way and over; then those of the runbook.
	atLeast := []int{14, 0, 8, 2, 1, 0, 0, 0, 0, 0, 0}
	queries := operators(t)
	if len(queries) != len(atLeast) {
		t.Fatalf("%d queries in the file, %d expectations here", len(queries), len(atLeast))
	}
	tx := pgtest.Tx(t)
	for i, q := range queries {
		if rows := table(t, tx, q); len(rows) < atLeast[i] {
			t.Errorf("%d rows, want %d:\n%s", len(rows), atLeast[i], q)
		}
	}
}

// A transaction that has a snapshot is found.
func TestQueryFindsASnapshot(t *testing.T) {
	i := slices.IndexFunc(operators(t), func(q string) bool { return strings.HasPrefix(q, "-- What holds a snapshot?") })
	if i < 0 {
		t.Fatal("the query is not in the file")
	}
	find := operators(t)[i]
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
	for _, row := range table(t, looker, find) {
		if cells := regexp.MustCompile(`\|`).Split(row, -1); cells[0] == "session" && cells[1] == pid {
			return
		}
	}
	t.Errorf("session %s is not among those that hold a snapshot", pid)
}
