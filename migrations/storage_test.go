package migrations_test

import (
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// Every index of the tables that churn says who reads it and what it costs.
func TestIndexesAreJustified(t *testing.T) {
	tx := pgtest.Tx(t)
	expect(t, tx, `SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
		WHERE c.relname IN ('jobs', 'job_blocks', 'batches', 'held', 'idle_ranges', 'over_ranges', 'history', 'outbox', 'claims', 'share_counts', 'tasks', 'inputs')
			AND obj_description(i.indexrelid) IS NULL ORDER BY 1`)
}
