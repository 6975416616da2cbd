package dispatcher

import (
	"fmt"
	"sync"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// What resources keep from contending is in the diary, like what limits do: decisions come out the same when they are made
// again, also under another version with other units.
func TestReplayOfResourceGates(t *testing.T) {
	for seed := range uint64(pgtest.Draws(3)) {
		h := newHistory(t, 40+seed, nil, slots("q", 20), slots("p", 10))
		perQueue := units("seat", 3)
		perQueue.PerQueue = true
		with := func(number, maya int64) {
			h.apply(func(v *shares.Version) {
				v.Number = number
				v.Resources = []shares.Resource{units("maya", maya), perQueue}
				if seed%3 == 0 { // only one of the queues has units of its own, and not before a job asks for some
					v.Queues[1].MaxIO, v.Resources = 3, v.Resources[:1]
				}
				*v = v.WithIO()
				h.versions[v.Number] = *v
			})
		}
		with(2, 4)
		d, stop := h.recording(true)
		t.Cleanup(stop)
		var pilots sync.WaitGroup
		for i := range uint64(5) {
			pilots.Go(func() { h.live(d, seed*100+i, 120) })
		}
		for i := range 50 {
			need := job.Requirements{SharingID: fmt.Sprint("u", h.random.IntN(3)), Resources: map[string]int64{
				[]string{"maya", "seat"}[h.random.IntN(2)]: 1 + int64(h.random.IntN(2))}}
			switch h.random.IntN(3) {
			case 0:
				need = job.Requirements{}
			case 1:
				if seed%3 == 0 && i > 10 {
					need = job.Requirements{Resources: map[string]int64{shares.IO: 1 + int64(h.random.IntN(3))}}
				}
			}
			h.enqueue(batch{share: h.leaves[h.random.IntN(len(h.leaves))], n: 1 + h.random.IntN(20), priority: h.random.IntN(3), need: need})
			if i == 25 {
				with(3, 2)
			}
		}
		pilots.Wait()
		stop()
		h.exact(h.replay(nil))
		h.recount()
	}
}
