package dispatcher

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// oneUnit has a daemon give the only unit of maya once, and says who got it.
func (f *fixture) oneUnit(d *Dispatcher) string {
	f.t.Helper()
	if _, err := d.Refresh(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	reply, err := d.Pull(f.t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 20})
	if err != nil {
		f.t.Fatal(err)
	}
	user := slices.Sorted(maps.Keys(f.holders()))
	if len(user) != 1 {
		f.t.Fatalf("%v hold something, want one", user)
	}
	finish(f.t, d, Finished, reply.Leases...)
	return user[0]
}

// One unit and four users go round, whether a daemon starts anew for every grant or several take turns: the ledger says who
// waited longest.
func TestTurnsSurviveARestart(t *testing.T) {
	for name, split := range map[string]shares.Split{"evenly": {}, "by weights": {Weights: map[string]float64{"carol": 1}}} {
		t.Run(name, func(t *testing.T) {
			r := units("maya", 1)
			r.Split.Weights = split.Weights
			f := scarceSite(t, 10, r)
			users := []string{"alice", "bob", "carol", "dave"}
			for _, user := range users {
				f.want(user, 9, maya)
			}
			var got []string
			for range 6 {
				d, stop := f.runDaemon()
				got = append(got, f.oneUnit(d))
				stop()
			}
			first, second := f.daemon(), f.daemon()
			for i := range 6 {
				d := first
				if i%2 == 1 {
					d = second
				}
				got = append(got, f.oneUnit(d))
			}
			want := append(append(users[:4:4], users...), users...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("who got the unit (-want +got):\n%s", diff)
			}
			f.recount()
		})
	}
}
