package dispatcher

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

var scanOfTasks = regexp.MustCompile(`Scan.* on tasks .*\(actual rows=(\d+) loops=(\d+)\)`)

// A batch looks up the users of its own tasks, however many other tasks there ever were.
func TestAccountReadsItsTasks(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	for i := range 3 {
		f.exec(endedAttempt, int64(i), time.Hour, time.Duration(i)*time.Hour)
	}
	f.exec(`INSERT INTO tasks (name, user_name, state, share_id, spec, ended_at) SELECT 'old', 'user' || i, 'done', 1, '{}', now()
		FROM generate_series(1, 20000) AS i`)
	f.exec("ANALYZE")
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), query["account_bound"]); err != nil {
		t.Fatal(err)
	}
	var last int64
	if err := tx.QueryRow(t.Context(), "UPDATE usage_state SET upto = (SELECT max(nth) FROM attempts) RETURNING upto").Scan(&last); err != nil {
		t.Fatal(err)
	}
	rows, err := tx.Query(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF) "+query["account"],
		pgx.StrictNamedArgs{"done": int64(0), "upto": last, "past": nil})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	for _, line := range plan {
		if m := scanOfTasks.FindStringSubmatch(line); m != nil {
			looks++
			if m[1] > "1" || m[2] != "1" {
				t.Errorf("%s", line)
			}
		}
	}
	if looks != 1 {
		t.Errorf("%d looks at tasks:\n%s", looks, strings.Join(plan, "\n"))
	}
}
