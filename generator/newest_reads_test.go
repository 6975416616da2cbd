package generator

import (
	"context"
	"math"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The first page of tasks costs the same whichever half is long and whichever is new: 20,000 tasks of one user, all but ten over
// or all but ten not, the ten being the oldest.
func TestNewestReadsAreBounded(t *testing.T) {
	const n = 20_000
	for name, over := range map[string]string{"most are over": "i > 10", "most are not": "i <= 10"} {
		w := newWorld(t)
		w.exec(t, `INSERT INTO tasks (id, name, user_name, state, share_id, spec, ended_at) OVERRIDING SYSTEM VALUE
			SELECT i, 't', 'ann', CASE WHEN `+over+` THEN 'done' ELSE 'ready' END, (SELECT min(id) FROM shares), '{}', CASE WHEN `+over+` THEN now() END
			FROM generate_series(1, $1::int) AS i`, n)
		w.exec(t, `VACUUM ANALYZE tasks`)
		for verb, args := range map[string]pgx.NamedArgs{"newest": {}, "newest_of": {"user": "ann"}} {
			sql, err := os.ReadFile("view/sql/" + verb + ".sql")
			if err != nil {
				t.Fatal(err)
			}
			for half, from := range map[string][2]int64{"first page": {math.MaxInt64, math.MaxInt64}, "past those that are not over": {0, math.MaxInt64}} {
				args["states"], args["share"], args["label"], args["live"], args["over"], args["most"], args["n"] = []string{}, "", "", from[0], from[1], 51, 51
				var plan []struct {
					Plan map[string]any
				}
				if err := w.db.QueryRow(context.Background(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+string(sql), args).Scan(&plan); err != nil {
					t.Fatal(err)
				}
				got := plan[0].Plan["Shared Hit Blocks"].(float64) + plan[0].Plan["Shared Read Blocks"].(float64)
				t.Logf("%s, %s, %s: %v blocks", name, verb, half, got)
				if got > 60 {
					t.Errorf("%s, %s, %s: %v blocks are read, want 60 at most", name, verb, half, got)
				}
			}
		}
	}
}
