package retry_test

import (
	"testing"

	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// A leaf that counts as holding what came free for it does not give the job that it really holds.
func TestWhoHasNotTakenGivesNothing(t *testing.T) {
	for _, freed := range []shares.Units{0, 3 * unit} {
		p := pool{held: []int{0, 1, 2}, asks: map[int]shares.Reclaim{1: {}}}
		r := retry.NewRound([]*retry.Snapshot{p.snapshot(t)}, nil, []retry.Recent{{Pool: "default", ClaimerID: 2, Freed: freed}})
		err := r.Choose(func(young *retry.Young) error {
			for _, c := range p.running() {
				young.Add(c)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Orders) != 1 || r.Orders[0].ShareID != 3 {
			t.Errorf("%d units came free for B, which holds one job: %+v, want one order to C", freed, r.Orders)
		}
	}
}
