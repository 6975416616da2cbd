package pgtest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// PlannedOnce says of a statement that ran ten times or more on a connection that PostgreSQL plans it no more. It plans one anew each time that
// looks cheaper where its parameters are known: for one partition, or for the length of an array.
func PlannedOnce(t testing.TB, conn *pgxpool.Conn, sql string) {
	t.Helper()
	about, _, _ := strings.Cut(sql, "\n")
	var custom, generic int64
	err := conn.QueryRow(t.Context(), "SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE starts_with(statement, $1)", about).Scan(&custom, &generic)
	if err != nil || custom+generic < 10 || generic < custom {
		t.Errorf("%s: planned %d times, and %d times not (%v)", about, custom, generic, err)
	}
}
