package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// machine is a site whose jobs all ask for resources, and what is known of it from outside: its tables.
type machine struct {
	*fixture
	machineKind
	r       *rapid.T
	daemons []*Dispatcher
	leases  map[int64]string // by job
	users   []string
}

// machineKind is what a machine is made of. Others may add steps of their own, and what they know that keeps jobs back.
type machineKind struct {
	cases    int
	nDaemons int
	several  bool                        // jobs may ask for two resources
	steps    map[string]func(*machine)   // beside those of machineSteps
	may      func(*machine, askRow) bool // whether a ready job may run but for its units; nil: all may
	atEnd    func(*machine)              // what must hold at the end, beside the counts; nil: nothing
}

// askRow is a live job and what it asks for.
type askRow struct {
	ID        int64
	Leased    bool
	SharingID string
	Resources map[string]int64
}

func drawMachine(t testing.TB, r *rapid.T, kind machineKind) *machine {
	m := &machine{machineKind: kind, r: r, leases: map[int64]string{}}
	m.fixture = newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 1000))
	m.apply(func(v *shares.Version) {
		for _, name := range []string{"x", "y"} {
			v.Resources = append(v.Resources, units(name, rapid.Int64Range(1, 7).Draw(r, name)))
		}
	})
	for i := range rapid.IntRange(2, 4).Draw(r, "users") {
		m.users = append(m.users, fmt.Sprintf("u%d", i))
	}
	for range kind.nDaemons {
		m.daemons = append(m.daemons, m.daemon())
	}
	return m
}

func (m *machine) anyDaemon() *Dispatcher {
	return m.daemons[rapid.IntRange(0, len(m.daemons)-1).Draw(m.r, "daemon")]
}

func (m *machine) refreshAll() {
	for _, d := range m.daemons {
		for n := 1; n > 0; {
			var err error
			if n, err = d.Refresh(context.Background()); err != nil {
				m.t.Fatalf("refresh: %v", err)
			}
		}
	}
}

// live reads the jobs that are ready or leased.
func (m *machine) live() []askRow {
	m.t.Helper()
	rows, err := m.pool.Query(context.Background(), `SELECT j.id, l.job_id IS NOT NULL, s.sharing_id, s.resources FROM jobs j
		JOIN shapes s ON s.id = j.shape_id LEFT JOIN leases l ON l.job_id = j.id ORDER BY j.id`)
	if err != nil {
		m.t.Fatal(err)
	}
	var all []askRow
	for rows.Next() {
		var a askRow
		if err := rows.Scan(&a.ID, &a.Leased, &a.SharingID, &a.Resources); err != nil {
			m.t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// heldUnits sums what is leased, by resource and by resource and ID.
func heldUnits(all []askRow) (of map[string]int64, by map[string]map[string]int64) {
	of, by = map[string]int64{}, map[string]map[string]int64{"x": {}, "y": {}}
	for _, a := range all {
		for ref, n := range a.Resources {
			if a.Leased {
				of[ref] += n
				by[ref][a.SharingID] += n
			}
		}
	}
	return of, by
}

func (m *machine) capacity(ref string) int64 {
	r, _ := m.version.Resource(ref)
	return r.CapacityAt("", "")
}

// usable is what the last report leaves of the capacity: what is used, but not by us since long, is used by others.
func (m *machine) usable(ref string) int64 {
	left := int64(-1)
	m.scan(&left, `SELECT coalesce((SELECT greatest(0, total - greatest(0, used - settled)) FROM resource_external WHERE name = $1), -1)`, ref)
	if left < 0 {
		return m.capacity(ref)
	}
	return min(left, m.capacity(ref))
}

var machineSteps = map[string]func(*machine){
	"submit": func(m *machine) {
		need := job.Requirements{SharingID: rapid.SampledFrom(m.users).Draw(m.r, "user"), Resources: map[string]int64{}}
		for _, name := range []string{"x", "y"} {
			if n := rapid.Int64Range(0, 2).Draw(m.r, name); n > 0 && (m.several || len(need.Resources) == 0) {
				need.Resources[name] = n
				if !m.several {
					need.Resources[name] = 1
				}
			}
		}
		m.enqueue(batch{share: rapid.SampledFrom([]string{"A", "B"}).Draw(m.r, "share"), n: rapid.IntRange(1, 6).Draw(m.r, "n"),
			priority: rapid.IntRange(0, 2).Draw(m.r, "priority"), need: need, attempts: 100})
	},
	"pull": func(m *machine) { m.pullOne() },
	"finish": func(m *machine) {
		if len(m.leases) == 0 {
			return
		}
		job := rapid.SampledFrom(slices.Sorted(maps.Keys(m.leases))).Draw(m.r, "job")
		outcome := rapid.SampledFrom([]Outcome{Finished, Finished, Failed}).Draw(m.r, "outcome")
		finish(m.t, m.anyDaemon(), outcome, Lease{Lease: m.leases[job]})
		delete(m.leases, job)
	},
	"die": func(m *machine) {
		if len(m.leases) == 0 {
			return
		}
		job := rapid.SampledFrom(slices.Sorted(maps.Keys(m.leases))).Draw(m.r, "job")
		key, _ := parseLease(m.leases[job])
		m.exec("UPDATE leases SET expires_at = now() - interval '1 s' WHERE job_id = $1", job)
		v, err := m.anyDaemon().end(context.Background(), []ended{{key: key, outcome: Lost}})
		if err != nil || v[0].verdict != Recorded {
			m.t.Fatalf("%+v, %v", v, err)
		}
		delete(m.leases, job)
	},
	"report": func(m *machine) {
		name := rapid.SampledFrom([]string{"x", "y"}).Draw(m.r, "name")
		total := rapid.Int64Range(0, 12).Draw(m.r, "total")
		if err := m.anyDaemon().ReportExternal(context.Background(), name, "", total, rapid.Int64Range(0, total).Draw(m.r, "used")); err != nil {
			m.t.Fatal(err)
		}
	},
	"turnover": func(m *machine) {
		if !m.several {
			m.fair()
		}
	},
	"resize": func(m *machine) {
		name := rapid.SampledFrom([]string{"x", "y"}).Draw(m.r, "name")
		n := rapid.Int64Range(0, 8).Draw(m.r, "capacity")
		m.apply(func(v *shares.Version) {
			v.Resources = slices.Clone(v.Resources)
			for i := range v.Resources {
				if v.Resources[i].Name == name {
					v.Resources[i].Live = []shares.LiveCapacity{{Capacity: n}}
				}
			}
		})
	},
}

// pullOne asks a daemon that knows everything for one job, and holds the answer against the tables.
func (m *machine) pullOne() (given bool) {
	m.refreshAll()
	before := m.live()
	d := m.anyDaemon()
	wait := 0.0
	if len(m.daemons) > 1 && m.mayRun(before) > 0 {
		wait = 5 // another daemon may have the units in escrow: it gives them up
	}
	reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: wait})
	if err != nil && !errors.Is(err, ErrNoJobs) {
		m.t.Fatal(err)
	}
	after := m.live()
	for _, l := range reply.Leases {
		m.leases[l.Job] = l.Lease
		held, _ := heldUnits(after)
		i := slices.IndexFunc(after, func(a askRow) bool { return a.ID == l.Job })
		for ref := range after[i].Resources {
			if most := m.usable(ref); held[ref] > most {
				m.t.Fatalf("%d units of %s are held, there are %d", held[ref], ref, most)
			}
		}
	}
	if n := m.mayRun(before); n > 0 && len(reply.Leases) == 0 && !m.several {
		m.t.Fatalf("no job was given, though %d may run: %+v", n, before)
	}
	return len(reply.Leases) > 0
}

// mayRun counts the ready jobs for which all units are free. With one resource a job nothing is kept from all of them:
// whoever is below its part has such a job.
func (m *machine) mayRun(all []askRow) (n int) {
	held, _ := heldUnits(all)
	left := map[string]int64{"x": m.usable("x") - held["x"], "y": m.usable("y") - held["y"]}
	for _, a := range all {
		fits := !a.Leased && (m.may == nil || m.may(m, a))
		for ref, units := range a.Resources {
			fits = fits && units <= left[ref]
		}
		if fits {
			n++
		}
	}
	return n
}

// counted compares what every daemon thinks is held, and by whom, with the leases.
func (m *machine) counted() {
	m.t.Helper()
	m.refreshAll()
	_, want := heldUnits(m.live())
	for _, d := range m.daemons {
		for _, name := range []string{"x", "y"} {
			got := heldOf(m.t, d, name)
			maps.DeleteFunc(got, func(_ string, n int64) bool { return n == 0 })
			if diff := cmp.Diff(want[name], got); diff != "" {
				m.t.Fatalf("%s (-leases +daemon):\n%s", name, diff)
			}
		}
	}
	m.recount()
	m.escrowSums()
}

// escrowSums holds cap = held + free + escrow for every limit of a resource: no unit is lost, and none is there twice. Units
// may be on their way from a daemon to the limit.
func (m *machine) escrowSums() {
	held, _ := heldUnits(m.live())
	for _, ref := range []string{"x", "y"} {
		eventually(m.t, "capacity = held + free + escrow of "+ref, func() bool {
			var missing int64
			m.scan(&missing, "SELECT coalesce(sum(cap - free), 0) - $2 FROM limits WHERE kind = 'resource' AND ref = $1", ref, held[ref]*1000)
			for _, d := range m.daemons {
				d.mu.Lock()
				if l := d.state.limits[resourceLimit(ref, "")]; l != nil {
					missing -= int64(l.granted - l.spent)
				}
				d.mu.Unlock()
			}
			return missing == 0 // also while nobody has used it in this epoch: then it has no row
		})
	}
}

// turnover ends every job that runs now, one after the other, with a pull after each.
func (m *machine) turnover() {
	for _, job := range slices.Sorted(maps.Keys(m.leases)) {
		finish(m.t, m.daemons[0], Finished, Lease{Lease: m.leases[job]})
		delete(m.leases, job)
		for m.pullOne() {
		}
	}
}

// fair checks that after a turnover nobody who wants as much lacks what everybody would have at least.
func (m *machine) fair() {
	for m.pullOne() {
	}
	m.turnover()
	all := m.live()
	_, by := heldUnits(all)
	for _, ref := range []string{"x", "y"} {
		demand := map[string]int64{}
		for _, a := range all {
			demand[a.SharingID] += a.Resources[ref]
		}
		maps.DeleteFunc(demand, func(_ string, n int64) bool { return n == 0 })
		for id, d := range demand {
			if floor := m.usable(ref) / int64(len(demand)); by[ref][id] < min(d, floor) {
				m.t.Fatalf("%s holds %d of %s after a turnover, wants %d, and of %d units everybody could have %d: %v", id, by[ref][id], ref, d,
					m.usable(ref), floor, by[ref])
			}
		}
	}
}

func (kind machineKind) run(t *testing.T) {
	steps := []string{"submit", "submit", "submit", "pull", "pull", "pull", "pull", "pull", "finish", "finish", "finish", "die", "resize", "report", "turnover"}
	all := maps.Clone(machineSteps)
	for _, name := range slices.Sorted(maps.Keys(kind.steps)) {
		all[name], steps = kind.steps[name], append(steps, name)
	}
	onDatabases(t, kind.cases, func(t testing.TB, r *rapid.T) {
		m := drawMachine(t, r, kind)
		for range rapid.IntRange(10, 40).Draw(r, "steps") {
			all[rapid.SampledFrom(steps).Draw(r, "step")](m)
		}
		m.counted()
		if !m.several {
			m.fair()
			m.counted()
		}
		if m.atEnd != nil {
			m.atEnd(m)
		}
	})
}

// Whatever is submitted, pulled, ended, lost, resized and reported: never over capacity, all counted, nobody refused what is
// free, nobody below its part for longer than a turnover. DIVVY_LONG has more cases.
func TestResourceMachine(t *testing.T) { machineKind{cases: 8, nDaemons: 1}.run(t) }
func TestResourceMachineSeveral(t *testing.T) {
	machineKind{cases: 6, nDaemons: 1, several: true}.run(t)
}
func TestResourceMachineTwoDaemons(t *testing.T) { machineKind{cases: 5, nDaemons: 2}.run(t) }
