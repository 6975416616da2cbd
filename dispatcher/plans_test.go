package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// testClock is a clock that a test moves.
type testClock struct{ ahead time.Duration }

func (c *testClock) now() time.Time { return time.Now().Add(c.ahead) }

// still is a daemon with this clock whose steps only the test takes, Refresh and grants apart.
func (f *fixture) still(c *testClock) *Dispatcher {
	f.t.Helper()
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Now: c.now})
	f.t.Cleanup(stop)
	return d
}

// planned is a leaf with a plan that the test changes.
func planned(name string, change func(*shares.Plan)) shares.Spec {
	s := node(name, 1)
	change(&s.Plan)
	return s
}

func inPool(pool string, u shares.Units) shares.Amount {
	return shares.Amount{ByPool: map[string]shares.Units{pool: u}}
}

// byPath is what a daemon shows of one pool.
func byPath(d *Dispatcher, pool string) map[string]ShareStanding {
	all := map[string]ShareStanding{}
	for _, p := range d.Standing().Pools {
		for _, s := range p.Shares {
			if p.Pool == pool {
				all[s.Path] = s
			}
		}
	}
	return all
}

func step(t testing.TB, do func(context.Context) (int, error)) int {
	t.Helper()
	n, err := do(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// inHours is a window of three hours that begins so many hours from now, by the wall clock of a zone.
func inHours(t testing.TB, hours int, zone string) string {
	t.Helper()
	at, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Now().In(at).Truncate(time.Hour).Add(time.Duration(hours) * time.Hour)
	return from.Format("15:04") + "-" + from.Add(3*time.Hour).Format("15:04") + " " + zone
}

// A window begins: other weights and another max are in force, at two daemons, for one that starts later and for the
// limits; nothing is killed. It ends: all is as before.
func TestWindowBegins(t *testing.T) {
	three, most := 3.0, shares.Of(4000)
	a := planned("A", func(p *shares.Plan) {
		p.Windows = []shares.Window{{When: inHours(t, 2, "Asia/Kolkata"), Max: &most}}
	})
	b := planned("B", func(p *shares.Plan) {
		p.Windows = []shares.Window{{When: inHours(t, 2, "Asia/Kolkata"), Weight: &three}}
	})
	f := newFixture(t, []shares.Spec{a, b}, slots("q", 16))
	clock := &testClock{}
	d, other := f.still(clock), f.still(clock)
	f.enqueue(batch{share: "A", n: 40})
	var leases []Lease
	for range 8 {
		leases = append(leases, pull1(t, d, "q"))
	}
	if n := step(t, d.Switch); n != 0 {
		t.Fatal("switched before the window begins")
	}
	next := d.Standing().NextChange
	if next == nil || time.Until(*next) > 2*time.Hour || time.Until(*next) < time.Hour {
		t.Fatalf("next change %v, want within the second hour from now", next)
	}
	clock.ahead = 2 * time.Hour
	if n := step(t, other.Switch) + step(t, d.Switch); n != 1 {
		t.Fatalf("switched %d times, want once by one of the two", n)
	}
	inForce := func(d *Dispatcher) bool { s := byPath(d, "default"); return s["B"].Weight == 3 && s["A"].Held == 8 }
	eventually(t, "both have the window, and nothing was killed", func() bool { return inForce(d) && inForce(other) })
	if late := f.still(clock); !inForce(late) {
		t.Errorf("a daemon that starts has %+v", byPath(late, "default"))
	}
	noJob(t, d, "q") // A holds 8 of 4
	f.enqueue(batch{share: "B", n: 40})
	for range 8 {
		if l := pull1(t, other, "q"); l.Share != "B" {
			t.Fatalf("%s, want B: A is above its max", l.Share)
		}
	}
	finish(t, d, Finished, leases[:5]...)
	if l := pull1(t, d, "q"); l.Share != "B" { // max 4, held 3, target 16·1/4
		t.Errorf("%s, want B: it is further below its target", l.Share)
	}
	clock.ahead = 5*time.Hour + time.Minute
	if n := step(t, d.Switch); n != 1 {
		t.Fatal("not switched at the end of the window")
	}
	eventually(t, "the base is in force again", func() bool { return byPath(d, "default")["B"].Weight == 1 })
	for range 4 {
		if l := pull1(t, d, "q"); l.Share != "A" {
			t.Errorf("%s, want A: 3 of 8 held, no max", l.Share)
		}
	}
	f.recount()
}

// A site that is applied in a window has the limits of the window at once.
func TestApplyInWindow(t *testing.T) {
	most := shares.Of(2000)
	f := newFixture(t, []shares.Spec{planned("A", func(p *shares.Plan) {
		p.Windows = []shares.Window{{When: "00:00-24:00 Europe/Zurich", Max: &most}}
	})}, slots("q", 8))
	d := f.still(&testClock{})
	f.enqueue(batch{share: "A", n: 8})
	for range 2 {
		pull1(t, d, "q")
	}
	noJob(t, d, "q")
	if next := d.Standing().NextChange; next != nil {
		t.Errorf("next change %v of a window without end", next)
	}
}

// Figures of a plan count by pool: the same share owns in gpu and has a max in cpu.
func TestPlansByPool(t *testing.T) {
	a := planned("A", func(p *shares.Plan) { p.Owned, p.Max = inPool("gpu", 6000), inPool("cpu", 2000) })
	gpu, cpu := slots("g", 10), slots("c", 10)
	gpu.Pool, cpu.Pool = "gpu", "cpu"
	f := newFixture(t, []shares.Spec{a, node("B", 1)}, gpu, cpu)
	d := f.daemon()
	for _, queue := range []string{"g", "c"} {
		for _, share := range []string{"A", "B"} {
			f.enqueue(batch{share: share, n: 30, need: job.Requirements{Queues: []string{queue}}})
		}
	}
	got := map[string]map[string]int{"g": {}, "c": {}}
	for queue, by := range got {
		for range 10 {
			by[pull1(t, d, queue).Share]++
		}
		noJob(t, d, queue)
	}
	want := map[string]map[string]int{"g": {"A": 8, "B": 2}, "c": {"A": 2, "B": 8}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	inGPU, inCPU := byPath(d, "gpu")["A"], byPath(d, "cpu")["A"]
	if inGPU.Deserved != 8 || inGPU.Own != 6 || inCPU.Deserved != 2 || inCPU.Own != 0 {
		t.Errorf("A in gpu %+v, in cpu %+v", inGPU, inCPU)
	}
}
