package dispatcher

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// asking is a share that reclaims.
func asking(n shares.Spec, terms shares.Reclaim) shares.Spec {
	n.Plan.Reclaim = &terms
	return n
}

const grace = shares.Duration(2 * time.Minute)

// holding makes a share hold n jobs of one core.
func (f *fixture) holding(d *Dispatcher, share string, n int) (leases []Lease) {
	f.t.Helper()
	if n == 0 {
		return nil
	}
	f.enqueue(batch{share: share, n: n})
	for range n {
		l := pull1(f.t, d, "q")
		if l.Share != share {
			f.t.Fatalf("a job of %s, want %s", l.Share, share)
		}
		leases = append(leases, l)
	}
	return leases
}

// asks makes n jobs of a share ready and waits until the daemon knows it.
func (f *fixture) asks(d *Dispatcher, share string, n int) {
	f.t.Helper()
	f.enqueue(batch{share: share, n: n})
	eventually(f.t, "the daemon knows the ready jobs", func() bool {
		for _, s := range d.Standing().Pools[0].Shares {
			if s.Path == share {
				return s.Ready >= int64(n)
			}
		}
		return false
	})
}

func reclaim(t testing.TB, d *Dispatcher) int {
	t.Helper()
	n, err := d.Reclaim(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// told renews leases and returns those with an order, and its grace.
func told(t testing.TB, d *Dispatcher, leases ...Lease) (tokens []string, graceS float64) {
	t.Helper()
	req := RenewRequest{Pilot: "p"}
	for _, l := range leases {
		req.Leases = append(req.Leases, Renewal{Lease: l.Lease, State: Running})
	}
	reply, err := d.Renew(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range reply.Cancel {
		if c.Reason != "reclaim" {
			t.Errorf("reason %q", c.Reason)
		}
		tokens, graceS = append(tokens, c.Lease), c.GraceS
	}
	return tokens, graceS
}

// settle carries orders out, pilot by pilot, and pulls what came free, until nothing more is ordered. It returns how
// many orders there were.
func (f *fixture) settle(d *Dispatcher, leases map[string]Lease) (orders int) {
	f.t.Helper()
	for {
		n := reclaim(f.t, d)
		if orders += n; n == 0 {
			return orders
		}
		tokens, _ := told(f.t, d, values(leases)...)
		if len(tokens) != n {
			f.t.Fatalf("%d orders, and %d pilots were told", n, len(tokens))
		}
		for _, token := range tokens {
			if v := finish(f.t, d, Cancelled, leases[token])[0]; v.Verdict != Recorded || v.JobState != "ready" {
				f.t.Fatalf("a reclaimed job that is cancelled: %+v", v)
			}
			delete(leases, token)
		}
		for range n {
			l := pull1(f.t, d, "q")
			leases[l.Lease] = l
		}
	}
}

func values(m map[string]Lease) (list []Lease) {
	for _, l := range m {
		list = append(list, l)
	}
	return list
}

func byToken(leases ...[]Lease) map[string]Lease {
	m := map[string]Lease{}
	for _, l := range slices.Concat(leases...) {
		m[l.Lease] = l
	}
	return m
}

// E3: who gives depends on the scope. Nothing is reclaimed back afterwards, though everybody reclaims.
func TestReclaimE3(t *testing.T) {
	for scope, want := range map[string]map[string]int{
		"leaf":   {"A/1": 30, "B/1": 20, "B/2": 20, "C/1": 30, "C/2": 20},
		"parent": {"A/1": 40, "B/1": 20, "B/2": 20, "C/1": 20, "C/2": 20},
		"lca":    {"A/1": 40, "B/1": 20, "B/2": 20, "C/1": 20, "C/2": 20},
	} {
		t.Run(scope, func(t *testing.T) {
			terms := shares.Reclaim{Grace: grace, Scope: scope}
			var root []shares.Spec
			for _, name := range []string{"A", "B", "C"} {
				root = append(root, asking(node(name, 1, node("1", 1), node("2", 1)), terms))
			}
			f := newFixture(t, root, slots("q", 120))
			d := f.daemon()
			leases := byToken(f.holding(d, "A/1", 40), f.holding(d, "B/1", 20), f.holding(d, "C/1", 40), f.holding(d, "C/2", 20))
			if n := reclaim(t, d); n != 0 {
				t.Fatalf("%d orders before anybody asks", n)
			}
			f.asks(d, "B/2", 20)
			if n := f.settle(d, leases); n != 20 {
				t.Errorf("%d orders, want 20", n)
			}
			if diff := cmp.Diff(want, f.heldBy()); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			f.recount()
		})
	}
}

// E4: by ratio everybody who is over gives, by rank the largest number does.
func TestReclaimE4(t *testing.T) {
	for by, want := range map[string]map[string]int{
		"ratio": {"A": 8, "B": 8, "C": 2},
		"rank":  {"A": 9, "B": 7, "C": 2},
	} {
		t.Run(by, func(t *testing.T) {
			b, c := node("B", 1), asking(node("C", 1), shares.Reclaim{Grace: grace, By: by})
			b.Plan.Rank = 20000
			f := newFixture(t, []shares.Spec{node("A", 1), b, c}, slots("q", 18))
			d := f.daemon()
			leases := byToken(f.holding(d, "A", 9), f.holding(d, "B", 9))
			f.asks(d, "C", 2)
			if n := f.settle(d, leases); n != 2 {
				t.Errorf("%d orders, want 2", n)
			}
			if diff := cmp.Diff(want, f.heldBy()); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			f.recount()
		})
	}
}

// E5: the largest rank gives first, though it is below its target already and another one is over.
func TestReclaimE5(t *testing.T) {
	b, c := node("B", 1), asking(node("C", 1), shares.Reclaim{Grace: grace, By: "rank"})
	b.Plan.Rank = 20000
	f := newFixture(t, []shares.Spec{node("A", 1), b, c}, slots("q", 12))
	d := f.daemon()
	leases := byToken(f.holding(d, "A", 7), f.holding(d, "B", 5))
	f.asks(d, "A", 20)
	f.asks(d, "B", 20)
	f.asks(d, "C", 1)
	if n := f.settle(d, leases); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
	if diff := cmp.Diff(map[string]int{"A": 7, "B": 4, "C": 1}, f.heldBy()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	f.recount()
}

// duel is a full queue of A's jobs, and B that asks for half of it.
func duel(t *testing.T, terms shares.Reclaim, n int) (f *fixture, d *Dispatcher, leases []Lease) {
	f = newFixture(t, []shares.Spec{node("A", 1), asking(node("B", 1), terms)}, slots("q", n))
	d = f.daemon()
	leases = f.holding(d, "A", n)
	f.asks(d, "B", n)
	return f, d, leases
}

// The grace begins with the first answer that has the order, and at its end the lease is revoked without the pilot. The
// job is the next of its share, by its age, and has as many attempts left as before.
func TestReclaimWithoutThePilot(t *testing.T) {
	f, d, leases := duel(t, shares.Reclaim{Grace: grace}, 2)
	if n := reclaim(t, d); n != 1 {
		t.Fatalf("%d orders, want 1", n)
	}
	victim := leases[1] // the youngest
	pgtest.Age(t, f.pool, "reclaims", "ordered_at", time.Hour)
	if n := reclaim(t, d); n != 0 {
		t.Fatalf("%d ended or ordered before the pilot was told", n)
	}
	if tokens, g := told(t, d, leases...); !slices.Equal(tokens, []string{victim.Lease}) || g != 120 {
		t.Fatalf("told %v with grace %v, want the youngest with 120", tokens, g)
	}
	pgtest.Age(t, f.pool, "leases", "told_at", 30*time.Second)
	if _, g := told(t, d, leases...); g > 90 || g < 60 {
		t.Errorf("grace %v after 30 s, want what is left of it", g)
	}
	if n := reclaim(t, d); n != 0 {
		t.Fatalf("%d within the grace", n)
	}
	if held := f.heldBy()["A"]; held != 2 {
		t.Errorf("A holds %d during the grace, want 2", held)
	}
	pgtest.Age(t, f.pool, "leases", "told_at", 100*time.Second)
	if n := reclaim(t, d); n != 1 {
		t.Fatalf("%d after the grace, want 1 revoked", n)
	}
	job, err := d.Job(context.Background(), victim.Job)
	if err != nil || job.State != "ready" || job.Attempt != 2 || job.MaxAttempts != 4 || job.Attempts[0].State != "revoked" {
		t.Fatalf("job %+v, %v; want ready, attempt 2 of 4", job, err)
	}
	if v := finish(t, d, Cancelled, victim)[0]; v.Verdict != LeaseLost {
		t.Errorf("the pilot's word after that: %+v", v)
	}
	if l := pull1(t, d, "q"); l.Share != "B" {
		t.Errorf("the slot went to %s", l.Share)
	}
	f.enqueue(batch{share: "A", n: 1})
	finish(t, d, Finished, leases[0])
	if l := pull1(t, d, "q"); l.Job != victim.Job {
		t.Errorf("job %d, want the reclaimed one, %d: it is older", l.Job, victim.Job)
	}
	f.recount()
}

// What the pilot says of a job that it was to end.
func TestReclaimWords(t *testing.T) {
	for _, c := range []struct {
		name    string
		told    bool
		outcome Outcome
		state   string
		left    int // attempts of three
		row     string
	}{
		{"cancelled", true, Cancelled, "ready", 3, "revoked"},
		{"failed by SIGTERM", true, Failed, "ready", 3, "revoked"},
		{"finished all the same", true, Finished, "finished", 0, "finished"},
		{"failed before it was told", false, Failed, "ready", 2, "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, d, leases := duel(t, shares.Reclaim{Grace: grace}, 2)
			reclaim(t, d)
			if c.told {
				told(t, d, leases...)
			}
			victim := leases[1]
			for range 2 { // once more: the answer was lost
				if v := finish(t, d, c.outcome, victim)[0]; v.Verdict != Recorded || v.JobState != c.state {
					t.Errorf("%+v, want recorded, job %s", v, c.state)
				}
			}
			job, err := d.Job(context.Background(), victim.Job)
			if err != nil {
				t.Fatal(err)
			}
			if left := job.MaxAttempts - job.Attempt + 1; c.left > 0 && left != c.left {
				t.Errorf("%d attempts left, want %d", left, c.left)
			}
			reclaim(t, d) // closes the order
			var state string
			f.scan(&state, "SELECT state FROM report.reclaims")
			if state != c.row {
				t.Errorf("the order is %q, want %q", state, c.row)
			}
			f.recount()
		})
	}
}

// A kill wins, whichever came first.
func TestReclaimAndKill(t *testing.T) {
	for _, killedFirst := range []bool{true, false} {
		f, d, leases := duel(t, shares.Reclaim{Grace: grace}, 2)
		victim := leases[1]
		kill := func() {
			if err := d.KillJob(context.Background(), victim.Job); err != nil {
				t.Fatal(err)
			}
		}
		ending := func(want string) {
			t.Helper()
			job, err := d.Job(t.Context(), victim.Job)
			if err != nil || len(job.Attempts) != 1 || job.Attempts[0].Ending != want {
				t.Errorf("killed first %t: the job says %+v %v, want an attempt that is to end: %q", killedFirst, job.Attempts, err, want)
			}
		}
		ending("")
		if killedFirst {
			kill()
			ending("killed")
		}
		reclaim(t, d)
		if !killedFirst {
			ending("reclaimed")
		}
		kill()
		ending("killed")
		reply, err := d.Renew(context.Background(), RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: victim.Lease, State: Running}}})
		if err != nil || len(reply.Cancel) != 1 || reply.Cancel[0].Reason != "killed" {
			t.Fatalf("renew: %+v %v, want the kill", reply, err)
		}
		if v := finish(t, d, Cancelled, victim)[0]; v.JobState != "cancelled" {
			t.Errorf("killed first %v: %+v", killedFirst, v)
		}
		ending("")
		f.recount()
	}
}

// Nobody is ordered to end where the rules do not say so.
func TestNoReclaim(t *testing.T) {
	terms := shares.Reclaim{Grace: grace}
	for _, c := range []struct {
		name   string
		terms  *shares.Reclaim
		change func(f *fixture, leases []Lease, d *Dispatcher)
		want   int
	}{
		{"active", &terms, nil, 5},
		{"passive", nil, nil, 0},
		{"young jobs are spared", &shares.Reclaim{MinRuntime: shares.Duration(time.Hour)}, nil, 0},
		{"old enough", &shares.Reclaim{MinRuntime: shares.Duration(time.Hour)}, func(f *fixture, _ []Lease, _ *Dispatcher) {
			pgtest.Age(f.t, f.pool, "leases", "claimed_at", 2*time.Hour)
		}, 5},
		{"a free slot is taken first", &terms, func(f *fixture, leases []Lease, d *Dispatcher) {
			finish(f.t, d, Finished, leases[0])
		}, 4},
		{"owned units stay", &terms, func(f *fixture, _ []Lease, d *Dispatcher) {
			f.replan(d, "A", func(p *shares.Plan) { p.Owned = shares.Of(8000) })
		}, 1},
		{"more is held than the capacity", &terms, func(f *fixture, _ []Lease, d *Dispatcher) {
			f.apply(func(v *shares.Version) { n := 4; v.Queues[0].Slots = &n })
			f.refreshed(d)
		}, 0},
		{"nobody is below its target by a job", &terms, func(f *fixture, _ []Lease, d *Dispatcher) {
			f.replan(d, "B", func(p *shares.Plan) { p.Weight = 0.05 })
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := node("B", 1)
			b.Plan.Reclaim = c.terms
			f := newFixture(t, []shares.Spec{node("A", 1), b}, slots("q", 10))
			d := f.daemon()
			leases := f.holding(d, "A", 10)
			f.asks(d, "B", 10)
			if c.change != nil {
				c.change(f, leases, d)
			}
			if n := reclaim(t, d); n != c.want {
				t.Errorf("%d orders, want %d", n, c.want)
			}
			if n := reclaim(t, d); n != 0 {
				t.Errorf("%d more orders for the same", n)
			}
		})
	}
}

// replan changes the plan of a share and waits until the daemon has it.
func (f *fixture) replan(d *Dispatcher, path string, change func(*shares.Plan)) {
	f.t.Helper()
	f.apply(func(v *shares.Version) {
		tree := *v.Tree
		tree.Nodes = slices.Clone(tree.Nodes)
		i, _ := tree.ByPath(path)
		change(&tree.Nodes[i].Plan)
		v.Tree = &tree
	})
	f.refreshed(d)
}

// refreshed waits until the daemon has the site of now.
func (f *fixture) refreshed(d *Dispatcher) {
	f.t.Helper()
	var epoch int64
	f.scan(&epoch, "SELECT epoch FROM limit_epoch")
	eventually(f.t, "the daemon has the site", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.state.epoch == epoch
	})
}

// A rate holds over a restart: orders are counted in the table.
func TestReclaimRate(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), asking(node("B", 1), shares.Reclaim{Rate: shares.Rate{Jobs: 3, Per: shares.Duration(time.Minute)}})},
		slots("q", 20))
	d, stop := f.runDaemon()
	f.holding(d, "A", 20)
	f.asks(d, "B", 20)
	if n := reclaim(t, d); n != 3 {
		t.Errorf("%d orders, want 3", n)
	}
	stop()
	d = f.daemon()
	if n := reclaim(t, d); n != 0 {
		t.Errorf("%d orders after a restart, want 0", n)
	}
	pgtest.Age(t, f.pool, "reclaims", "ordered_at", 2*time.Minute)
	if n := reclaim(t, d); n != 3 {
		t.Errorf("%d orders a minute later, want 3", n)
	}
}

// Two daemons that do not know of each other give the orders once.
func TestReclaimByTwo(t *testing.T) {
	f, d, _ := duel(t, shares.Reclaim{Grace: grace}, 20)
	other := f.daemon()
	done := make(chan int)
	for _, d := range []*Dispatcher{d, other} {
		go func() {
			n := 0
			for range 10 {
				m, err := d.Reclaim(context.Background())
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
	var open int
	f.scan(&open, "SELECT count(*) FROM report.reclaims WHERE state = 'ordered' AND claimer = 'B' AND victim = 'A'")
	if open != 10 {
		t.Errorf("%d open orders are shown, want 10", open)
	}
}

// Units that came free and that the claimer does not take are not reclaimed again and again.
func TestReclaimForNothing(t *testing.T) {
	f, d, leases := duel(t, shares.Reclaim{Grace: grace}, 4)
	if n := reclaim(t, d); n != 2 {
		t.Fatalf("%d orders, want 2", n)
	}
	tokens, _ := told(t, d, leases...)
	all := byToken(leases)
	for _, token := range tokens {
		finish(t, d, Cancelled, all[token])
	}
	// Somebody else has the slots: the queue says that it holds as much as before.
	f.apply(func(v *shares.Version) { n := 2; v.Queues[0].Slots = &n })
	f.refreshed(d)
	f.apply(func(v *shares.Version) { n := 3; v.Queues[0].Slots = &n })
	f.refreshed(d)
	if n := reclaim(t, d); n != 0 {
		t.Errorf("%d orders at once, want 0", n)
	}
}

// Units that the claimer has taken are taken, though its jobs were killed since: it asks again when others have them.
func TestReclaimAfterAKill(t *testing.T) {
	f, d, leases := duel(t, shares.Reclaim{Grace: grace}, 4)
	if n := reclaim(t, d); n != 2 {
		t.Fatalf("%d orders, want 2", n)
	}
	tokens, _ := told(t, d, leases...)
	all := byToken(leases)
	for _, token := range tokens {
		finish(t, d, Cancelled, all[token])
	}
	var taken []Lease
	for range tokens {
		l := pull1(t, d, "q")
		if l.Share != "B" {
			t.Fatalf("a job of %s took what came free for B", l.Share)
		}
		taken = append(taken, l)
	}
	if n := reclaim(t, d); n != 0 {
		t.Fatalf("%d orders while B has its target", n)
	}
	err := beginFunc(t.Context(), f.pool, func(tx pgxTx) error {
		_, err := CancelTasks(t.Context(), tx, along(taken[0].Task, 100), "kill")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range taken {
		finish(t, d, Cancelled, l)
	}
	for range taken { // B has no job any more
		if l := pull1(t, d, "q"); l.Share != "A" {
			t.Fatalf("a job of %s", l.Share)
		}
	}
	f.asks(d, "B", 2)
	if n := reclaim(t, d); n != 2 {
		t.Errorf("%d orders for new jobs of B, want 2", n)
	}
}

// What an ask is measured by is the live pool at its capacity: of 12 units L owns 6 and uses none, so 3 are A's by weight, who
// may not borrow, and targets at half of the capacity leave it these.
func TestReclaimMeasuresTheLivePool(t *testing.T) {
	a := node("A", 1)
	a.Plan.Borrow.Any = new(shares.Units)
	f := newFixture(t, []shares.Spec{owner("L", 6, "all", "all"), a, asking(node("B", 1), shares.Reclaim{Grace: grace})}, slots("q", 12))
	d := f.daemon()
	f.holding(d, "B", 12)
	f.asks(d, "A", 10)
	f.asks(d, "B", 10)
	d.mu.Lock()
	defer d.mu.Unlock()
	asking := d.state.reclaimPools()
	if len(asking) != 1 {
		t.Fatalf("%d pools ask, want 1", len(asking))
	}
	live, measured := d.state.pools["default"].book.Targets(6000), asking[0].Book.Targets(6000)
	for i, n := range f.version.Tree.Nodes {
		if want := map[string]float64{"": 6000, "A": 3000, "B": 3000}[n.Path]; math.Abs(live[i]-want) > shares.Tolerance || math.Abs(measured[i]-want) > shares.Tolerance {
			t.Errorf("target of %q at R = 6: %v, measured %v, want %v", n.Path, live[i], measured[i], want)
		}
	}
}

// W2, A:B 1:1 → 1:3 on 100 full slots: nothing is reclaimed unless B asks for it, and then what it is short of, once.
func TestReclaimAfterAChange(t *testing.T) {
	for _, active := range []bool{false, true} {
		b, want := node("B", 1), 0
		if active {
			b, want = asking(b, shares.Reclaim{Grace: grace}), 25
		}
		f := newFixture(t, []shares.Spec{asking(node("A", 1), shares.Reclaim{Grace: grace}), b}, slots("q", 100))
		d := f.daemon()
		leases := byToken(f.holding(d, "A", 50), f.holding(d, "B", 50))
		f.asks(d, "A", 100)
		f.asks(d, "B", 100)
		if n := reclaim(t, d); n != 0 {
			t.Fatalf("%d orders at 1:1", n)
		}
		f.replan(d, "B", func(p *shares.Plan) { p.Weight = 3 })
		if n := f.settle(d, leases); n != want {
			t.Errorf("%d orders at 1:3 with active %v, want %d", n, active, want)
		}
		if held := f.heldBy(); held["B"] != 50+want {
			t.Errorf("held %v with active %v", held, active)
		}
		f.recount()
	}
}

// Ten slots for three like shares: who has the odd one keeps it.
func TestReclaimOfARounding(t *testing.T) {
	var root []shares.Spec
	for _, name := range []string{"A", "B", "C"} {
		root = append(root, asking(node(name, 1), shares.Reclaim{Grace: grace}))
	}
	f := newFixture(t, root, slots("q", 10))
	d := f.daemon()
	for _, s := range root {
		f.asks(d, s.Name, 10)
	}
	for range 10 {
		pull1(t, d, "q")
	}
	if n := reclaim(t, d); n != 0 {
		t.Errorf("%d orders, held %v", n, f.heldBy())
	}
}
