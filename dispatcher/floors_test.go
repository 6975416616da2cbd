package dispatcher

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/replay"
)

// order pulls single cores one by one and says of whose jobs they were, by the first letter.
func order(t testing.TB, d *Dispatcher, n int) (of string, leases []Lease) {
	t.Helper()
	for range n {
		l := pull1(t, d, "q")
		of, leases = of+l.Share[:1], append(leases, l)
	}
	return of, leases
}

// While a share holds less than its floor its jobs come first, and from then on the tree goes by what it holds: B gets two of
// the next, until both have four of eight.
func TestFloor(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 10), slots("other", 10))
	d := f.daemon()
	others := f.enqueue(batch{share: "B", n: 40})
	jobs := f.enqueue(batch{share: "A", n: 40})
	f.target(d, "A", TargetSlots{Queue: "q", Slots: 3, Floor: true})
	f.refreshed(d)
	b, err := d.Explain(t.Context(), others[0])
	if at := gateAt(b, "q"); err != nil || at.Gate != GateShare || !strings.Contains(at.Reason, "the queue's floor for A is 3, of which 0 are held") {
		t.Errorf("%+v, %v; want that A comes first at q", at, err)
	}
	got, leases := order(t, d, 8)
	if got != "AAABBBAB" && got != "AAABBBBA" {
		t.Errorf("%s, want three of A, three of B, then both in turns", got)
	}
	want := []TargetSlotsStanding{{Share: "A", Slots: 3, HeldCores: 4, Floor: true}}
	if diff := cmp.Diff(want, d.Queues()[0].TargetSlots); diff != "" {
		t.Errorf("the queue says (-want +got):\n%s", diff)
	}
	if _, err := d.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	e, err := d.Explain(t.Context(), jobs[1])
	if err != nil || !e.Decision.Recorded || !e.Decision.Record.Floor || !strings.Contains(e.Summary, "A came before its turn, since the queue has a floor for it; B would have been next") {
		t.Errorf("%s, %v", e.Summary, err)
	}
	for _, l := range leases[:3] {
		finish(t, d, Finished, l)
	}
	if got, _ := order(t, d, 2); got != "AA" { // one of A is held
		t.Errorf("%s, want two of A: it holds less than its floor again", got)
	}
	why, err := d.Why(t.Context(), WhyRequest{A: "A", B: "B"})
	if err != nil || !strings.Contains(why.Summary, "at q the queue's floor for A is 3, of which 3 are held") {
		t.Errorf("%s, %v", why.Summary, err)
	}
	f.target(d, "A", TargetSlots{Queue: "q", Slots: -1, Floor: true})
	f.refreshed(d)
	if all := d.Queues()[0].TargetSlots; all != nil {
		t.Errorf("%+v is left", all)
	}
	f.recount()
}

// A floor of a node is for all below it, among whom the tree decides; of two the one that lacks more goes first; one of a class
// brings jobs of that class forward, whatever else the share has; no floor goes beyond a hard limit.
func TestFloorsOfMany(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1, node("x", 3), node("y", 1)), node("B", 6), capped(node("C", 1), 1)}, slots("q", 40))
	d := f.daemon()
	for _, b := range []batch{{share: "B", n: 40, priority: 3}, {share: "A/x", n: 40}, {share: "A/y", n: 40}, {share: "C", n: 40},
		{share: "B", n: 10, need: job.Requirements{MemoryMB: 64_000}}} {
		f.enqueue(b)
	}
	f.target(d, "A", TargetSlots{Queue: "q", Slots: 4, Floor: true})
	f.target(d, "C", TargetSlots{Queue: "q", Slots: 5, Floor: true})
	f.target(d, "", TargetSlots{Queue: "q", Class: "SCORE_HIMEM", Slots: 2, Floor: true})
	f.refreshed(d)
	got, leases := order(t, d, 7)
	held := map[string]int{}
	himem := 0
	for _, l := range leases {
		held[l.Share]++
		if l.MemoryMB == 64_000 {
			himem++
		}
	}
	if want := map[string]int{"A/x": 2, "A/y": 2, "B": 2, "C": 1}; got[0] != 'C' || himem != 2 || !cmp.Equal(want, held) {
		t.Errorf("%s, %v, %d with much memory; want C first, and %v", got, held, himem, want)
	}
	f.recount()
}

// capped gives a share a max.
func capped(n shares.Spec, units int64) shares.Spec {
	n.Plan.Max = shares.Of(shares.Units(units) * 1000)
	return n
}

// What is below a floor is not reclaimed: it would come back at once, and be reclaimed again.
func TestFloorIsNotReclaimed(t *testing.T) {
	for name, c := range map[string]struct{ floor, orders int }{"no floor": {0, 5}, "a floor": {8, 2}, "all": {10, 0}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, []shares.Spec{node("A", 1), asking(node("B", 1), shares.Reclaim{Grace: grace})}, slots("q", 10))
			d := f.daemon()
			f.holding(d, "A", 10)
			f.target(d, "A", TargetSlots{Queue: "q", Slots: c.floor, Floor: true})
			f.asks(d, "B", 10)
			f.refreshed(d)
			n := 0
			for range 3 {
				n += reclaim(t, d)
			}
			if n != c.orders {
				t.Errorf("%d orders, want %d", n, c.orders)
			}
		})
	}
}

// Pulls that take some jobs only, and floors that come, change and end, are made again as they were: what came before its turn
// is told apart, and nothing else differs.
func TestReplayOfNarrowPullsAndFloors(t *testing.T) {
	h := newHistory(t, 31, []shares.Spec{node("A", 3), node("B", 1, node("x", 1), node("y", 2))}, slots("q", 20))
	d, stop := h.recording(true)
	t.Cleanup(stop)
	for i := range 12 {
		h.exec(`INSERT INTO tasks (id, name, user_name, state, share_id, spec) OVERRIDING SYSTEM VALUE VALUES ($1, 't', $2, 'running', 1, '{}')`,
			i+1, []string{"alice", "bob"}[i%2])
	}
	var pilots sync.WaitGroup
	for i := range uint64(4) {
		pilots.Go(func() { h.live(d, 100+i, 120) })
		pilots.Go(func() {
			r := rand.New(rand.NewPCG(i, 3))
			for range 120 {
				only := []job.Only{{Task: 1 + r.Int64N(12)}, {User: "alice"}, {User: "bob", Labels: []string{"l"}}, {Labels: []string{"", "l"}}}[r.IntN(4)]
				reply, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: fmt.Sprint("n", i), WaitS: 0.02, Max: 1 + r.IntN(2), Slot: job.Slot{Cores: 1 + r.IntN(3)}, Only: only})
				if err == nil {
					finish(t, d, Finished, reply.Leases...)
				}
			}
		})
	}
	for i := range 30 {
		b := batch{share: h.leaves[i%len(h.leaves)], n: 1 + h.random.IntN(40), cores: 1 + h.random.IntN(2)}
		if i%3 == 0 {
			b.need.Label = "l"
		}
		h.enqueue(b)
		if i%10 == 5 {
			h.target(d, "B", TargetSlots{Queue: "q", Slots: 4 + i%4, Floor: i < 20, Until: time.Now().Add(time.Hour)})
		}
	}
	pilots.Wait()
	stop()
	s := h.replay(nil)
	t.Logf("%d decisions, %d compared, %v", s.Decisions, s.Compared, s.NotComparable)
	if s.Differences != 0 || s.Drifts != 0 || s.Compared == 0 || s.Decisions != h.recorded() {
		t.Errorf("%d decisions of %d, %d compared, %d differences, %d drifts: %+v", s.Decisions, h.recorded(), s.Compared, s.Differences, s.Drifts, s.First)
	}
	for _, c := range s.NotComparable {
		if c.Reason != replay.Floor {
			t.Errorf("%d are not compared: %s", c.Decisions, c.Reason)
		}
	}
}
