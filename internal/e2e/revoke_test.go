package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// A pilot that renews and never ends its job loses it when the grace is over, counted from when it was told for sure. The job
// is ready, at the place that its age gives it, with as many attempts left as before.
func TestReclaimRevokes(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	c := serve(t, dsn).client
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	apply(t, c, `
shares: [{name: A}, {name: B, reclaim: {grace: 120s}}]
on_no_match: reject
queues: [{name: Q, slots: 2}]
`)
	submit(t, c, "A", 2, nil)
	waitReady(t, c, map[string]int64{"A": 2})
	held := map[string]wire.Lease{}
	for range 2 {
		l := pullOne(t, c, nil)
		held[l.Lease] = l
	}
	submit(t, c, "A", 3, nil)
	submit(t, c, "B", 1, nil)
	var orders []string
	eventually(t, 2*time.Minute, "an order", func() bool {
		orders = ordered(t, c, held)
		return len(orders) > 0
	})
	victim := held[orders[0]]
	if len(orders) != 1 || slices.ContainsFunc(values(held), func(l wire.Lease) bool { return l.Job > victim.Job }) {
		t.Fatalf("orders %v of %v; want one, to the youngest", orders, held)
	}
	pgtest.Age(t, db, "reclaims", "ordered_at", 110*time.Second)
	if again := ordered(t, c, held); !slices.Equal(again, orders) {
		t.Fatalf("told %v again, want %v", again, orders)
	}
	pgtest.Age(t, db, "reclaims", "ordered_at", time.Hour)
	eventually(t, 2*time.Minute, "the lease is revoked", func() bool {
		job, err := c.Jobs().Get(t.Context(), victim.Job)
		return err == nil && job.State == "ready" && job.Attempts[0].State == "revoked" && job.MaxAttempts-job.Attempt == 2
	})
	reply, err := c.Renew(t.Context(), wire.RenewRequest{Pilot: "p", Leases: []wire.Renewal{{Lease: victim.Lease, State: "running"}}})
	if err != nil || !slices.Equal(reply.Lost, []string{victim.Lease}) {
		t.Errorf("its pilot hears %+v, %v; want that the lease is lost", reply, err)
	}
	late, err := c.Finish(t.Context(), wire.FinishRequest{Pilot: "p", Results: []wire.Result{{Lease: victim.Lease, Outcome: "finished"}}})
	if err != nil || late.Verdicts[0].Verdict != "lease_lost" {
		t.Errorf("its word after that: %+v, %v; want lease_lost", late, err)
	}
	if l := pullOne(t, c, nil); l.Share != "B" {
		t.Errorf("the slot went to %s, want B", l.Share)
	}
	delete(held, victim.Lease)
	finishAll(t, c, values(held)...)
	if l := pullOne(t, c, nil); l.Job != victim.Job || l.Attempt != 2 {
		t.Errorf("job %d attempt %d is next of A, want %d: it is older", l.Job, l.Attempt, victim.Job)
	}
}

func values(m map[string]wire.Lease) []wire.Lease {
	return slices.Collect(maps.Values(m))
}
