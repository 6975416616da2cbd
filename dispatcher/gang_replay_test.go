package dispatcher

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/divvyhq/divvy/shares/replay"
)

// The start of a gang is not made again, and said to be so; what is decided between and after comes out the same.
func TestReplayLeavesGangsOut(t *testing.T) {
	h := newHistory(t, 21, nil, slots("q", 30))
	d, stop := h.recording(true)
	t.Cleanup(stop)
	h.tending(d)
	var pilots sync.WaitGroup
	for i := range uint64(3) {
		pilots.Go(func() { h.live(d, i, 100) })
	}
	const replicas, size = 12, 3
	for i := range 12 {
		h.enqueue(batch{share: h.leaves[h.random.IntN(len(h.leaves))], n: 1 + h.random.IntN(20), priority: h.random.IntN(3)})
		if i%4 == 0 {
			h.enqueueLayout(h.leaves[i%len(h.leaves)], gangOf(replicas/3, size))
		}
	}
	pilots.Go(func() {
		wide := slotAt("q", "n1")
		wide.Slot.Cores, wide.Max, wide.WaitS = 8, 8, 0.3
		for started, none := 0, 0; started < replicas*size && none < 30; {
			reply, err := d.Pull(context.Background(), wide)
			if errors.Is(err, ErrNoJobs) {
				none++
				continue
			}
			if err != nil {
				t.Error(err)
				return
			}
			for _, l := range reply.Leases {
				if l.Env["DIVVY_CLAIM_ROOM_NODE"] != "" {
					started++
				}
			}
			finish(t, d, Finished, reply.Leases...)
		}
	})
	pilots.Wait()
	stop()
	score := h.replay(nil)
	left := map[replay.Reason]int64{}
	for _, c := range score.NotComparable {
		left[c.Reason] = c.Decisions
	}
	if score.Differences+score.Drifts > 0 || left[replay.Gang] != replicas*size || score.Compared+left[replay.Gang] != score.Decisions {
		t.Errorf("%d decisions, %d compared, %d differences, %d drifts, left out: %v; %+v", score.Decisions, score.Compared, score.Differences,
			score.Drifts, score.NotComparable, score.First)
	}
	other := h.version
	if other.Number++; h.replay(&other).Decisions != score.Decisions {
		t.Errorf("%+v", score)
	}
}
