package next_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// lost are columns of today's views that nothing in the new tables says: what a decision saw beside its outcome, what only the leader
// knows of a lease, and how a reclaimed attempt ended in the words of its pilot.
var lost = `decisions.lane decisions.deficit_units decisions.runner_up decisions.runner_up_deficit_units decisions.candidates decisions.round_units
	decisions.version decisions.turn decisions.slot_cores decisions.slot_jobs decisions.unfit decisions.barred decisions.pull
	decisions.level_deficits_units decisions.skipped decisions.skipped_for
	leases.expires_at leases.cpu_seconds leases.memory_mb reclaims.told_at reclaims.said`

// The views keep the columns that they have today, with their types.
func TestReportKeepsItsColumns(t *testing.T) {
	text, err := os.ReadFile("../testdata/report_columns.txt")
	if err != nil {
		t.Fatal(err)
	}
	tx := pgtest.NextTx(t)
	var all []string
	if err := tx.QueryRow(t.Context(), `SELECT array_agg(c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod))
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'report'::regnamespace`).Scan(&all); err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, column := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if !slices.Contains(all, column) {
			name, _, _ := strings.Cut(column, " ")
			missing = append(missing, name)
		}
	}
	want := strings.Fields(lost)
	slices.Sort(want)
	slices.Sort(missing)
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("columns that are gone, or have another type (-want +got):\n%s", diff)
	}
}
