package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// gpuSite has so many units of gpu, which claims hold.
func gpuSite(t testing.TB, capacity int64) *fixture {
	t.Helper()
	return scarceSite(t, 1000, units("gpu", capacity))
}

// pool4 is a template of four units of gpu on one node.
func pool4() shares.ClaimTemplate {
	return shares.ClaimTemplate{Name: "pool", Resources: map[string]int64{"gpu": 4}, Node: true, Linger: time.Minute}
}

// charged checks what claims hold of gpu, as a daemon and as the tables say, and recounts all.
func (f *fixture) charged(d *Dispatcher, want int64) {
	f.t.Helper()
	var sum int64
	f.scan(&sum, `SELECT coalesce(sum((s.resources->>'gpu')::int), 0) FROM resource_claims c JOIN shapes s ON s.id = c.charge_id WHERE c.share_id <> 0`)
	if sum != want {
		f.t.Errorf("claims hold %d units, want %d", sum, want)
	}
	var held int64
	eventually(f.t, fmt.Sprintf("the daemon counts %d units", want), func() bool {
		held = 0
		for _, n := range heldOf(f.t, d, "gpu") {
			held += n
		}
		return held == want
	})
	f.recountClaims()
	f.recount()
}

// g1 is the case "disagg" of sharing.md §5.
func g1() resource.Layout {
	gpu := func(name string, n int64) shares.ClaimTemplate {
		return shares.ClaimTemplate{Name: name, Resources: map[string]int64{"gpu": n}, Node: true}
	}
	return resource.Layout{Replicas: 2,
		Templates: []shares.ClaimTemplate{{Name: "res1", Resources: map[string]int64{"seat": 1}}, {Name: "res2", Node: true}, gpu("gpu-pool", 4), gpu("metrics-gpu", 1)},
		Sharing:   []resource.Sharing{{Template: "res1", Scope: resource.All}, {Template: "res2", Scope: resource.PerReplica}},
		Groups: []resource.Group{{Name: "sgx", Replicas: 2, Members: []resource.Role{{Name: "pca", Count: 3}, {Name: "pcb", Count: 2}},
			Sharing: []resource.Sharing{{Template: "gpu-pool", Scope: resource.PerReplica}}}},
		Roles: []resource.Role{{Name: "metrics", Count: 2, Sharing: []resource.Sharing{{Template: "metrics-gpu", Scope: resource.All}}}}}
}

// G1: 24 jobs of nine claims hold 18 units, each claim's once.
func TestClaimsAreChargedOnce(t *testing.T) {
	f := scarceSite(t, 100, units("gpu", 18), units("seat", 1))
	d := f.daemon()
	f.tending(d)
	names := f.enqueueLayout("A", g1())
	if len(names) != 24 {
		t.Fatalf("%d jobs", len(names))
	}
	f.charged(d, 0)
	nodes, all := map[string]string{}, []Lease{}
	for i := range 24 {
		node := fmt.Sprint("n", i%2)
		l := pullAt(t, d, slotAt("q", node))
		all = append(all, l)
		replica, _, _ := strings.Cut(names[l.Job], "/")
		if nodes[replica] == "" {
			nodes[replica] = node
		}
		if nodes[replica] != node {
			t.Errorf("%s at %s, its replica is at %s", names[l.Job], node, nodes[replica])
		}
		f.recountClaims()
		f.recount()
	}
	f.charged(d, 18)
	var claims int
	if f.scan(&claims, "SELECT count(*) FROM resource_claims WHERE state = 'bound'"); claims != 9 {
		t.Errorf("%d claims", claims)
	}
	finish(t, d, Finished, all...)
	eventually(t, "all claims are released", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM resource_claims WHERE state <> 'released'")
		return n == 0
	})
	f.charged(d, 0)
}

// G3: three claims of four units that five jobs share, one job of each group replica that shares none. The unit that is
// lacking to a third claim keeps its five jobs back, and no other.
func TestClaimsWaitForTheirUnits(t *testing.T) {
	f := gpuSite(t, 11)
	d := f.daemon()
	f.tending(d)
	l := g3()
	l.Templates = []shares.ClaimTemplate{pool4()}
	names := f.enqueueLayout("A", l)
	for range 13 {
		pullAt(t, d, slotAt("q", "n1"))
	}
	noneAt(t, d, slotAt("q", "n1"))
	noneAt(t, d, slotAt("q", "n2"))
	f.charged(d, 8)
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{units("gpu", 12)} })
	for range 5 {
		if l := pullAt(t, d, slotAt("q", "n2")); strings.Contains(names[l.Job], "/coord/") {
			t.Errorf("%s waited", names[l.Job])
		}
	}
	f.charged(d, 12)
	if got := heldOf(t, d, "gpu"); len(got) != 1 || got["u"] != 12 {
		t.Errorf("%v", got)
	}
}

// G7 and G8: a job that is tried again costs nothing; those of a dead node give their units back together, at once.
func TestUnitsOfRetriesAndOfDeadNodes(t *testing.T) {
	f := gpuSite(t, 4)
	d := f.daemon()
	f.tending(d)
	l := g3()
	l.Templates = []shares.ClaimTemplate{pool4()}
	l.Groups[0].Members = []resource.Role{{Name: "pre", Count: 1}, {Name: "train", Count: 2}}
	names := f.enqueueLayout("A", l)
	first := pullAt(t, d, slotAt("q", "n1"))
	f.charged(d, 4)
	finish(t, d, Failed, first)
	f.charged(d, 4)
	dead := []Lease{}
	for range 3 {
		dead = append(dead, pullAt(t, d, slotAt("q", "n1")))
	}
	f.charged(d, 4)
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{units("gpu", 8)} })
	stays := pullAt(t, d, slotAt("q", "n2"))
	f.charged(d, 8)
	noneAt(t, d, slotAt("q", "n3")) // the third has no units
	for _, l := range dead {
		f.exec("UPDATE leases SET expires_at = now() - interval '1 second' WHERE job_id = $1", l.Job)
	}
	d.mu.Lock()
	d.swept = time.Time{}
	d.mu.Unlock()
	if n, err := d.Expire(t.Context()); err != nil || n != 3 {
		t.Fatalf("%d %v", n, err)
	}
	eventually(t, "the dead node's claim is unbound", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM resource_claims WHERE state = 'bound'")
		return n == 1
	})
	f.charged(d, 4)
	again := pullAt(t, d, slotAt("q", "n3"))
	if replicaOf(names[again.Job]) == replicaOf(names[stays.Job]) {
		t.Errorf("%s at n3, %s at n2", names[again.Job], names[stays.Job])
	}
	f.charged(d, 8)
}

// A job needs its own units and those of its claims together, or gets none.
func TestOwnUnitsWithThoseOfClaims(t *testing.T) {
	f := scarceSite(t, 100, units("gpu", 4), units("maya", 0))
	d := f.daemon()
	f.tending(d)
	l := g3()
	l.Templates = []shares.ClaimTemplate{pool4()}
	l.Groups[0].Replicas, l.Groups[0].Members = 1, []resource.Role{{Name: "pre", Count: 1}, {Name: "train", Count: 1}}
	f.own = maya
	f.enqueueLayout("A", l)
	noneAt(t, d, slotAt("q", "n1"))
	f.charged(d, 0)
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{units("gpu", 3), units("maya", 2)} })
	noneAt(t, d, slotAt("q", "n1"))
	f.charged(d, 0)
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{units("gpu", 4), units("maya", 2)} })
	pullAt(t, d, slotAt("q", "n1"))
	f.charged(d, 4)
	pullAt(t, d, slotAt("q", "n1")) // its claim is bound: a unit of maya is all that it needs
	f.charged(d, 4)
	if got := heldOf(t, d, "maya")["u"]; got != 2 {
		t.Errorf("%d of maya", got)
	}
}

// What claims hold is known after a new start, and the share that pays for it may be another one.
func TestChargesLiveOn(t *testing.T) {
	f := gpuSite(t, 8)
	d, stop := f.runDaemon()
	l := g3()
	l.Templates = []shares.ClaimTemplate{pool4()}
	f.enqueueLayout("A", l)
	pullAt(t, d, slotAt("q", "n1"))
	f.charged(d, 4)
	stop()
	d = f.daemon()
	f.tending(d)
	f.charged(d, 4)
	a, b := f.shareID("A"), f.shareID("B")
	f.apply(func(v *shares.Version) { v.Resources[0].Split.By = shares.SplitByShare })
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := heldOf(t, d, "gpu")["A"]; got != 4 {
		t.Errorf("A holds %d", got)
	}
	err := pgx.BeginFunc(t.Context(), f.pool, func(tx pgx.Tx) error {
		return errors.Join(Barrier(t.Context(), tx), MoveShare(t.Context(), tx, a, b), Rebase(t.Context(), tx, f.version))
	})
	if err != nil {
		t.Fatal(err)
	}
	f.charged(d, 4)
	eventually(t, "B pays", func() bool {
		got := heldOf(t, d, "gpu")
		return got["A"] == 0 && got["B"] == 4
	})
	if st := d.Queues()[0]; st.HeldJobs != 1 || st.HeldCores != 1 {
		t.Errorf("%+v", st)
	}
}

// Two daemons that lease side by side never hold more than there is, and share claims whoever bound them.
func TestChargesOfTwoDaemons(t *testing.T) {
	f := gpuSite(t, 10)
	ds := []*Dispatcher{f.daemon(), f.daemon()}
	f.tending(ds...)
	for range 4 {
		l := g3()
		l.Templates = []shares.ClaimTemplate{pool4()}
		l.Templates[0].Linger = 0
		f.enqueueLayout("A", l)
	}
	var pulling sync.WaitGroup
	for i := range 6 {
		pulling.Go(func() { f.work(ds[i%2], slotAt("q", fmt.Sprint("n", i%3))) })
	}
	done := make(chan struct{})
	go func() { pulling.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(10 * time.Millisecond):
		}
		var held int64
		f.scan(&held, `SELECT coalesce(sum((s.resources->>'gpu')::int), 0) FROM resource_claims c JOIN shapes s ON s.id = c.charge_id WHERE c.share_id <> 0`)
		if held > 10 {
			t.Fatalf("%d units are held", held)
		}
	}
	eventually(t, "all claims are released", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM resource_claims WHERE state <> 'released'")
		return n == 0
	})
	for _, d := range ds {
		f.charged(d, 0)
	}
}

// work pulls one job after the other and finishes it, until there are none.
func (f *fixture) work(d *Dispatcher, req PullRequest) {
	for {
		req.WaitS = 0.2
		reply, err := d.Pull(context.Background(), req)
		if errors.Is(err, ErrNoJobs) {
			var left int
			if f.scan(&left, "SELECT count(*)::int FROM jobs"); left == 0 {
				return
			}
			continue
		}
		if err != nil {
			f.t.Errorf("pull: %v", err)
			return
		}
		finish(f.t, d, Finished, reply.Leases...)
	}
}
