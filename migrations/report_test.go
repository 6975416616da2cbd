package migrations_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// sample is a transaction on a database with the rows of testdata/report.sql and more of these files, read as divvy_reader.
func sample(t *testing.T, more ...string) pgx.Tx {
	t.Helper()
	tx := pgtest.Tx(t)
	for _, name := range append([]string{"report"}, more...) {
		rows, err := os.ReadFile("testdata/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), string(rows)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE divvy_reader; SET LOCAL timezone = 'Asia/Kathmandu'"); err != nil {
		t.Fatal(err)
	}
	return tx
}

// table runs a query and returns each row as text with | between its columns.
func table(t *testing.T, tx pgx.Tx, sql string) (lines []string) {
	t.Helper()
	rows, err := tx.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	for rows.Next() {
		var cells []string
		for _, v := range rows.RawValues() {
			if v == nil {
				cells = append(cells, "-")
			} else {
				cells = append(cells, string(v))
			}
		}
		lines = append(lines, strings.Join(cells, "|"))
	}
	if rows.Err() != nil {
		t.Fatalf("%s: %v", sql, rows.Err())
	}
	return lines
}

func expect(t *testing.T, tx pgx.Tx, sql string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, table(t, tx, sql)); diff != "" {
		t.Errorf("%s\n%s", sql, diff)
	}
}

func TestReportViews(t *testing.T) {
	tx := sample(t)
	expect(t, tx, "SELECT path, leaf, weight, tier, waiting_jobs, ready_jobs, held_jobs, held_units, target_units, target_at = now() - interval '100 s' FROM report.shares_now ORDER BY path",
		"Production|f|70|1|1|8|2|7.000|5.000|f",
		"Production/MC|t|50|1|0|5|2|7.000|7.000|t",
		"Production/Rep|t|30|1|1|3|0|0.000|-|-",
		"Test|t|5|2|0|0|0|0.000|1.000|t")
	expect(t, tx, "SELECT task_id, user_name, share, state, total, waiting, ready, leased, finished, failed, cancelled FROM report.tasks ORDER BY 1",
		"1|alice|Production/MC|running|10|0|5|2|3|0|0", "2|bob|Production/Rep|running|4|1|3|0|0|0|0",
		"3|alice|Test|finished|2|0|0|0|1|1|0", "4|carol|-|submitting|0|0|0|0|0|0|0")
	expect(t, tx, "SELECT state, count(*), min(share), max(share), min(queue), count(pilot), count(ended_at) FROM report.jobs GROUP BY state ORDER BY state",
		"failed|1|Test|Test|-|0|1", "finished|1|Production/MC|Production/MC|-|0|1", "leased|2|Production/MC|Production/MC|BNL|2|0",
		"ready|8|Production/MC|Production/Rep|-|0|0", "waiting|1|Production/Rep|Production/Rep|-|0|0")
	expect(t, tx, "SELECT job_id, user_name, share, queue, cores, units, state, pilot, age FROM report.leases ORDER BY 1",
		"11|alice|Production/MC|CERN|2|5.000|running|p1|00:10:00", "12|alice|Production/MC|BNL|2|2.000|granted|p2|00:05:00")
	expect(t, tx, "SELECT job_id, attempt, user_name, share, queue, units, outcome, slot_seconds, trim_scale(unit_seconds) FROM report.attempts ORDER BY 1, 2",
		"1|1|alice|Production/MC|CERN|5.000|lost|10800.000|27000", "1|2|alice|Production/MC|BNL|2.000|finished|3600.000|3600",
		"2|1|alice|Test|BNL|2.000|failed|0.002|0.002", "3|1|alice|Test|BNL|2.000|cancelled|0.000|0")
	expect(t, tx, "SELECT job_id, attempt, task_id, user_name, share, queue, outcome, exit_code, judged FROM report.judgements",
		"2|1|3|alice|Test|BNL|failed|-|failed for good: rule bug: no_retry")
	expect(t, tx, "SELECT count(*), sum(held_units) FROM report.share_history", "7|29.000")
	expect(t, tx, "SELECT now() - at, daemon_id, seq, job_id, queue, share, units, attempt FROM report.decisions ORDER BY at, job_id",
		"00:00:01|1|7|2|BNL|Test|2.000|1", "00:00:01|1|7|12|BNL|Production/MC|2.000|1", "00:00:00.5|1|8|11|CERN|Production/MC|5.000|1")
	expect(t, tx, "SELECT seq, entry, kind, job, attempt, queue, pilot FROM report.ledger WHERE seq >= report.ledger_seq(now() - interval '1 s') ORDER BY 1, 2",
		"7|1|granted|12|1|2|p2", "7|2|granted|2|1|2|p2", "8|1|granted|11|1|1|p1")
	expect(t, tx, "SELECT folded_seq, now() - folded_at, newest_seq, now() - newest_at, behind_seconds FROM report.freshness", "7|00:00:01|8|00:00:00.5|0.5")
}

func TestUsageIsSplitExactlyAtHours(t *testing.T) {
	tx := sample(t)
	expect(t, tx, "SELECT (date_trunc('hour', now(), 'UTC') - hour), share, queue, user_name, trim_scale(slot_seconds), trim_scale(unit_seconds), jobs, failures, lost FROM report.usage_hourly ORDER BY hour, queue, share",
		"2 days|Test|BNL|alice|0|0|1|0|0",
		"04:00:00|Production/MC|CERN|alice|1200|3000|0|0|0",
		"03:00:00|Production/MC|CERN|alice|7200|18000|0|0|0",
		"02:00:00|Production/MC|BNL|alice|3600|3600|0|0|0",
		"02:00:00|Production/MC|CERN|alice|2400|6000|1|0|1",
		"01:00:00|Production/MC|BNL|alice|0|0|1|0|0",
		"01:00:00|Test|BNL|alice|0.002|0.002|1|1|0")
	expect(t, tx, "SELECT (SELECT sum(unit_seconds) FROM report.usage_hourly) = (SELECT sum(unit_seconds) FROM report.attempts), (SELECT sum(jobs) FROM report.usage_hourly) = (SELECT count(*) FROM report.attempts)",
		"t|t")
}

// answer is what a question comes to: on which rows, and, where it has instants in it, seen how.
type answer struct {
	files []string
	seen  string // a statement about the answer, q
	want  []string
}

var (
	base      = []string{}
	questions = []string{"questions"}
	resources = []string{"resources", "claims"}
)

// answers are in the order of docs/examples/questions.sql.
var answers = []answer{
	{base, "", []string{"Production/MC|7.000|7.000|0.000|5", "Production/Rep|-|0.000|-|3"}},
	{base, "", []string{"Production/MC|1000|1200|83.3", "Test|0|200|0.0"}},
	{base, "", []string{"alice|8.50|4|50.0"}},
	{base, "SELECT task_id, name, user_name, share, percent, failed, 'now + ' || (through_at - now()) FROM q",
		[]string{"2|rep|bob|Production/Rep|0.0|0|-", "1|mc|alice|Production/MC|30.0|0|now + 04:40:00"}},
	{base, "", []string{"n1|CERN|1|0|1|10800", "n2|BNL|2|1|0|0"}},
	{base, "", []string{"1305|Failed to execute payload|1|1"}},
	{questions, "SELECT share, sum(slot_hours), sum(unit_hours), sum(attempts) FROM q GROUP BY share ORDER BY share",
		[]string{"Production/MC|4.0|8.5|2", "Test|0.0|0.0|2"}},
	{questions, "", []string{"1|mc|alice|8.5|2", "3|over|alice|0.0|2"}},
	{questions, "SELECT share, slot_hours >= 0.3 FROM q WHERE share = 'Production/MC'", []string{"Production/MC|t"}},
	{questions, "", []string{"Production/MC|CERN|1|2|5.000", "Production/MC|BNL|1|2|2.000"}},
	{questions, "", []string{"11|1|alice|CERN|n1|00:10:00", "12|1|alice|BNL|n2|00:05:00"}},
	{questions, "", []string{"Production/MC|100|8.5|1|10"}},
	{questions, "", []string{"Production/MC|20.0|0.0", "Production/Rep|0.0|20.0"}},
	{questions, "SELECT hour = date_trunc('hour', now(), 'UTC') - interval '1 hour', pool, jain, furthest_by, furthest_share, starved_shares FROM q",
		[]string{"t|default|0.6000|20|Production/MC|1"}},
	{questions, "", []string{"Production/MC|20|50", "Test|10|100"}},
	{questions, "SELECT share, seconds FROM q", []string{"Test|3600"}},
	{questions, "", []string{"BNL|online|t|2|2|50.0|f", "CERN|online|f|2|1|100.0|t"}},
	{questions, "", []string{"Production/MC|100.0", "Test|0.0"}},
	{questions, "", []string{"failed|1|2|1"}},
	{questions, "", []string{"1|CERN|n1|lost|-|01:30:00|10800", "2|BNL|n2|finished|0|00:30:00|3600"}},
	{questions, "SELECT share, trim_scale(slot_seconds), pieces FROM q", []string{"Production/MC|10800|3"}},
	{questions, "", []string{"failed for good: rule bug: no_retry|1|1"}},
	{questions, "", []string{"1|7|Production/MC|BNL|2.000"}},
	{resources, "", []string{"gone|bob|0|3", "maya|alice|7|14", "maya|bob|0|3", "seats|Production/MC|0|7"}},
	{resources, "", []string{"maya|-|-|6|7|17", "seats|-|BNL|5|1|7", "seats|-|CERN|2|1|7", "table|orders|-|3|0|3"}},
	{resources, "", []string{"1|1|0/pool|CERN|n1|2", "4|-|shelf|BNL|n2|0"}},
	{questions, "", []string{"1|mc|t|7|high"}},
	{questions, "", []string{"2|ann|a test share|-|3|t", "1|test||-|3|f"}},
	{questions, "", []string{"Old|f|t", "Test|t|f"}},
	{base, "", []string{"Production|0.933333|8|7.000|5.000|-2.000|1", "Production/Rep|0.375000|3|0.000|-|-|1"}},
}

// documented returns the statements of docs/examples/questions.sql, in its order.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/examples/questions.sql")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n\n")[1:] // the head is a comment
}

// The questions of docs/examples/questions.sql have these answers.
func TestQuestions(t *testing.T) {
	all := documented(t)
	if len(all) != len(answers) {
		t.Fatalf("%d questions in the file, %d answers here", len(all), len(answers))
	}
	for i, q := range all {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			tx := sample(t, answers[i].files...)
			sql := strings.TrimSuffix(strings.TrimSpace(q), ";")
			if answers[i].seen != "" {
				sql = "WITH q AS (" + sql + ") " + answers[i].seen
			}
			expect(t, tx, sql, answers[i].want...)
		})
	}
}

// Every view and column is described, and no fence of a lease leaks.
func TestReportIsDescribed(t *testing.T) {
	tx := sample(t)
	expect(t, tx, `SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
		WHERE c.relnamespace = 'report'::regnamespace AND (obj_description(c.oid) IS NULL OR col_description(c.oid, a.attnum) IS NULL
			OR a.attname ~ 'nonce|token|secret|hash')`)
}
