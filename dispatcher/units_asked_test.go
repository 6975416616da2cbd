package dispatcher

import (
	"testing"
	"time"
)

// A daemon that went without a unit for longer than wishes are remembered gets it when it comes free at another one, which has
// no pilot for it.
func TestUnitsThatComeFreeLate(t *testing.T) {
	f := scarceSite(t, 10, units("maya", 1))
	f.want("alice", 2, maya)
	first, second := f.daemon(), f.daemon()
	leases := takeAll(t, first, "q")
	if len(leases) != 1 {
		t.Fatalf("%d leases, want one", len(leases))
	}
	got := make(chan error, 1)
	go func() {
		_, err := second.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: Slot{Cores: 1}, WaitS: 60})
		got <- err
	}()
	eventually(t, "the second daemon asks for a unit", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM limits WHERE kind = 'resource' AND wanted_at IS NOT NULL")
		return n == 1
	})
	f.exec("UPDATE limits SET wanted_at = now() - interval '10 s'")
	second.mu.Lock()
	for _, l := range second.state.limits {
		l.asked = l.asked.Add(-askAgainAfter)
	}
	second.mu.Unlock()
	finish(t, first, Finished, leases...)
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the unit that came free stays where it is")
	}
	f.recount()
}
