package dispatcher

import (
	"context"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// An attempt that fails while its job is being scaled away: the job is over, whoever is first, and its claim is let go of.
func TestEndWhileItIsScaledAway(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	names := f.enqueueLayout("A", resource.Layout{Replicas: 1, Roles: []resource.Role{{Name: "r", Count: 1}},
		Templates: []shares.ClaimTemplate{{Name: "gpu", Devices: map[string]int{"gpu": 1}}}, Sharing: []resource.Sharing{{Template: "gpu", Scope: resource.PerReplica}}})
	l := pullAt(t, d, slotAt("q", "n1", gpus(1)...))
	tx, err := f.pool.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	away, err := ScaleAway(context.Background(), tx, Scaled{Task: f.tasks, Names: []string{names[l.Job]}, Claims: []string{"0/gpu"}})
	if err != nil || away != (ScaledAway{Live: 1, Leased: 1, Claims: 1}) {
		t.Fatalf("%+v %v", away, err)
	}
	ended := make(chan Verdict)
	go func() { ended <- finish(t, d, Failed, l)[0] }()
	eventually(t, "the end waits for the job", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
		return n > 0
	})
	if err := tx.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	if v := <-ended; v.Verdict != Recorded || v.JobState != "cancelled" {
		t.Errorf("%+v", v)
	}
	eventually(t, "the claim is released", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM resource_claims WHERE state <> 'released'")
		return n == 0
	})
	f.recountClaims()
	f.recount()
}
