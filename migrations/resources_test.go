package migrations_test

import (
	"os"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestReportOfResources(t *testing.T) {
	tx := pgtest.Tx(t)
	for _, file := range []string{"testdata/report.sql", "testdata/resources.sql"} {
		rows, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), string(rows)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE divvy_reader"); err != nil {
		t.Fatal(err)
	}
	expect(t, tx, "SELECT resource, key, queue, sharing_id, split_by, held_jobs, held_units, ready_jobs, wanted_units FROM report.resource_holders ORDER BY 1, 4, 3",
		"gone|-|-|bob|user|0|0|3|3",
		"maya|-|-|alice|user|2|4|7|14",
		"maya|-|-|bob|user|0|0|3|3",
		"seats|-|BNL|Production/MC|share|1|1|0|0",
		"seats|-|CERN|Production/MC|share|1|1|0|0",
		"seats|-|-|Production/MC|share|0|0|7|7",
		"table|orders|-|nightly|label|0|0|3|3")
	expect(t, tx, "SELECT resource, key, queue, capacity, file_capacity, capacity_set_at IS NOT NULL, held_units, wanted_units, external_total, external_used, external_counts FROM report.resources ORDER BY 1, 2, 3",
		"idle|-|-|1|1|f|0|0|-|-|-",
		"maya|-|-|6|4|t|4|17|100|30|t",
		"seats|-|BNL|5|2|t|1|7|-|-|-",
		"seats|-|CERN|2|2|f|1|7|-|-|-",
		"table|orders|-|3|4|t|0|3|8|8|f",
		"table|users|-|9|4|t|0|0|-|-|-")
	expect(t, tx, "SELECT share, skipped, skipped_for FROM report.decisions WHERE skipped <> '{}'", "Production/MC|{Production/Rep}|{resource}")
}
