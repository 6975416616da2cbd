package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// A lease lasts as long as its renewal says, else as all do.
func TestRenewFor(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 2))
	d := f.daemon(Timing{TTL: 100 * time.Second})
	f.enqueue(batch{share: "A", n: 2})
	long, usual := pull1(t, d, "q"), pull1(t, d, "q")
	reply, err := d.Renew(context.Background(), RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: long.Lease, TTL: 2 * time.Hour}, {Lease: usual.Lease}}})
	if err != nil || len(reply.Kept) != 2 {
		t.Fatalf("%+v %v", reply, err)
	}
	for id, want := range map[int64]float64{long.Job: 7200, usual.Job: 100} {
		var left, ttl float64
		err := f.pool.QueryRow(context.Background(), "SELECT extract(epoch FROM expires_at - now())::float8, ttl_s FROM leases WHERE job_id = $1", id).Scan(&left, &ttl)
		if err != nil || ttl != want || left > want || left < want-60 {
			t.Errorf("job %d: %.0f s left of %.0f, want %.0f: %v", id, left, ttl, want, err)
		}
	}
}
