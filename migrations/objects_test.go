package migrations_test

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/migrations"
)

// Every kind of object is found in the dump, and what is advised for one that is missing makes it.
func TestObjects(t *testing.T) {
	db := pgtest.Open(t)
	run(t, db, "SELECT divvy_make_history(current_date)")
	kinds := map[string]int{}
	seen := map[migrations.Object]bool{}
	for _, o := range migrations.Objects() {
		if seen[o] {
			t.Errorf("%+v twice", o)
		}
		seen[o] = true
		kinds[o.Kind]++
		switch o.Name {
		case "over_ranges_nth":
			run(t, db, "DROP INDEX over_ranges_nth")
		case "history_job": // of a partitioned table
			run(t, db, "DROP INDEX history_job")
		case "held.held_pkey":
			run(t, db, "ALTER TABLE held DROP CONSTRAINT held_pkey")
		default:
			continue
		}
		run(t, db, o.Make)
	}
	for kind, least := range map[string]int{"table": 60, "column": 400, "constraint": 60, "index": 30, "function": 13, "view": 36, "sequence": 8} {
		if kinds[kind] < least {
			t.Errorf("%d of kind %s, want %d at least", kinds[kind], kind, least)
		}
	}
	if n := count(t, db, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'history_job'::regclass"); n == 0 {
		t.Error("the index of history was made without those of its partitions")
	}
	for o := range seen {
		if strings.Contains(o.Name, "public.") {
			t.Errorf("%+v names schema public", o)
		}
	}
}
