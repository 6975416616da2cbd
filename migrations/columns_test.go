package migrations_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const columnsFile = "testdata/report_columns.txt"

// The views of report only gain columns: this list is what reporters may rely on. A line that goes, or changes, is a
// query of somebody that breaks; a new one comes with -update and a rise of report.about.version.
func TestReportColumnsAreStable(t *testing.T) {
	tx := sample(t)
	got := strings.Join(table(t, tx, `SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'report'::regnamespace ORDER BY c.relname, a.attnum`), "\n") + "\n"
	if *update {
		if err := os.WriteFile(columnsFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(columnsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("report.* is not what %s promises; see the test's comment (go test ./migrations -update):\n%s", columnsFile, diff)
	}
}
