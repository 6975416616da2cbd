package transfer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/transfer"
	"github.com/divvyhq/divvy/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// old is a database of v0.10.0, with an attempt that is not in the roll-ups yet.
func old(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db, err := pg.Open(t.Context(), pgtest.Dump(t, "testdata/v0.10.sql.gz"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	run(t, db, `INSERT INTO attempts (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, claimed_at, ended_at, outcome, cpu_s)
		VALUES (999, 1, 1, 1, 2, 1, 1, 3000, 2, 0, 'p', 'n1', '2026-11-25 04:00:10+00', '2026-11-25 05:00:00.25+00', 'lost', 12.5)`)
	return db
}

func run(t *testing.T, db *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// rows are those of a query, as JSON.
func rows(t *testing.T, db *pgxpool.Pool, from string) string {
	t.Helper()
	found, _ := db.Query(t.Context(), "SELECT to_jsonb(r)::text FROM "+from+" r")
	all, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", from, err)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// digits are those behind the point of what usage is counted in: whole milliseconds of slots, and of thousandths of units. A database of 0.10 has
// parts of them.
var digits = map[string]int{"slot_seconds": 3, "wasted_slot_seconds": 3, "unit_seconds": 6}

// counted are rows of usage of a database of 0.10 as one of today has them. Nothing else of them is changed, but for how long their numbers are
// written.
func counted(t *testing.T, rows []string) (as []string) {
	t.Helper()
	for _, row := range rows {
		fields := map[string]any{}
		d := json.NewDecoder(strings.NewReader(row))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		for name, value := range fields {
			number, is := value.(json.Number)
			if !is {
				continue
			}
			exact, ok := new(big.Rat).SetString(number.String())
			if !ok {
				t.Fatalf("%s: no number: %s", row, number)
			}
			if n, of := digits[name]; of {
				exact.SetString(exact.FloatString(n))
			}
			fields[name] = exact.RatString()
		}
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		as = append(as, string(text))
	}
	slices.Sort(as)
	return as
}

// alike compares rows before and after. Those of usage that is old are counted anew; the others are the same to the letter.
func alike(t *testing.T, what string, usage bool, before, after []string) {
	t.Helper()
	if usage {
		for _, row := range after {
			for name, n := range digits {
				if found := regexp.MustCompile(`"` + name + `": ?\d+\.\d{` + strconv.Itoa(n+1) + `}`).FindString(row); found != "" {
					t.Errorf("%s: a part of what is counted: %s", what, found)
				}
			}
		}
		before, after = counted(t, before), counted(t, after)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s (-before +after):\n%s", what, diff)
	}
}

func export(t *testing.T, db *pgxpool.Pool) (file string, done transfer.Exported) {
	t.Helper()
	var b bytes.Buffer
	done, err := transfer.Export(t.Context(), db, &b)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), done
}

func imported(t *testing.T, db *pgxpool.Pool, file string) transfer.Summary {
	t.Helper()
	done, err := transfer.Import(t.Context(), db, strings.NewReader(file), "site.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// records are the lines of a file, those of usage apart, without the header, which says when it was written.
func records(file string) (usage, others []string) {
	_, rest, _ := strings.Cut(file, "\n")
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, `{"kind":"usage_`) {
			usage = append(usage, line)
		} else {
			others = append(others, line)
		}
	}
	return usage, others
}

// same are what must read the same before and after: the site, tokens, and reports of usage.
var same = []string{
	"site_versions", "shares", "queues", "tag_rules", "site_resources", "site_later", "tokens", "report.versions", "report.version_shares",
	"report.usage_hourly", "report.usage_daily", "report.node_usage", "report.waits", "report.user_waits", "report.fairness", "report.share_fairness",
}

func TestTransfer(t *testing.T) {
	from, to := old(t), pgtest.Open(t)
	file, done := export(t, from)
	if done.Tasks != 0 || done.Leases != 0 {
		t.Errorf("%+v of a site that is at rest", done)
	}
	if diff := cmp.Diff(done.Records, imported(t, to, file)); diff != "" {
		t.Errorf("written and read (-+):\n%s", diff)
	}
	for _, what := range same {
		before := rows(t, from, what)
		if before == "" {
			t.Errorf("%s has no row: nothing was compared", what)
		}
		alike(t, what, strings.Contains(what, "usage"), strings.Split(before, "\n"), strings.Split(rows(t, to, what), "\n"))
	}
	if got := rows(t, to, "(SELECT slot_seconds, lost FROM report.node_usage WHERE node = 'n1')"); !strings.Contains(got, `"lost": 1`) {
		t.Errorf("the attempt that was not in the roll-ups: %q", got)
	}
	again, _ := export(t, to)
	usage, others := records(file)
	usageAgain, othersAgain := records(again)
	alike(t, "usage in a file of the new database", true, usage, usageAgain)
	alike(t, "a file of the new database", false, others, othersAgain)
}

// No id that somebody may hold is given twice.
func TestIDsGoOn(t *testing.T) {
	from, to := old(t), pgtest.Open(t)
	file, _ := export(t, from)
	imported(t, to, file)
	for _, name := range []string{"jobs_id_seq", "tasks_id_seq", "daemons_id_seq", "shares_id_seq", "queues_id_seq", "tokens_id_seq", "site_later_id_seq"} {
		next := func(db *pgxpool.Pool, name string) (id int64) {
			if db == to && name == "jobs_id_seq" {
				name = "job_ids"
			}
			if err := db.QueryRow(t.Context(), "SELECT nextval($1::regclass)", name).Scan(&id); err != nil {
				t.Fatal(err)
			}
			return id
		}
		if is, want := next(to, name), next(from, name); is < want || want == 1 {
			t.Errorf("%s goes on at %d, the old one at %d", name, is, want)
		}
	}
	// Whatever a file says of sequences, they go on behind what is there.
	bare := pgtest.Open(t)
	imported(t, bare, without(file, `"kind":"sequence"`))
	run(t, bare, "INSERT INTO shares (name, path, position, leaf, weight) VALUES ('new', 'new', 0, true, 1)")
}

// without drops the lines of a file that contain a text, and counts anew.
func without(file, text string) string {
	var kept []string
	for line := range strings.Lines(file) {
		if !strings.Contains(line, text) && !strings.Contains(line, `"kind":"end"`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "") + ending(len(kept)-1)
}

func TestWhatIsNotOverIsSaid(t *testing.T) {
	db := old(t)
	run(t, db, "UPDATE tasks SET state = 'running', ended_at = NULL WHERE id = 1")
	if _, done := export(t, db); done.Tasks != 1 {
		t.Errorf("%+v, want a task", done)
	}
}

// A database of v0.9.0 has no waits by user.
func TestExportOfTheReleaseBefore(t *testing.T) {
	from, to := old(t), pgtest.Open(t)
	run(t, from, "DROP VIEW report.user_waits; DROP TABLE user_wait_hours; DELETE FROM goose_db_version WHERE version_id > 49")
	file, _ := export(t, from)
	imported(t, to, file)
	const usage = "report.usage_daily"
	alike(t, usage, true, strings.Split(rows(t, from, usage), "\n"), strings.Split(rows(t, to, usage), "\n"))
	run(t, from, "DELETE FROM goose_db_version WHERE version_id > 35")
	if _, err := transfer.Export(t.Context(), from, io.Discard); err == nil || !strings.Contains(err.Error(), "bring it up with v0.10 first") {
		t.Errorf("export of v0.8: %v", err)
	}
}

func TestOldDatabasesAreRefused(t *testing.T) {
	db := old(t)
	for what, do := range map[string]func() error{
		"up":     func() error { _, err := migrations.Up(t.Context(), db); return err },
		"down":   func() error { _, _, err := migrations.Down(t.Context(), db); return err },
		"status": func() error { _, err := migrations.Status(t.Context(), db); return err },
		"import": func() error { _, err := transfer.Import(t.Context(), db, strings.NewReader(""), "f"); return err },
	} {
		err := do()
		var is migrations.OldError
		if !errors.As(err, &is) || is.Schema != 53 {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for _, words := range []string{"divvy 0.10 or before", "jobs are over", "divvy migrate export FILE", "divvy migrate import FILE", "new, empty"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v; want %q", what, err, words)
			}
		}
	}
	if n := rows(t, db, "(SELECT FROM pg_class WHERE relname = 'migrations')"); n != "" {
		t.Error("the table of migrations was made")
	}
	if schema, err := migrations.Old(t.Context(), pgtest.Open(t)); schema != 0 || err != nil {
		t.Errorf("a new database is taken for an old one: %d, %v", schema, err)
	}
}

// A database of today that a program of the old line was started on has its table too, and is none of it.
func TestNewDatabasesStayNew(t *testing.T) {
	db := pgtest.Open(t)
	run(t, db, "CREATE TABLE goose_db_version (version_id bigint, is_applied boolean); INSERT INTO goose_db_version VALUES (0, true)")
	if done, err := migrations.Up(t.Context(), db); len(done) > 0 || err != nil {
		t.Errorf("%v, %v", done, err)
	}
}
