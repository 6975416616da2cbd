package meter

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// Gaps are counted queue by queue, however many queues there are.
func TestGaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		queues := make([]shares.Queue, rapid.IntRange(1, 200).Draw(r, "queues"))
		list := func(name string) []bool {
			return rapid.SliceOfN(rapid.Bool(), len(queues), len(queues)).Draw(r, name)
		}
		online, open := list("online"), list("open")
		for i := range queues {
			queues[i].State = shares.Online
			if !online[i] {
				queues[i].State = shares.Offline
			}
			if !open[i] {
				queues[i].DenyShares = []string{"a"}
			}
		}
		s := &supply{make(set, len(setOf(online))), make(set, len(setOf(online)))}
		ready, coming := make([]bool, len(queues)), make([]bool, len(queues))
		for range rapid.IntRange(1, 3).Draw(r, "kinds") {
			runs, isReady, isComing := list("runs"), rapid.Bool().Draw(r, "ready"), rapid.Bool().Draw(r, "coming")
			if isReady {
				s.ready.add(setOf(runs))
			}
			if isComing {
				s.coming.add(setOf(runs))
			}
			for i, is := range runs {
				ready[i], coming[i] = ready[i] || is && isReady, coming[i] || is && isComing
			}
		}
		var want int64
		for i := range queues {
			if coming[i] && !ready[i] && online[i] && open[i] {
				want++
			}
		}
		if got := s.gaps(queues, "a/b"); got != want {
			r.Fatalf("%d gaps, want %d", got, want)
		}
	})
}
