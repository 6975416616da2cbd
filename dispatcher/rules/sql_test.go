package rules

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
)

// Every statement is one that PostgreSQL takes, and is used.
func TestStatements(t *testing.T) {
	w := newWorld(t, nil)
	var code strings.Builder
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go") {
			text, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	for name, sql := range query {
		if !strings.Contains(code.String(), `"`+name+`"`) {
			t.Errorf("%s.sql is not used", name)
		}
		var all pgx.StrictNamedArgs = map[string]any{}
		for _, at := range strings.Split(sql, "@")[1:] {
			name, _, _ := strings.Cut(at, "::")
			all[name] = nil
		}
		conn, err := w.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		plain, _, err := all.RewriteQuery(t.Context(), conn.Conn(), sql, nil)
		if err == nil {
			_, err = conn.Conn().Prepare(t.Context(), name, plain)
		}
		if conn.Release(); err != nil {
			t.Errorf("%s.sql: %v", name, err)
		}
	}
}

// planNode is what EXPLAIN says of a part of a plan.
type planNode struct {
	Type    string     `json:"Node Type"`
	Table   string     `json:"Relation Name"`
	Index   string     `json:"Index Name"`
	Rows    float64    `json:"Actual Rows"`
	Loops   float64    `json:"Actual Loops"`
	Removed float64    `json:"Rows Removed by Filter"`
	Below   []planNode `json:"Plans"`
}

// each calls fn with every part.
func (n planNode) each(fn func(planNode)) {
	fn(n)
	for _, b := range n.Below {
		b.each(fn)
	}
}

// explained runs a statement in a transaction that is rolled back, and returns its plan and how long it took.
func (w *world) explained(t *testing.T, verb string, a args) (plan planNode, took float64) {
	t.Helper()
	tx, err := w.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	var text []byte
	if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+query[verb], a).Scan(&text); err != nil {
		t.Fatal(verb, err)
	}
	var plans []struct {
		Plan planNode
		Time float64 `json:"Execution Time"`
	}
	if err := json.Unmarshal(text, &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan, plans[0].Time
}

// With very many jobs that wait, in ranges of one, and as many rows of retries, a page reads its own rows alone.
func TestPagesOfMany(t *testing.T) {
	n := 20_000
	if os.Getenv("DIVVY_LONG") != "" {
		n = 1_000_000
	}
	w := newWorld(t, nil)
	if _, err := intake.Extend(t.Context(), w.pool, 4_000_000, 4_000_000); err != nil {
		t.Fatal(err)
	}
	day := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	w.exec("SELECT divvy_make_history($1::date)", day)
	w.exec("INSERT INTO idle_ranges SELECT 2 * j, 2 * j, 1 + j % 1000, 0, 1, 1, 2, 'w' FROM generate_series(1, $1::int) j", n)
	w.exec("INSERT INTO job_blocks (low, high, task_id, share_id, shape_id, priority, max_attempts, again) SELECT 1000 * b + 1, 1000 * b + 1000, 1 + b % 1000, 1, 1, 0, 3, false FROM generate_series(0, $1::int / 500) b", n)
	w.exec(`INSERT INTO history SELECT j, j, 1 + j % 1000, 1000, $2::timestamptz, $2::timestamptz + j * interval '1 ms', 0, 1, 1, 1, 1, 0, 1, 100, 'x',
		CASE WHEN j % 2 = 0 THEN 'w' ELSE 'x' END, 'p', 'n' FROM generate_series(1, 2 * $1::int) j`, n, day)
	w.exec("INSERT INTO retries SELECT 2 * j, 1 + j % 1000, now() + (j - 1000) * interval '1 s', 1, 1, false FROM generate_series(1, $1::int) j", n)
	w.exec("INSERT INTO attempt_texts (job_id, attempt, ended_on, reason) SELECT 2 * j, 1, $2::date, 'x' FROM generate_series(1, $1::int) j", n, day)
	w.exec("ANALYZE")
	ids := make([]int64, judgeBatch)
	for i := range ids {
		ids[i] = int64(2 * (n/2 + i*100))
	}
	for verb, a := range map[string]args{
		"waits": {"at": day.Add(time.Duration(n) * time.Millisecond), "job": int64(n), "upto": time.Now(), "n": judgeBatch},
		"due":   {"n": judgeBatch},
		"facts": {"jobs": ids},
		"tried": {"jobs": ids, "since": day},
	} {
		plan, took := w.explained(t, verb, a)
		plan.each(func(p planNode) {
			small := []string{"folded", "task_counts", "payloads"}
			if (p.Type == "Seq Scan" && p.Rows+p.Removed > 0 && !slices.Contains(small, p.Table)) || (p.Rows*p.Loops+p.Removed > 2*judgeBatch && !slices.Contains(small, p.Table) && p.Table != "") {
				t.Errorf("%s: %s of %s by %s reads %.0f rows, %.0f times, %.0f for nothing", verb, p.Type, p.Table, p.Index, p.Rows, p.Loops, p.Removed)
			}
		})
		t.Logf("%s: %.1f ms of %d jobs that wait", verb, took, n)
	}
}
