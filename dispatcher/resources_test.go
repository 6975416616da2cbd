package dispatcher

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// units is a resource that is split evenly over users.
func units(name string, capacity int64) shares.Resource {
	r := shares.DefaultResource()
	r.Name, r.Capacity = name, capacity
	return r
}

// scarce is a site of one share and queue with resources.
func scarceSite(t testing.TB, nSlots int, resources ...shares.Resource) *fixture {
	t.Helper()
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", nSlots))
	f.apply(func(v *shares.Version) { v.Resources = resources })
	return f
}

// want enqueues jobs of a user that need a unit of a resource each.
func (f *fixture) want(user string, n int, resources map[string]int64) []int64 {
	f.t.Helper()
	return f.enqueue(batch{share: "A", n: n, need: job.Requirements{Resources: resources, SharingID: user}})
}

var maya = map[string]int64{"maya": 1}

// takeAll pulls until there is no job, and returns what was given.
func takeAll(t testing.TB, d *Dispatcher, queue string) (leases []Lease) {
	t.Helper()
	if _, err := d.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	for {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: queue, Pilot: "p", Slot: job.Slot{Cores: 1}})
		if errors.Is(err, ErrNoJobs) {
			return leases
		}
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, reply.Leases...)
	}
}

// holders counts the leases of each sharing ID.
func (f *fixture) holders() map[string]int {
	f.t.Helper()
	rows, err := f.pool.Query(context.Background(), `SELECT s.sharing_id, count(*)::int FROM leases l JOIN jobs j ON j.id = l.job_id
		JOIN shapes s ON s.id = j.shape_id GROUP BY 1`)
	if err != nil {
		f.t.Fatal(err)
	}
	held := map[string]int{}
	var id string
	var n int
	for rows.Next() {
		if err := rows.Scan(&id, &n); err != nil {
			f.t.Fatal(err)
		}
		held[id] = n
	}
	return held
}

func (f *fixture) holds(what string, want map[string]int) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.holders()); diff != "" {
		f.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// A1, A2, A3, A5, A8: how many units each ID gets of a resource, by what it wants.
func TestUnitsOfAResource(t *testing.T) {
	for _, c := range []struct {
		name  string
		units int64
		jobs  map[string]int
		want  map[string]int
	}{
		{"A1", 10, map[string]int{"alice": 20, "bob": 20}, map[string]int{"alice": 5, "bob": 5}},
		{"A2", 5, map[string]int{"alice": 20, "bob": 20}, map[string]int{"alice": 3, "bob": 2}},
		{"A3", 7, map[string]int{"alice": 20, "bob": 20, "carol": 20}, map[string]int{"alice": 3, "bob": 2, "carol": 2}},
		{"A5", 5, map[string]int{"alice": 9, "bob": 9, "carol": 9, "dora": 9}, map[string]int{"alice": 2, "bob": 1, "carol": 1, "dora": 1}},
		{"A8", 10, map[string]int{"alice": 2, "bob": 20}, map[string]int{"alice": 2, "bob": 8}},
		{"one", 4, map[string]int{"alice": 300}, map[string]int{"alice": 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := scarceSite(t, 100, units("maya", c.units))
			d := f.daemon()
			for _, user := range slices.Sorted(maps.Keys(c.jobs)) { // the first waits longest for her second unit
				f.want(user, c.jobs[user], maya)
			}
			takeAll(t, d, "q")
			f.holds("held", c.want)
			f.recount()
		})
	}
}

// A9: Alice holds all, Bob comes: nothing is killed, her next five ends go to him, the sixth back to her.
func TestUnitsChangeHandsAtEnds(t *testing.T) {
	f := scarceSite(t, 100, units("maya", 10))
	d := f.daemon()
	f.want("alice", 40, maya)
	of := map[int64]string{}
	alices := takeAll(t, d, "q")
	for _, id := range f.want("bob", 20, maya) {
		of[id] = "bob"
	}
	if got := takeAll(t, d, "q"); len(got) != 0 {
		t.Fatalf("%d leases while all units are held", len(got))
	}
	for i := range 6 {
		finish(t, d, Finished, alices[i])
		got := takeAll(t, d, "q")
		if bobs := len(got) == 1 && of[got[0].Job] == "bob"; len(got) != 1 || bobs != (i < 5) {
			t.Errorf("after end %d: %d leases, to Bob %v", i+1, len(got), bobs)
		}
	}
	f.holds("at the end", map[string]int{"alice": 5, "bob": 5})
	f.recount()
}

// A11: who waits behind a resource that is used up keeps nobody back who needs none, or another one.
func TestBlockedJobsBlockNobody(t *testing.T) {
	f := scarceSite(t, 100, units("maya", 2), units("nuke", 3))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 300, priority: 9, need: job.Requirements{Resources: maya, SharingID: "alice"}})
	f.enqueue(batch{share: "A", n: 5, need: job.Requirements{Resources: map[string]int64{"nuke": 1}, SharingID: "alice"}})
	f.enqueue(batch{share: "A", n: 4})
	if got := len(takeAll(t, d, "q")); got != 2+3+4 {
		t.Errorf("%d leases, want 9", got)
	}
	f.recount()
}

// A12: the capacity is cut from 10 to 6 with 10 held: nothing is killed, nothing granted until fewer than 6 are held.
func TestCapacityIsCut(t *testing.T) {
	f := scarceSite(t, 100, units("maya", 10))
	d := f.daemon()
	f.want("alice", 40, maya)
	leases := takeAll(t, d, "q")
	f.apply(func(v *shares.Version) {
		v.Resources = []shares.Resource{units("maya", 10)}
		v.Resources[0].Live = []shares.LiveCapacity{{Capacity: 6}}
	})
	for i := range 4 {
		finish(t, d, Finished, leases[i])
		if got := takeAll(t, d, "q"); len(got) != 0 {
			t.Fatalf("%d leases with %d of 6 held", len(got), 9-i)
		}
	}
	finish(t, d, Finished, leases[4])
	if got := takeAll(t, d, "q"); len(got) != 1 {
		t.Errorf("%d leases with 5 of 6 held, want 1", len(got))
	}
	f.holds("held", map[string]int{"alice": 6})
	f.recount()
}

// A13: a job that needs two resources gets both or neither.
func TestBothOrNeither(t *testing.T) {
	f := scarceSite(t, 100, units("x", 3), units("y", 3))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 4, priority: 5, need: job.Requirements{Resources: map[string]int64{"x": 1, "y": 2}, SharingID: "alice"}})
	f.enqueue(batch{share: "A", n: 9, need: job.Requirements{Resources: map[string]int64{"x": 1}, SharingID: "bob"}})
	takeAll(t, d, "q")
	f.holds("held", map[string]int{"alice": 1, "bob": 2}) // one unit of y is left, of which nobody needs just one
	f.recount()
}

// A14: what a pilot that died held comes back when its lease ends.
func TestUnitsOfTheDeadComeBack(t *testing.T) {
	f := scarceSite(t, 100, units("maya", 1))
	d := f.daemon(Timing{FirstTTL: time.Second})
	f.want("alice", 2, maya)
	takeAll(t, d, "q")
	f.exec("UPDATE leases SET expires_at = now() - interval '1 second'")
	eventually(t, "the lease has ended", func() bool {
		n, err := d.Expire(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return n == 1
	})
	if got := takeAll(t, d, "q"); len(got) != 1 {
		t.Errorf("%d leases, want the unit that came back", len(got))
	}
	f.recount()
}

// A family's keys have units of their own; a resource that the site does not have keeps its jobs back until it comes.
func TestFamiliesAndUnknownResources(t *testing.T) {
	table := units("table", 2)
	table.Keyed = true
	f := scarceSite(t, 100, table)
	d := f.daemon()
	f.want("alice", 5, map[string]int64{"table:orders": 1})
	f.want("alice", 5, map[string]int64{"table:users": 1})
	f.want("alice", 5, maya)
	if got := len(takeAll(t, d, "q")); got != 4 {
		t.Errorf("%d leases, want 2 of each table", got)
	}
	if err := d.ReportExternal(t.Context(), "table", "", 4, 0); err == nil || err.Error() != "unknown resource: table is a keyed family, which one is missing: table:orders" {
		t.Errorf("a report of no key: %v", err)
	}
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{table, units("maya", 3)} })
	if got := len(takeAll(t, d, "q")); got != 3 {
		t.Errorf("%d leases of what the site has now, want 3", got)
	}
	f.apply(func(v *shares.Version) { v.Resources = nil })
	if got := len(takeAll(t, d, "q")); got != 0 {
		t.Errorf("%d leases of what the site has no more", got)
	}
	alice := ResourceID{Allowance: resource.Allowance{ID: "alice", Weight: 1, Held: 3, Wanted: 2}}
	list, err := d.Resources(t.Context(), "maya")
	if err != nil || !list[0].Unknown || list[0].Held != 3 || !cmp.Equal(list[0].IDs, []ResourceID{alice}) {
		t.Errorf("%+v, %v: want it unknown, with %+v", list, err, alice)
	}
	f.recount()
}

// Every queue has units of its own.
func TestUnitsPerQueue(t *testing.T) {
	r := units("maya", 2)
	r.PerQueue = true
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 50), slots("p", 50))
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{r} })
	d := f.daemon()
	f.want("alice", 5, maya)
	f.want("bob", 5, maya)
	for _, queue := range []string{"q", "p"} {
		if got := len(takeAll(t, d, queue)); got != 2 {
			t.Errorf("%d leases at %s, want 2", got, queue)
		}
	}
	f.holds("held", map[string]int{"alice": 2, "bob": 2})
	f.recount()
}

// A15: what others use outside of the site counts, but not what is ours and long known to the server.
func TestExternalUse(t *testing.T) {
	f := scarceSite(t, 200, units("maya", 100))
	d, other := f.daemon(), f.daemon()
	f.want("alice", 150, maya)
	report := func(total, used int64) {
		t.Helper()
		if err := d.ReportExternal(t.Context(), "maya", "", total, used); err != nil {
			t.Fatal(err)
		}
	}
	report(100, 30)
	leases := takeAll(t, d, "q")
	if len(leases) != 70 {
		t.Fatalf("%d leases, want the 70 that others leave", len(leases))
	}
	report(100, 100) // ours are too young for the server to count: it says that others use all
	if got := takeAll(t, d, "q"); len(got) != 0 {
		t.Errorf("%d leases beyond what is left", len(got))
	}
	d.mu.Lock()
	d.state.supply(supplyKey{ref: "maya"}, nil).recent = resource.Recent{} // a minute has passed
	d.mu.Unlock()
	report(100, 90) // 70 of them are ours by now
	if got := takeAll(t, d, "q"); len(got) != 10 {
		t.Errorf("%d leases, want 10: 20 are used by others", len(got))
	}
	eventually(t, "the other daemon has read it", func() bool {
		list, err := other.Resources(t.Context(), "maya")
		return err == nil && list[0].External != nil && list[0].External.Used == 90 && list[0].Free == 0
	})
	f.exec("UPDATE resource_external SET reported_at = reported_at - interval '1 hour'")
	d.mu.Lock()
	d.state.supply(supplyKey{ref: "maya"}, nil).report.at = time.Now().Add(-time.Hour)
	d.mu.Unlock()
	if got := takeAll(t, d, "q"); len(got) != 20 {
		t.Errorf("%d leases once the report is too old, want the 20 that are left", len(got))
	}
	list, err := d.Resources(t.Context(), "maya")
	if err != nil || !list[0].External.Stale || list[0].Held != 100 {
		t.Errorf("%+v, %v: want a stale report and 100 held", list, err)
	}
	f.recount()
}

// Shares and labels may be what is split by.
func TestSplitByShareAndLabel(t *testing.T) {
	byShare, byLabel := units("maya", 4), units("nuke", 4)
	byShare.Split.By, byLabel.Split.By = shares.SplitByShare, shares.SplitByLabel
	byLabel.Split.Weights = map[string]float64{"day": 3, "night": 1}
	f := scarceSite(t, 100, byShare, byLabel)
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 9, need: job.Requirements{Resources: maya, SharingID: "alice"}})
	f.enqueue(batch{share: "B", n: 9, need: job.Requirements{Resources: maya, SharingID: "alice"}})
	for _, label := range []string{"night", "day"} {
		f.enqueue(batch{share: "A", n: 9, need: job.Requirements{Label: label, Resources: map[string]int64{"nuke": 1}, SharingID: "alice"}})
	}
	takeAll(t, d, "q")
	if diff := cmp.Diff(map[string]int64{"A": 2, "B": 2}, heldOf(t, d, "maya")); diff != "" {
		t.Errorf("by share (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"day": 3, "night": 1}, heldOf(t, d, "nuke")); diff != "" {
		t.Errorf("by label (-want +got):\n%s", diff)
	}
	f.recount()
}

// heldOf is what the IDs hold of a resource, as the daemon says.
func heldOf(t testing.TB, d *Dispatcher, name string) map[string]int64 {
	t.Helper()
	list, err := d.Resources(t.Context(), name)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	held := map[string]int64{}
	for _, id := range list[0].IDs {
		held[id.ID] = id.Held
	}
	return held
}
