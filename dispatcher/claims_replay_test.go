package dispatcher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/replay"
)

// liveAt is live for pilots that name their nodes.
func (h *history) liveAt(d *Dispatcher, seed uint64, pulls int) {
	r := rand.New(rand.NewPCG(seed, 2))
	var held []Lease
	for range pulls {
		at := fmt.Sprint("n", r.IntN(4))
		reply, err := d.Pull(context.Background(), PullRequest{Queue: h.queues[r.IntN(len(h.queues))], Pilot: "p-" + at, Node: at, Devices: gpus(4), WaitS: 0.02,
			Max: 1 + r.IntN(3), Slot: job.Slot{Cores: 1 + r.IntN(3)}})
		if err == nil {
			held = append(held, reply.Leases...)
		}
		for len(held) > 4 || err != nil && len(held) > 0 {
			i := r.IntN(len(held))
			end := Result{Lease: held[i].Lease, Outcome: []Outcome{Finished, Finished, Finished, Failed}[r.IntN(4)]}
			if _, err := d.Finish(context.Background(), FinishRequest{Results: []Result{end}}); err != nil {
				h.t.Error(err)
			}
			held = append(held[:i], held[i+1:]...)
			err = nil
		}
	}
}

// claimHistory is one of tasks with and without claims.
func claimHistory(t *testing.T, seed uint64) *history {
	h := newHistory(t, seed, nil, slots("q", 20), slots("p", 10))
	d, stop := h.recording(true)
	t.Cleanup(stop)
	h.tending(d)
	var pilots sync.WaitGroup
	for i := range uint64(5) {
		pilots.Go(func() { h.liveAt(d, seed*100+i, 120) })
	}
	for range 40 {
		leaf := h.leaves[h.random.IntN(len(h.leaves))]
		if h.random.IntN(2) == 0 {
			h.enqueue(batch{share: leaf, n: 1 + h.random.IntN(10), priority: h.random.IntN(3)})
			continue
		}
		l := paired([]shares.ClaimTemplate{{Node: true}, {Devices: map[string]int{"gpu": 2}}}[h.random.IntN(2)])
		l.Groups[0].Replicas, l.Groups[0].Members = 1+h.random.IntN(4), []resource.Role{{Name: "main", Count: 1}, {Name: "shadow", Count: 1 + h.random.IntN(3)}}
		h.enqueueLayout(leaf, l)
	}
	pilots.Wait()
	stop()
	h.recount()
	return h
}

// By the tree of the time decisions about jobs with claims come out the same: who contends is in the diary. By another tree
// it cannot be said at which nodes claims would have been bound, so those are left out by name.
func TestReplayOfClaims(t *testing.T) {
	for seed := range uint64(pgtest.Draws(3)) {
		h := claimHistory(t, 70+seed)
		h.exact(h.replay(nil))
		other := h.version
		s := h.replay(&other)
		var left int64
		for _, c := range s.NotComparable {
			if c.Reason == replay.Claimed {
				left = c.Decisions
			}
		}
		var claimed int64
		h.scan(&claimed, `SELECT count(*) FROM report.decisions d JOIN attempts a USING (job_id, attempt) JOIN shapes s ON s.id = a.shape_id WHERE s.claims IS NOT NULL`)
		if claimed == 0 || left < claimed || s.Compared == 0 || s.Compared+left != s.Decisions {
			t.Errorf("%d decisions are left out, jobs with claims got %d slots, %d of %d are compared: %v", left, claimed, s.Compared, s.Decisions, s.NotComparable)
		}
	}
}
