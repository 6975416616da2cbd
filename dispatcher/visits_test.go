package dispatcher

import (
	"fmt"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// visited has heard of so many pilots at each of its queues.
func visited(queues, pilots int) *lately {
	l := &lately{queues: map[shares.QueueID]*visits{}, queue: func(id shares.QueueID) (shares.Queue, bool) { return shares.Queue{ID: id}, true }}
	for q := range queues {
		for p := range pilots {
			l.Came(&machine.Pull{Queue: shares.QueueID(q + 1), Pilot: fmt.Sprintf("p%d", p)})
		}
	}
	return l
}

// A pull that any pilot may make costs no memory, and one that is counted neither.
func TestPullsAllocateNothing(t *testing.T) {
	l, p := visited(1, 10), &machine.Pull{Queue: 1, Pilot: "p7"}
	n := testing.AllocsPerRun(100, func() {
		l.Came(p)
		l.PullsAt(1)
		l.Went(p, time.Second, nil)
	})
	if pilots, waiting := l.PullsAt(1); n != 0 || pilots != 10 || waiting != 10 {
		t.Errorf("%v allocations, %d pilots, %d pulls that wait", n, pilots, waiting)
	}
}

// BenchmarkPulls is what a pull costs, and what people who look cost it: 20 queues of 1,000 pilots.
func BenchmarkPulls(b *testing.B) {
	b.Run("came", func(b *testing.B) {
		l, p := visited(1, 1000), &machine.Pull{Queue: 1, Pilot: "p7"}
		b.ReportAllocs()
		for b.Loop() {
			l.Came(p)
			l.Went(p, time.Second, nil)
		}
	})
	b.Run("seen", func(b *testing.B) {
		l := visited(1, 50_000)
		b.ReportAllocs()
		for b.Loop() {
			if names := l.SeenAt(1, "p"); len(names) != 50_000 {
				b.Fatal(len(names))
			}
		}
	})
	b.Run("look", func(b *testing.B) {
		l := visited(20, 1000)
		b.ReportAllocs()
		for b.Loop() {
			m := explain.Moment{AtNodes: l.atNodes([]gate.NodeHold(nil))}
			m.Pulls = l
			n := 0
			for q := range shares.QueueID(20) {
				at, _ := m.Pulls.PullsAt(q + 1)
				n += at
			}
			if n != 20*1000 {
				b.Fatal(n)
			}
		}
	})
}
