package report_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/report"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Every report answers on a small site, with the columns that its statement names and times in UTC.
func TestReports(t *testing.T) {
	db := pgtest.Open(t)
	for _, name := range []string{"report.sql", "resources.sql"} {
		rows, err := os.ReadFile("../../migrations/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), string(rows)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(t.Context(), `INSERT INTO wait_hours (hour, share_id, queue_id, bucket, jobs, wait_seconds)
			SELECT date_trunc('hour', now(), 'UTC'), 2, 1, b, n, b * n FROM (VALUES (0, 60), (3, 36), (8, 4)) AS w (b, n);
		INSERT INTO audit (who, role, subject, what, object, before, after) VALUES ('alice', 'operator', '', 'task.kill', '3', 'running', 'aborting');
		INSERT INTO user_wait_hours SELECT date_trunc('hour', now(), 'UTC'), u, b, n, b * n FROM (VALUES ('bob', 0, 60), ('alice', 3, 96)) AS w (u, b, n);
		INSERT INTO share_samples (at, pool, share_id, target, held, ready, deserved, lent) VALUES
			(now() + interval '1 s', 'default', 2, 50, 50000, 0, 50, NULL), (now() + interval '2 s', 'default', 2, 30, 30000, 0, 50, 20.5);
		INSERT INTO fairness_hours SELECT date_trunc('hour', now(), 'UTC') - interval '1 hour', 'default', 2, 3600, 3600, 1800, 1800, 0, 3600`); err != nil {
		t.Fatal(err)
	}
	// A row of each, by its first cells.
	want := map[string]string{
		"shares": "Production no 70", "usage": "Production/MC 4 8.5 2 0 1 75", "users": "alice 4 8.5 4 50",
		"tasks": "1 mc alice Production/MC 4 8.5 2 0 1", "queues": "BNL online - 3 no - 1 3 33.3", "nodes": "n1 CERN 1 0 1 3",
		"waits": "Production/MC 100 1.4 1 10", "promises": "Production/MC default 1 0.5 50 0.5 0", "errors": "failed - - 1",
		"loans":     "Production/MC default 50 30 20.5 0 10.25 0",
		"resources": "idle - - 1 0 0", "versions": "2",
	}
	r := report.NewReader(db)
	for _, is := range report.List() {
		got, err := r.Run(t.Context(), is.Name, "", time.Now().Add(-7*24*time.Hour))
		if err != nil {
			t.Errorf("%s: %v", is.Name, err)
			continue
		}
		if len(got.Columns) < 5 || len(got.Rows) == 0 || got.Report != is {
			t.Errorf("%s: %d columns, %d rows of %+v", is.Name, len(got.Columns), len(got.Rows), got.Report)
		}
		var cells []string
		for _, c := range got.Rows[0] {
			switch {
			case c == nil || *c == "":
				cells = append(cells, "-")
			default:
				cells = append(cells, *c)
			}
		}
		if line := strings.Join(cells, " "); !strings.HasPrefix(line, want[is.Name]) {
			t.Errorf("%s: %s, want %s", is.Name, line, want[is.Name])
		}
		if i := slices.IndexFunc(got.Columns, func(c report.Column) bool { return c.Name == "hour" }); i >= 0 && !strings.HasSuffix(*got.Rows[0][i], ":00:00") {
			t.Errorf("%s: hour %s", is.Name, *got.Rows[0][i])
		}
	}
}

// Errors are those of tasks, users and shares, waits those of users; another breakdown is refused with those that there are.
func TestReportsBrokenDown(t *testing.T) {
	db := pgtest.Open(t)
	rows, err := os.ReadFile("../../migrations/testdata/report.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), string(rows)+`;
		INSERT INTO user_wait_hours SELECT date_trunc('hour', now(), 'UTC'), u, b, n, b * n FROM (VALUES ('bob', 0, 60), ('alice', 3, 96)) AS w (u, b, n)`); err != nil {
		t.Fatal(err)
	}
	r := report.NewReader(db)
	for of, want := range map[[2]string]string{{"errors", "user"}: "alice failed", {"errors", "task"}: "3 failed", {"errors", "share"}: "Test failed", {"waits", "user"}: "alice 96 3"} {
		got, err := r.Run(t.Context(), of[0], of[1], time.Now().Add(-7*24*time.Hour))
		if err != nil || len(got.Rows) == 0 || got.Columns[0].Name != of[1] || got.BrokenBy != of[1] {
			t.Errorf("%s: %+v %v", of, got, err)
			continue
		}
		lines := make([]string, len(got.Rows))
		for i, row := range got.Rows {
			for _, c := range row {
				if c != nil {
					lines[i] += *c + " "
				}
			}
		}
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("%s: %q, want %q", of, lines, want)
		}
	}
	for _, of := range [][2]string{{"errors", "node"}, {"usage", "user"}, {"waits", "share"}} {
		if _, err := r.Run(t.Context(), of[0], of[1], time.Now()); !errors.Is(err, report.ErrBy) {
			t.Errorf("%s: %v", of, err)
		}
	}
}

func TestUnknownReport(t *testing.T) {
	if _, err := report.NewReader(nil).Run(t.Context(), "sql", "", time.Now()); !errors.Is(err, report.ErrUnknown) || !strings.Contains(err.Error(), `"sql"`) {
		t.Errorf("%v", err)
	}
}

// A report says what it covers: whole hours and days of UTC, from the one that was asked for, and hours that are over.
func TestReportsSayWhatTheyCover(t *testing.T) {
	r := report.NewReader(pgtest.Open(t))
	since := time.Date(2026, 11, 15, 23, 40, 12, 0, time.FixedZone("CET", 3600)) // 22:40:12 UTC
	for name, want := range map[string]struct {
		from string
		over bool
	}{
		"usage": {"15 22:00:00", false}, "users": {"15 22:00:00", false}, "queues": {"15 22:00:00", false}, "waits": {"15 22:00:00", false},
		"fairness": {"15 22:00:00", true}, "promises": {"15 22:00:00", true},
		"days": {"15 00:00:00", false}, "tasks": {"15 00:00:00", false}, "nodes": {"15 00:00:00", false},
		"errors": {"15 22:40:12", false}, "versions": {"15 22:40:12", false},
	} {
		got, err := r.Run(t.Context(), name, "", since)
		if err != nil {
			t.Fatal(err)
		}
		until := got.At
		if want.over {
			until = got.At.Truncate(time.Hour)
		}
		if from := got.From.Format("02 15:04:05"); from != want.from || got.From.Location() != time.UTC || !got.Since.Equal(since) || !got.Until.Equal(until) {
			t.Errorf("%s: from %s until %s, want from %s until %s", name, from, got.Until, want.from, until)
		}
	}
}
