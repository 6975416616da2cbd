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
}

// Claims and what they hold, beside jobs; they are no jobs of their share.
func TestReportOfClaims(t *testing.T) {
	tx := pgtest.Tx(t)
	for _, file := range []string{"testdata/report.sql", "testdata/resources.sql", "testdata/claims.sql"} {
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
	expect(t, tx, `SELECT claim_id, task_id, user_name, key, state, template, resources, on_node, device_kinds, max_sharers, gang, missing, linger_seconds, queue, node,
		devices, bound_at = now() - interval '5 min', share, sharing_id, sharers, idle_since IS NULL, ended_at IS NULL FROM report.resource_claims ORDER BY 1`,
		`1|1|alice|0/pool|bound|pool|{"maya": 3}|t|{"gpu": 2}|4|t|f|60|CERN|n1|{gpu:0,gpu:1}|t|Production/MC|alice|2|t|t`,
		`2|1|alice|1/pool|pending|pool|{"maya": 3}|t|{"gpu": 2}|-|f|f|60|-|-|{}|-|-|-|0|t|t`,
		`3|2|bob|fast|pending|fast|{}|f|{}|-|f|t|60|-|-|{}|-|-|-|0|t|t`,
		`4|-|-|shelf|bound|shelf|{}|t|{}|-|f|f|0|BNL|n2|{}|t|-|-|0|f|t`,
		`5|1|alice|0/pool|released|pool|{}|t|{}|-|f|f|60|-|-|{}|-|-|-|0|t|f`)
	expect(t, tx, `SELECT resource, key, queue, node, sharing_id, units, job_id, claim_id, task_id, share, since = now() - interval '5 min'
		FROM report.resource_holdings ORDER BY resource, job_id`,
		"maya|-|BNL|n2|alice|2|12|-|1|Production/MC|t", "maya|-|CERN|n1|alice|3|-|1|1|Production/MC|t", "seats|-|BNL|n2|Production/MC|1|12|-|1|Production/MC|t")
	expect(t, tx, "SELECT sharing_id, held_jobs, held_claims, held_units FROM report.resource_holders WHERE resource = 'maya' AND sharing_id = 'alice'", "alice|2|1|7")
	expect(t, tx, "SELECT held_units FROM report.resources WHERE resource = 'maya'", "7")
	expect(t, tx, "SELECT held_jobs FROM report.shares_now WHERE path = 'Production/MC'", "4")
}
