package dispatcher

import (
	"math"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// Of a lane of large batches only the last ones are read: they count for the time that they span.
func TestEndsLately(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 10))
	d := f.open()
	f.exec("UPDATE daemons SET started_at = now() - interval '1 day'")
	ends := func(lane int, share string, rows, moves, apartS int) {
		f.exec(`INSERT INTO ledger (daemon_id, lane, seq, at, task_ids, share_ids, shape_ids, queue_ids, befores, afters, ns, units, places, low_ids, high_ids)
			SELECT $1, $2, seq, now() - ($3 + 1 - seq) * make_interval(secs => $5), array_fill(1::bigint, ARRAY[$4::int]),
				ARRAY[$6::int], '{1}', '{1}', '{l}', '{f}', '{1}', '{1000}', '{0}', '{0}', '{0}'
			FROM generate_series(1, $3::int) seq`, d.id, lane, rows, moves, apartS, f.shareID(share))
	}
	perSecond := func(share string) (sum float64) {
		t.Helper()
		rates, err := d.endsLately(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rates {
			if r.ShareID == f.shareID(share) {
				sum += r.PerSecond
			}
		}
		return sum
	}
	ends(firstEndLane, "A", 20, endsMoves/5, 2)
	if a, want := perSecond("A"), endsMoves/10.0; math.Abs(a-want) > want/5 {
		t.Errorf("%v ends a second, want those of five batches in ten seconds: %v", a, want)
	}
	ends(firstEndLane+1, "B", 30, 10, 1) // few: they count for all of the time
	if b, want := perSecond("B"), 300/endsWithin.Seconds(); math.Abs(b-want) > 1e-9 {
		t.Errorf("%v ends a second, want %v", b, want)
	}
}
