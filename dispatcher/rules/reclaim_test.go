package rules

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

const grace = shares.Duration(2 * time.Minute)

// holding makes a share hold n jobs of one core.
func (w *world) holding(share string, n int) {
	w.t.Helper()
	if n == 0 {
		return
	}
	w.enqueue(share, n, 3, job.Requirements{})
	for range n {
		if l := w.must("q"); w.path(l.Share) != share {
			w.t.Fatalf("a job of %s, want %s", w.path(l.Share), share)
		}
	}
}

// asks makes n jobs of a share ready.
func (w *world) asks(share string, n int) {
	w.t.Helper()
	w.enqueue(share, n, 3, job.Requirements{})
}

// reclaim makes a round, brings its entries into the log and returns the orders.
func (w *world) reclaim() (orders []entry.Revoked) {
	w.t.Helper()
	w.fold()
	n, err := w.rules.Reclaim(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range w.take() {
		if r, ok := e.(entry.Revoked); ok {
			orders = append(orders, r)
			if l, ok := w.m.Lease(r.Job); !ok || l.Order == nil || l.Order.Reason != Reclaimed {
				w.t.Errorf("job %d was not told", r.Job)
			}
		}
	}
	if n < len(orders) {
		w.t.Errorf("%d orders, and it says %d", len(orders), n)
	}
	return orders
}

// obey ends what was ordered.
func (w *world) obey(orders []entry.Revoked) {
	w.t.Helper()
	for _, o := range orders {
		if e := w.end(w.leases[o.Job], entry.Cancelled, ""); e.Outcome != entry.Returned || e.Next != entry.Again {
			w.t.Fatalf("a reclaimed job that is cancelled: %+v", e)
		}
	}
}

// settle carries orders out and pulls what came free, until nothing more is ordered. It returns how many orders there were.
func (w *world) settle() (n int) {
	w.t.Helper()
	for {
		orders := w.reclaim()
		if n += len(orders); len(orders) == 0 {
			return n
		}
		w.obey(orders)
		for range orders {
			w.must("q")
		}
	}
}

func (w *world) holds(want map[string]int) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.held()); diff != "" {
		w.t.Errorf("held (-want +got):\n%s", diff)
	}
}

// E3: who gives depends on the scope. Nothing is reclaimed back afterwards, though everybody reclaims.
func TestReclaimE3(t *testing.T) {
	for scope, want := range map[string]map[string]int{
		"leaf":   nil, // 30, 20 and 20, 30 and 20: who gets what came free is said by Owed
		"parent": {"A/1": 40, "B/1": 20, "B/2": 20, "C/1": 20, "C/2": 20},
		"lca":    {"A/1": 40, "B/1": 20, "B/2": 20, "C/1": 20, "C/2": 20},
	} {
		t.Run(scope, func(t *testing.T) {
			terms := shares.Reclaim{Grace: grace, Scope: scope}
			var root []shares.Spec
			for _, name := range []string{"A", "B", "C"} {
				root = append(root, asker(node(name, 1, node("1", 1), node("2", 1)), terms))
			}
			w := newWorld(t, root, slots("q", 120))
			w.holding("A/1", 40)
			w.holding("B/1", 20)
			w.holding("C/1", 40)
			w.holding("C/2", 20)
			if orders := w.reclaim(); len(orders) > 0 {
				t.Fatalf("%v before anybody asks", orders)
			}
			w.asks("B/2", 20)
			if scope == "leaf" {
				w.gives(map[string]int{"A/1": 10, "C/1": 10}, entry.Owed{Pool: "default", Share: w.share("B/2"), Units: 20_000})
				return
			}
			if n := w.settle(); n != 20 {
				t.Errorf("%d orders, want 20", n)
			}
			w.holds(want)
		})
	}
}

// gives checks from whom one round takes how many jobs, and to whom the units are owed.
func (w *world) gives(want map[string]int, owed entry.Owed) {
	w.t.Helper()
	w.fold()
	if _, err := w.rules.Reclaim(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	from, debts := map[string]int{}, []entry.Owed(nil)
	for _, e := range w.take() {
		switch e := e.(type) {
		case entry.Revoked:
			from[w.path(w.leases[e.Job].Share)]++
		case entry.Owed:
			debts = append(debts, e)
		}
	}
	if diff := cmp.Diff(want, from); diff != "" {
		w.t.Errorf("given (-want +got):\n%s", diff)
	}
	if !cmp.Equal(debts, []entry.Owed{owed}) {
		w.t.Errorf("owed %v, want %v", debts, owed)
	}
}

// E4: by ratio everybody who is over gives, by rank the largest number does, and the units are owed to the claimer.
func TestReclaimE4(t *testing.T) {
	ranked := node("B", 1)
	ranked.Plan.Rank = 20000
	for _, by := range []string{"ratio", "rank"} {
		w := newWorld(t, []shares.Spec{node("A", 1), ranked, asker(node("C", 1), shares.Reclaim{Grace: grace, By: by})}, slots("q", 18))
		w.holding("A", 9)
		w.holding("B", 9)
		w.asks("C", 2)
		if by == "rank" {
			w.gives(map[string]int{"B": 2}, entry.Owed{Pool: "default", Share: w.share("C"), Units: 2000})
			continue
		}
		if n := w.settle(); n != 2 {
			t.Errorf("%d orders, want 2", n)
		}
		w.holds(map[string]int{"A": 8, "B": 8, "C": 2})
	}
}

// E5: the largest rank gives first, though it is below its target already and another one is over: 7, 4 and 1 then.
func TestReclaimE5(t *testing.T) {
	b := node("B", 1)
	b.Plan.Rank = 20000
	w := newWorld(t, []shares.Spec{node("A", 1), b, asker(node("C", 1), shares.Reclaim{Grace: grace, By: "rank"})}, slots("q", 12))
	w.holding("A", 7)
	w.holding("B", 5)
	w.asks("A", 20)
	w.asks("B", 20)
	w.asks("C", 1)
	w.gives(map[string]int{"B": 1}, entry.Owed{Pool: "default", Share: w.share("C"), Units: 1000})
	if orders := w.reclaim(); len(orders) > 0 {
		t.Errorf("%d more orders", len(orders))
	}
}

// duel is a full queue of A's jobs, and B that asks for half of it.
func duel(t *testing.T, terms shares.Reclaim, n int) *world {
	w := newWorld(t, []shares.Spec{node("A", 1), asker(node("B", 1), terms)}, slots("q", n))
	w.holding("A", n)
	w.asks("B", n)
	return w
}

func TestWhoReclaims(t *testing.T) {
	terms := shares.Reclaim{Grace: grace}
	old := &shares.Reclaim{MinRuntime: shares.Duration(time.Hour)}
	for _, c := range []struct {
		name   string
		terms  *shares.Reclaim
		change func(w *world)
		want   int
	}{
		{"active", &terms, nil, 5},
		{"passive", nil, nil, 0},
		{"young jobs are spared", old, nil, 0},
		{"old enough", old, func(w *world) { w.say(entry.Tick{Now: w.m.Now().Add(2 * time.Hour)}) }, 5},
		{"a free slot is taken first", &terms, func(w *world) { w.end(w.leases[1], entry.Finished, "") }, 4},
		{"owned units stay", &terms, func(w *world) { w.replan("A", func(p *shares.Plan) { p.Owned = shares.Of(8000) }) }, 1},
		{"more is held than the capacity", &terms, func(w *world) {
			w.adopt(func(v *shares.Version) { n := 4; v.Queues = slices.Clone(v.Queues); v.Queues[0].Slots = &n })
		}, 0},
		{"nobody is below its target by a job", &terms, func(w *world) { w.replan("B", func(p *shares.Plan) { p.Weight = 0.05 }) }, 0},
		{"target slots admit no more", &terms, func(w *world) {
			w.say(entry.Bounded{Targets: []entry.Target{{Queue: "q", Share: w.share("B"), Slots: 2}}})
		}, 2},
		{"a floor keeps what is below it", &terms, func(w *world) {
			w.say(entry.Bounded{Targets: []entry.Target{{Queue: "q", Share: w.share("A"), Slots: 7, Floor: true}}})
		}, 3},
		{"the queue does not run its jobs", &terms, func(w *world) {
			w.adopt(func(v *shares.Version) { v.Queues = slices.Clone(v.Queues); v.Queues[0].AllowShares = []string{"A"} })
		}, 0},
		{"slots without a bound are free", &terms, func(w *world) {
			w.adopt(func(v *shares.Version) {
				v.Queues = append(slices.Clone(v.Queues), shares.Queue{ID: 2, Name: "r", Pool: "default", State: shares.Online, CorePowerMilli: 1000})
			})
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := node("B", 1)
			b.Plan.Reclaim = c.terms
			w := newWorld(t, []shares.Spec{node("A", 1), b}, slots("q", 10))
			w.holding("A", 10)
			w.asks("B", 10)
			if c.change != nil {
				c.change(w)
			}
			if orders := w.reclaim(); len(orders) != c.want {
				t.Errorf("%d orders, want %d", len(orders), c.want)
			}
			if orders := w.reclaim(); len(orders) != 0 {
				t.Errorf("%d more orders for the same", len(orders))
			}
		})
	}
}

// A rate holds over a change of leader.
func TestReclaimRate(t *testing.T) {
	w := duel(t, shares.Reclaim{Rate: shares.Rate{Jobs: 3, Per: shares.Duration(time.Minute)}}, 20)
	for i, want := range []int{3, 0, 3} {
		if i == 2 {
			pgtest.Age(t, w.pool, "reclaims", "ordered_at", 2*time.Minute)
		}
		if orders := w.reclaim(); len(orders) != want {
			t.Errorf("round %d: %d orders, want %d", i, len(orders), want)
		}
		w.rules = w.daemon()
	}
}

// Two daemons that both believe to lead give the orders once.
func TestReclaimByTwo(t *testing.T) {
	w := duel(t, shares.Reclaim{Grace: grace}, 20)
	w.fold()
	done := make(chan int)
	for _, r := range []*Rules{w.daemon(), w.daemon()} {
		go func() {
			n := 0
			for range 10 {
				m, err := r.Reclaim(t.Context())
				if err != nil {
					t.Error(err)
				}
				n += m
			}
			done <- n
		}()
	}
	if n := <-done + <-done; n != 10 {
		t.Errorf("%d orders, want 10", n)
	}
	if n := scan[int](w, "SELECT count(*) FROM outbox"); n != 10 {
		t.Errorf("%d rows in the outbox, want 10", n)
	}
}

// A pilot that does not obey loses its lease once it was told for sure and had its grace.
func TestReclaimWithoutThePilot(t *testing.T) {
	w := duel(t, shares.Reclaim{Grace: grace}, 4)
	orders := w.reclaim()
	if len(orders) != 2 || orders[0].GraceS != 120 {
		t.Fatalf("orders %+v", orders)
	}
	pgtest.Age(t, w.pool, "reclaims", "ordered_at", time.Minute+2*time.Minute)
	w.reclaim()
	w.holds(map[string]int{"A": 4})
	pgtest.Age(t, w.pool, "reclaims", "ordered_at", 10*time.Second)
	w.reclaim()
	w.holds(map[string]int{"A": 2})
	w.must("q")
	w.must("q")
	w.holds(map[string]int{"A": 2, "B": 2})
	if orders := w.reclaim(); len(orders) > 0 {
		t.Errorf("orders %+v", orders)
	}
	if n := scan[int](w, "SELECT count(*) FROM reclaims WHERE outcome = 'revoked' AND lost >= 0 AND closed_at IS NOT NULL"); n != 2 {
		t.Errorf("%d orders are closed as revoked, want 2", n)
	}
	if c := w.counted; c.Ordered != 2 || c.Closed["revoked"] != 2 || c.Closed["confirmed"] != 0 || c.Lost <= 0 {
		t.Errorf("counted: %d orders, closed %v, lost %v", c.Ordered, c.Closed, c.Lost)
	}
}

// Units that came free and that the claimer does not take are not reclaimed again and again.
func TestReclaimForNothing(t *testing.T) {
	w := duel(t, shares.Reclaim{Grace: grace}, 4)
	w.obey(w.reclaim())
	w.adopt(func(v *shares.Version) { n := 2; v.Queues = slices.Clone(v.Queues); v.Queues[0].Slots = &n }) // somebody else has the slots
	w.adopt(func(v *shares.Version) { n := 3; v.Queues = slices.Clone(v.Queues); v.Queues[0].Slots = &n })
	if orders := w.reclaim(); len(orders) > 0 {
		t.Errorf("%d orders at once, want 0", len(orders))
	}
}

// Units that the claimer has taken are taken, though its jobs ended since: it asks again when others have them.
func TestReclaimAfterAnEnd(t *testing.T) {
	w := duel(t, shares.Reclaim{Grace: grace}, 4)
	w.say(entry.Killed{Task: w.tasks, Low: 7, High: 8, Reason: "killed"})
	w.obey(w.reclaim())
	one, two := w.must("q"), w.must("q")
	if w.path(one.Share) != "B" || w.path(two.Share) != "B" {
		t.Fatal("others took what came free for B")
	}
	if orders := w.reclaim(); len(orders) > 0 {
		t.Fatalf("%d orders while B has its target", len(orders))
	}
	w.end(one, entry.Finished, "")
	w.end(two, entry.Finished, "")
	w.must("q")
	w.must("q")
	w.asks("B", 2)
	if orders := w.reclaim(); len(orders) != 2 {
		t.Errorf("%d orders for new jobs of B, want 2", len(orders))
	}
}

// W2, A:B 1:1 → 1:3 on 100 full slots: nothing is reclaimed unless B asks for it, and then what it is short of, once.
func TestReclaimAfterAChange(t *testing.T) {
	for _, active := range []bool{false, true} {
		b, want := node("B", 1), 0
		if active {
			b, want = asker(b, shares.Reclaim{Grace: grace}), 25
		}
		w := newWorld(t, []shares.Spec{asker(node("A", 1), shares.Reclaim{Grace: grace}), b}, slots("q", 100))
		w.holding("A", 50)
		w.holding("B", 50)
		w.asks("A", 100)
		w.asks("B", 100)
		if orders := w.reclaim(); len(orders) != 0 {
			t.Fatalf("%d orders at 1:1", len(orders))
		}
		w.replan("B", func(p *shares.Plan) { p.Weight = 3 })
		if n := w.settle(); n != want {
			t.Errorf("%d orders at 1:3 with active %v, want %d", n, active, want)
		}
		w.holds(map[string]int{"A": 50 - want, "B": 50 + want})
	}
}

// Ten slots for three like shares: who has the odd one keeps it.
func TestReclaimOfARounding(t *testing.T) {
	var root []shares.Spec
	for _, name := range []string{"A", "B", "C"} {
		root = append(root, asker(node(name, 1), shares.Reclaim{Grace: grace}))
	}
	w := newWorld(t, root, slots("q", 10))
	for _, s := range root {
		w.asks(s.Name, 10)
	}
	for range 10 {
		w.must("q")
	}
	if orders := w.reclaim(); len(orders) != 0 {
		t.Errorf("%d orders, held %v", len(orders), w.held())
	}
}

// What is owed is said when it changes, and once by each leader.
func TestOwed(t *testing.T) {
	w := duel(t, shares.Reclaim{Grace: grace, Scope: "leaf"}, 4)
	said := func() (owed []entry.Owed) {
		t.Helper()
		w.fold()
		if _, err := w.rules.Reclaim(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, e := range w.take() {
			if o, ok := e.(entry.Owed); ok {
				owed = append(owed, o)
			}
		}
		return owed
	}
	b := w.share("B")
	if diff := cmp.Diff([]entry.Owed{{Pool: "default", Share: b, Units: 2000}}, said()); diff != "" {
		t.Errorf("owed (-want +got):\n%s", diff)
	}
	if got := said(); len(got) > 0 {
		t.Errorf("said again: %v", got)
	}
	w.rules.owed.at = w.rules.owed.at.Add(-owedAgain)
	if got := said(); len(got) != 1 || got[0].Units != 2000 {
		t.Errorf("after a time it says %v", got)
	}
	w.rules.Begin()
	if got := said(); len(got) != 1 || got[0].Units != 2000 {
		t.Errorf("a new leader says %v", got)
	}
	for id := range w.leases {
		if l, _ := w.m.Lease(id); l.Order != nil {
			w.end(l, entry.Cancelled, "")
			w.must("q")
		}
	}
	if got := said(); len(got) != 1 || got[0].Units != 0 {
		t.Errorf("after it has taken them: %v", got)
	}
}
