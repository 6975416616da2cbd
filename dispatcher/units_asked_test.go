package dispatcher

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// A daemon that went without a unit longer ago than wishes are remembered gets it when it comes free at another one, which has
// no pilot for it.
func TestUnitsThatComeFreeLate(t *testing.T) {
	f := scarceSite(t, 10, units("maya", 1))
	f.want("alice", 2, maya)
	first, second := f.daemon(), f.daemon()
	leases := takeAll(t, first, "q")
	if len(leases) != 1 {
		t.Fatalf("%d leases, want one", len(leases))
	}
	finish(t, first, Finished, leases...) // the unit stays in its escrow
	second.mu.Lock()
	l := second.state.limits[resourceLimit("maya", "")]
	l.dry, l.refused, l.asked = true, lack{1000, 1000}, time.Now()
	second.mu.Unlock()
	if _, err := second.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 30}); err != nil {
		t.Errorf("the unit that came free stays where it is: %v", err)
	}
	f.recount()
}

// Units of which a daemon has some and the rest is free are as good as units in one place: here some were held while the limits
// were computed anew, and came back to the daemon.
func TestUnitsInTwoPlaces(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 16))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1, cores: 8})
	lease := pullWide(t, d, 8)
	f.within("A", shares.FairUser) // a change of the site: 8 are free, 8 held
	f.refreshed(d)
	finish(t, d, Finished, lease)
	f.enqueue(batch{share: "A", n: 1, cores: 12})
	f.refreshed(d)
	pullWide(t, d, 16)
	f.recount()
}

func pullWide(t *testing.T, d *Dispatcher, cores int) Lease {
	t.Helper()
	r, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: cores}})
	if err != nil || len(r.Leases) != 1 {
		t.Fatalf("a slot of %d cores gets %v, %v", cores, r.Leases, err)
	}
	return r.Leases[0]
}
