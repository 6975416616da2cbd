package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// crowd fills a database with so many jobs in blocks of a thousand, every fifth block of task 1: six of ten are over, one is leased, with a
// ready one behind every tenth, three are ready.
func crowd(t *testing.T, jobs int) *pgxpool.Pool {
	t.Helper()
	db := pgtest.Open(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := db.Exec(context.Background(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec(`INSERT INTO shares (id, name, path, position, leaf, weight, tier) OVERRIDING SYSTEM VALUE VALUES (1, 'a', 'a', 0, true, 1, 1)`)
	exec(`INSERT INTO queues (id, name, core_power_milli, position) OVERRIDING SYSTEM VALUE SELECT i, 'q' || i, 1000, i FROM generate_series(0, 99) AS i`)
	exec(`INSERT INTO shapes (id, key, cores, memory_mb, disk_mb, walltime_s, labels, queues) OVERRIDING SYSTEM VALUE VALUES (1, '\x01', 1, 0, 0, 0, '{}', '{}')`)
	exec(`INSERT INTO tasks (id, name, user_name, state, share_id, shape_id, spec) OVERRIDING SYSTEM VALUE
		SELECT i, 'n', 'u' || i, 'running', 1, 1, '{}' FROM generate_series(1, 1000) AS i`)
	exec(`SELECT divvy_extend_jobs($1::bigint, $1::bigint / 10)`, jobs)
	exec(`SELECT divvy_make_history((now() AT TIME ZONE 'UTC')::date - i)
		FROM generate_series(0, 11) AS i`)
	exec(`INSERT INTO job_blocks (low, high, task_id, made_at, share_id, shape_id, priority, max_attempts, again)
		SELECT b * 1000 + 1, (b + 1) * 1000, CASE WHEN b % 5 = 0 THEN 1 ELSE 2 + b % 997 END, now() - interval '11 days' + interval '10 days' * b * 1000 / $1::bigint,
			1, 1, 0, 3, false FROM generate_series(0, $1::bigint / 1000 - 1) AS b`, jobs)
	exec(`INSERT INTO jobs (id, idx, inputs) SELECT i, i, ARRAY['in.' || i] FROM generate_series(1, $1::bigint) AS i`, jobs)
	exec(`INSERT INTO history SELECT i, i, b.task_id, 1000, b.made_at, b.made_at + interval '1 hour', 1000, 1, 1, 1, i % 100, -1, (i % 20 = 0)::int, 1,
			CASE WHEN i % 20 = 0 THEN 'x' ELSE 'f' END, CASE WHEN i % 20 = 0 THEN 'x' ELSE 'f' END, 'pilot', 'node' || i % 1000
		FROM generate_series(1, $1::bigint * 6 / 10) AS i JOIN job_blocks b ON b.low = (i - 1) / 1000 * 1000 + 1`, jobs)
	exec(`INSERT INTO attempt_texts (job_id, attempt, ended_on, reason, metadata) SELECT job, 1, (ended_at AT TIME ZONE 'UTC')::date, 'said', '{"m": 1}' FROM history WHERE job % 50 = 1`)
	exec(`INSERT INTO held SELECT i, i, i, b.task_id, 0, 1000, now(), '00000000-0000-0000-0000-000000000000', 1, 1, 1, i % 100, -1, 0, 0, 'pilot', 'node', ''
		FROM generate_series($1::bigint * 6 / 10 + 1, $1::bigint * 7 / 10) AS i JOIN job_blocks b ON b.low = (i - 1) / 1000 * 1000 + 1 WHERE i % 10 > 0`, jobs)
	exec(`INSERT INTO idle_ranges SELECT i, i, b.task_id, 0, 1, 1, 1, 'r'
		FROM generate_series($1::bigint * 6 / 10 + 1, $1::bigint * 7 / 10) AS i JOIN job_blocks b ON b.low = (i - 1) / 1000 * 1000 + 1 WHERE i % 10 = 0`, jobs)
	exec(`INSERT INTO idle_ranges SELECT high, low, task_id, 0, 1, 1, 1, CASE WHEN low % 50000 = 1 THEN 'w' ELSE 'r' END FROM job_blocks WHERE low > $1::bigint * 7 / 10 AND low % 7000 <> 1`, jobs)
	exec(`INSERT INTO over_ranges SELECT low, high, task_id, low, now(), 'c' FROM job_blocks WHERE low > $1::bigint * 7 / 10 AND low % 7000 = 1`, jobs)
	exec(`UPDATE folded SET seq = 1, at = now()`)
	exec(`VACUUM ANALYZE`)
	return db
}

// asked are statements with what they are asked for, of so many jobs, and how many pages they may look at.
func asked(jobs int64) map[string]struct {
	args  pg.Args
	pages int64
} {
	ids := func(from, n int64) (ids []int64) {
		for i := range n {
			ids = append(ids, from+i)
		}
		return ids
	}
	over, held, idle := jobs/10*3, jobs/100*65, jobs/10*9
	type asked = struct {
		args  pg.Args
		pages int64
	}
	return map[string]asked{
		"jobs one over":           {pg.Args{"ids": ids(over, 1), "whole": true}, 100},
		"jobs one leased":         {pg.Args{"ids": ids(held, 1), "whole": true}, 60},
		"jobs page over":          {pg.Args{"ids": ids(over, 100), "whole": false}, 6000},
		"jobs page idle":          {pg.Args{"ids": ids(idle, 100), "whole": false}, 3000},
		"attempts":                {pg.Args{"job": over}, 100},
		"texts":                   {pg.Args{"jobs": ids(over, 1), "attempts": ids(1, 1), "ends": []string{time.Now().UTC().AddDate(0, 0, -8).Format(time.RFC3339)}}, 20},
		"texts of one that runs":  {pg.Args{"jobs": ids(held, 1), "attempts": ids(1, 1), "ends": []string{"NULL"}}, 20},
		"log":                     {pg.Args{"job": over, "attempt": 0}, 150},
		"ids":                     {pg.Args{"after": over, "n": 100}, 30},
		"ids_leased":              {pg.Args{"after": int64(0), "n": 100}, 30},
		"ids_idle":                {pg.Args{"after": int64(0), "n": 100, "ready": true}, 30},
		"ids_over finished":       {pg.Args{"after": over, "n": 100, "state": "f"}, 500},
		"task_ids":                {pg.Args{"task": int64(1), "after": over, "n": 100}, 150},
		"task_ids of a small one": {pg.Args{"task": int64(78), "after": int64(0), "n": 100}, 150},
		"task_ids_leased":         {pg.Args{"task": int64(1), "after": int64(0), "n": 100}, 30 + jobs/5000*5},
		"task_ids_idle":           {pg.Args{"task": int64(1), "after": int64(0), "n": 100, "ready": true, "waiting": true}, 30 + jobs/5000*8},
		"task_ids_over failed":    {pg.Args{"task": int64(1), "after": over, "upto": over + 100_000, "states": []string{"x"}, "since": "-infinity", "n": 100}, 6000},
		"task_ids_over cancelled": {pg.Args{"task": int64(1), "after": int64(0), "upto": int64(100_000), "states": []string{"c"}, "since": "-infinity", "n": 100}, 30000},
		"task_ids_over lately":    {pg.Args{"task": int64(1), "after": over, "upto": over + 20_000, "states": []string{"c", "f", "x"}, "since": "2100-01-01", "n": 100}, 3000},
		"task_upto":               {pg.Args{"task": int64(1), "after": over, "n": int64(mostLooked)}, 300},
		"leased by user":          {pg.Args{"user": "u1", "share": "", "queue": "", "after": int64(0), "n": 100, "most": mostLooked}, 70_000},
		"leased by queue":         {pg.Args{"user": "", "share": "", "queue": "q5", "after": int64(0), "n": 100, "most": mostLooked}, 3000},
		"metadata":                {pg.Args{"task": int64(1), "after": int64(0), "n": 100}, 10_000},
	}
}

// views are questions to reports, and how many pages they may look at.
func views(jobs int64) map[string]int64 {
	over := jobs / 10 * 3
	lately := "ended_at >= now() - interval '200 hours' AND ended_at < now() - interval '198 hours'"
	return map[string]int64{
		fmt.Sprintf("SELECT * FROM report.jobs WHERE job_id = %d", over):                                   200,
		fmt.Sprintf("SELECT * FROM report.jobs WHERE job_id BETWEEN %d AND %d", over, over+99):             12_000,
		"SELECT * FROM report.task_jobs WHERE task_id = 78 LIMIT 100":                                      12_000,
		"SELECT outcome, count(*), sum(slot_seconds) FROM report.attempts WHERE " + lately + " GROUP BY 1": 300 + jobs/5000,
		"SELECT outcome, message FROM report.attempts WHERE " + lately + " AND outcome = 'lost'":           300 + jobs/5000,
		"SELECT message, priority FROM report.attempts WHERE " + lately + " LIMIT 100":                     2000,
		fmt.Sprintf("SELECT * FROM report.attempts WHERE job_id = %d", over):                               200,
		"SELECT sum(unit_seconds) FROM report.charges WHERE " + lately:                                     300 + jobs/5000,
		"SELECT * FROM report.leases ORDER BY job_id LIMIT 100":                                            1500,
		"SELECT * FROM report.freshness":                                                                   60,
	}
}

// literal is an argument as SQL has it.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return "'" + v + "'"
	case []int64:
		return "'{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]") + "}'"
	case []string:
		return "'{" + strings.Join(v, ",") + "}'"
	}
	return fmt.Sprint(v)
}

// run is how many pages a statement looks at, and for how long, by the plan for any arguments.
func run(t *testing.T, tx pgx.Tx, name string, args pg.Args) (pages int64, ms float64, plan string) {
	t.Helper()
	verb, _, _ := strings.Cut(name, " ")
	if verb == "" {
		verb = name
	}
	sql, values, err := pgx.StrictNamedArgs(args).RewriteQuery(t.Context(), tx.Conn(), query[verb], nil)
	if err != nil {
		t.Fatal(name, err)
	}
	literals := make([]string, len(values))
	for i, v := range values {
		literals[i] = literal(v)
	}
	exec := "EXECUTE p (" + strings.Join(literals, ", ") + ")"
	for _, s := range []string{"DEALLOCATE ALL", "PREPARE p AS " + strings.TrimSuffix(strings.TrimSpace(sql), ";"), exec} {
		if _, err := tx.Exec(t.Context(), s, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %s: %v", name, s, err)
		}
	}
	if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+exec, pgx.QueryExecModeSimpleProtocol).Scan(&plan); err != nil {
		t.Fatal(name, err)
	}
	return told(t, name, plan)
}

// told is what a plan says.
func told(t *testing.T, name, plan string) (pages int64, ms float64, same string) {
	t.Helper()
	var said []struct {
		Plan struct {
			Hit  int64 `json:"Shared Hit Blocks"`
			Read int64 `json:"Shared Read Blocks"`
		}
		Took float64 `json:"Execution Time"`
	}
	if err := json.Unmarshal([]byte(plan), &said); err != nil {
		t.Fatal(name, err)
	}
	return said[0].Plan.Hit + said[0].Plan.Read, said[0].Took, plan
}

// Each statement finds its rows by index, by the plan that it keeps, however many jobs there are. DIVVY_JOBS says how many.
func TestPlans(t *testing.T) {
	jobs := 200_000
	if said := os.Getenv("DIVVY_JOBS"); said != "" {
		if _, err := fmt.Sscan(said, &jobs); err != nil {
			t.Fatal(err)
		}
	}
	db := crowd(t, jobs)
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "SET LOCAL plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatal(err)
	}
	all := asked(int64(jobs))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		pages, ms, plan := run(t, tx, name, all[name].args)
		t.Logf("%-28s %7d pages %8.2f ms", name, pages, ms)
		if pages > all[name].pages {
			t.Errorf("%s looks at %d pages, more than %d", name, pages, all[name].pages)
			if os.Getenv("DIVVY_PLANS") != "" {
				t.Log(plan)
			}
		}
	}
	for sql, most := range views(int64(jobs)) {
		var plan string
		if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, pgx.QueryExecModeSimpleProtocol).Scan(&plan); err != nil {
			t.Fatal(sql, err)
		}
		pages, ms, _ := told(t, sql, plan)
		t.Logf("%7d pages %8.2f ms %s", pages, ms, sql)
		if pages > most {
			t.Errorf("%s looks at %d pages, more than %d", sql, pages, most)
			if os.Getenv("DIVVY_PLANS") != "" {
				t.Log(plan)
			}
		}
	}
}
