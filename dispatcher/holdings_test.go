package dispatcher

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/shares"
)

// What a pilot that knows job and attempt only gets to hear of them, at each stage of a job's life.
func TestHoldings(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	ids := f.enqueue(batch{share: "A", n: 2, attempts: 2})
	look := func(of ...HeldJob) []Holding {
		t.Helper()
		got, err := d.Holdings(context.Background(), of)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	same := func(got []Holding, want ...Holding) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	ready := Holding{JobState: "ready", Attempt: 1}
	same(look(HeldJob{Job: ids[1], Attempt: 1}, HeldJob{Job: ids[0], Attempt: 1}, HeldJob{Job: ids[1] + 1000, Attempt: 1}, HeldJob{Job: ids[1], Attempt: 1}), ready, ready, Holding{}, ready)

	first := pull1(t, d, "q")
	leased := Holding{JobState: "leased", Attempt: 1, Lease: first.Lease, State: Granted, Queue: "q"}
	same(look(HeldJob{Job: ids[1], Attempt: 1}, HeldJob{Job: ids[0], Attempt: 1}), ready, leased)
	renewOnce(t, d, Renewal{Lease: first.Lease, State: Running})
	leased.State = Running
	same(look(HeldJob{Job: ids[0], Attempt: 1}), leased)

	finish(t, d, Failed, first)
	again := Holding{JobState: "ready", Attempt: 2}
	same(look(HeldJob{Job: ids[0], Attempt: 1}, HeldJob{Job: ids[0], Attempt: 2}), again, again)

	second := pull1(t, d, "q")
	if second.Job != ids[0] || second.Attempt != 2 {
		t.Fatalf("%+v, want the second attempt of %d", second, ids[0])
	}
	same(look(HeldJob{Job: ids[0], Attempt: 1}, HeldJob{Job: ids[0], Attempt: 2}), Holding{JobState: "leased", Attempt: 2},
		Holding{JobState: "leased", Attempt: 2, Lease: second.Lease, State: Granted, Queue: "q"})

	finish(t, d, Finished, second)
	over := Holding{JobState: "finished", Attempt: 2}
	same(look(HeldJob{Job: ids[0], Attempt: 2}, HeldJob{Job: ids[1], Attempt: 1}, HeldJob{Job: ids[0], Attempt: 1}), over, ready, over)
	same(look())
}

func renewOnce(t testing.TB, d *Dispatcher, of ...Renewal) RenewReply {
	t.Helper()
	reply, err := d.Renew(context.Background(), RenewRequest{Pilot: "p", Leases: of})
	if err != nil {
		t.Fatalf("renew: %v", err)
	}
	return reply
}
