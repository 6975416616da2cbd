package dispatcher

import (
	"testing"
	"time"
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
	l.dry, l.refused, l.asked = true, 1000, time.Now()
	second.mu.Unlock()
	if _, err := second.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: Slot{Cores: 1}, WaitS: 30}); err != nil {
		t.Errorf("the unit that came free stays where it is: %v", err)
	}
	f.recount()
}
