package dispatcher

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divvyhq/divvy/internal/pgtest"
)

// What is done about claims again and again reads by index, whatever there is: a hundred thousand live ones with DIVVY_LONG, half of
// them idle, with twice as many jobs.
func TestClaimsAreTendedByIndex(t *testing.T) {
	f := gpuSite(t, 1)
	f.liveClaims(min(pgtest.Draws(100_000), 100_000), min(pgtest.Draws(1_000), 1_000))
	never := pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	always := pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	var id int64
	f.scan(&id, "SELECT max(id) FROM resource_claims WHERE state = 'bound'")
	var now string
	f.scan(&now, "SELECT pg_current_snapshot()::text")
	look := func(what string, most float64) {
		t.Helper()
		if got := f.buffers("tend_claim", map[string]any{"at": always, "after": int64(0), "until": never}); got > most {
			t.Errorf("%s: %v blocks are read, want %v at most", what, got, most)
		}
	}
	look("nothing to do", 10)
	f.exec("UPDATE resource_claims SET linger_s = 0 WHERE id = $1", id)
	look("one has lingered", 10)
	jobs := map[string]any{"claim": id, "after": int64(0), "n": tendJobs}
	for verb, args := range map[string]map[string]any{
		"read_claims":      {"since": now, "first": false, "ids": []int64{id}},
		"claims_of":        {"ids": []int64{id}},
		"claim_wanted":     {"claim": id},
		"claim_jobs":       jobs,
		"count_claim_jobs": jobs,
		"unbind_claim":     {"id": id, "released": false},
	} {
		if got := f.buffers(verb, args); got > 60 {
			t.Errorf("%s: %v blocks are read, want 60 at most", verb, got)
		}
	}
	f.exec("UPDATE resource_claims SET linger_s = 0")
	look("all have lingered", 500)
}
