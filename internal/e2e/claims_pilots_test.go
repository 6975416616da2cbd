package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

const groups = `
shares: [{name: A}]
queues: [{name: Q, slots: 500}]
resources:
  - {name: gpu, capacity: 18}
  - {name: licence, capacity: 3}
`

// groupWorld is a daemon with pilots whose jobs run until they are told to end.
type groupWorld struct {
	t    *testing.T
	c    *client.Client
	dir  string // has a file on-JOB for every job that began, and end-JOB for those that are to end
	task int64
}

func newGroupWorld(t *testing.T, written wire.TaskSpec) *groupWorld {
	w := &groupWorld{t: t, dir: t.TempDir()}
	w.c = serve(t, pgtest.DSN(t), "--lease-first", "6s", "--lease-ttl", "6s", "--lease-renew", "2s").client
	apply(t, w.c, groups)
	w.task = submit(t, w.c, "A", 0, func(s *wire.TaskSpec) {
		written.Name, written.User, written.Share = "groups", "alice", "A"
		written.Command = []string{"sh", "-c", `n=$(echo "$1" | tr / -); echo "$DIVVY_CLAIM_POOL_NODE $DIVVY_CLAIM_POOL_DEVICES" > "$0/on-$n"
			while [ -e "$0" ] && [ ! -e "$0/end-$n" ]; do sleep 0.3; done; code=$(cat "$0/end-$n"); rm "$0/end-$n"; exit $code`, w.dir, "{{.Input}}"}
		*s = written
	}).ID
	return w
}

// pilot runs jobs on a node with so many devices.
func (w *groupWorld) pilot(node string, slots, devices int) *program {
	args := []string{"pilot", "--server", w.c.URL(), "--queue", "Q", "--slots", fmt.Sprint(slots), "--node", node, "--work-dir", filepath.Join(w.t.TempDir(), "w")}
	if devices > 0 {
		args = append(args, "--device", strings.Join(gpus(devices), ","))
	}
	return start(w.t, environment(), args...)
}

func gpus(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint("gpu:", i))
	}
	return ids
}

// end has jobs exit with a code.
func (w *groupWorld) end(code int, jobs ...string) {
	w.t.Helper()
	for _, job := range jobs {
		if err := os.WriteFile(filepath.Join(w.dir, "end-"+strings.ReplaceAll(job, "/", "-")), []byte(fmt.Sprint(code)), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
}

// claims are those that are not released, by key.
func (w *groupWorld) claims() map[string]wire.ClaimStanding {
	w.t.Helper()
	page, err := w.c.Claims().List(w.t.Context(), client.ClaimFilter{Task: w.task, Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	by := map[string]wire.ClaimStanding{}
	for _, c := range page.Items {
		by[c.Key] = c
	}
	return by
}

// reach waits until the claims have states and sharers, and units of gpu are held.
func (w *groupWorld) reach(what string, units int64, want map[string]string) {
	w.t.Helper()
	var got map[string]string
	var held int64
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s: %v, %d units of gpu", what, got, held)
		}
	}()
	eventually(w.t, 60*time.Second, fmt.Sprint(what, ": ", want), func() bool {
		got = map[string]string{}
		for key, c := range w.claims() {
			got[key] = fmt.Sprint(c.State, " ", c.Sharers)
		}
		parts, err := w.c.Resources().Get(w.t.Context(), "gpu")
		if err != nil || len(parts) != 1 {
			return false
		}
		if held = parts[0].Held; held > parts[0].Capacity {
			w.t.Fatalf("%d units of gpu are held, there are %d", held, parts[0].Capacity)
		}
		return held == units && cmp.Equal(want, got)
	})
}

// G1: 24 jobs hold 9 claims and 18 units, where one claim a job would need 84.
func TestG1WithPilots(t *testing.T) {
	t.Parallel()
	w := newGroupWorld(t, wire.TaskSpec{Replicas: 2,
		Groups: []wire.TaskGroup{{Name: "sgx", Replicas: 2, Members: []wire.TaskMember{{Role: "pca", Count: 3}, {Role: "pcb", Count: 2}},
			Sharing: []wire.TaskSharing{{Template: "pool", Scope: "per_replica"}}}},
		Roles:   []wire.TaskMember{{Role: "metrics", Count: 2, Sharing: []wire.TaskSharing{{Template: "metrics-gpu", Scope: "all"}}}},
		Sharing: []wire.TaskSharing{{Template: "res1", Scope: "all"}, {Template: "res2", Scope: "per_replica"}},
		ClaimTemplates: []wire.TaskClaimTemplate{{Name: "pool", Node: true, Resources: map[string]int64{"gpu": 4}},
			{Name: "metrics-gpu", Resources: map[string]int64{"gpu": 1}},
			{Name: "res1", Resources: map[string]int64{"licence": 1}}, {Name: "res2", Resources: map[string]int64{"licence": 1}}}})
	w.pilot("n1", 24, 0) // room for all: they may be bound wherever they come first
	w.pilot("n2", 24, 0)
	w.reach("G1", 18, map[string]string{"res1": "bound 24", "0/res2": "bound 12", "1/res2": "bound 12",
		"0/sgx/0/pool": "bound 5", "0/sgx/1/pool": "bound 5", "1/sgx/0/pool": "bound 5", "1/sgx/1/pool": "bound 5",
		"0/metrics/metrics-gpu": "bound 2", "1/metrics/metrics-gpu": "bound 2"})
	held := map[string]int{}
	for _, c := range w.claims() {
		whole, err := w.c.Claims().Get(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range whole.Holders {
			held[h.Name]++
		}
	}
	if n := slices.Collect(maps.Values(held)); len(n) != 24 || slices.Min(n) != 3 || slices.Max(n) != 3 {
		t.Errorf("claims by job: %v, want 3 of each of 24", held)
	}
	w.end(0, slices.Collect(maps.Keys(held))...)
	w.reach("when all have ended", 0, map[string]string{})
}

// replica is the jobs of a replica of the training that share a claim.
func replica(n int) (jobs []string) {
	for _, job := range []string{"pre/0", "pre/1", "train/0", "train/1", "train/2"} {
		jobs = append(jobs, fmt.Sprintf("0/g/%d/%s", n, job))
	}
	return jobs
}

// G3, G7, G6 and G8 in the life of one task: three replicas share a pool each, a job is tried again, replicas go and come, a
// node dies.
func TestG3G6G7G8WithPilots(t *testing.T) {
	t.Parallel()
	w := newGroupWorld(t, wire.TaskSpec{
		Groups: []wire.TaskGroup{{Name: "g", Replicas: 3, Members: []wire.TaskMember{{Role: "pre", Count: 2}, {Role: "train", Count: 3}, {Role: "coord"}},
			Sharing: []wire.TaskSharing{{Template: "pool", Scope: "per_replica", Only: []string{"pre", "train"}}}}},
		ClaimTemplates: []wire.TaskClaimTemplate{{Name: "pool", Devices: map[string]int{"gpu": 4}, Resources: map[string]int64{"gpu": 4}}}})
	key := func(n int) string { return fmt.Sprintf("0/g/%d/pool(pre,train)", n) }
	all := func(state string, ns ...int) map[string]string {
		m := map[string]string{}
		for _, n := range ns {
			m[key(n)] = state
		}
		return m
	}
	nodes := map[string]*program{"n1": w.pilot("n1", 24, 8), "n2": w.pilot("n2", 24, 8)}
	w.reach("G3", 12, all("bound 5", 0, 1, 2))
	w.apart()

	first := w.claims()
	seen := w.startOf("0/g/1/train/2")
	w.end(1, "0/g/1/train/2")
	eventually(t, 60*time.Second, "G7: the job is tried again", func() bool { return w.startOf("0/g/1/train/2").After(seen) })
	w.reach("G7", 12, all("bound 5", 0, 1, 2))
	if now := w.claims(); now[key(1)].ID != first[key(1)].ID {
		t.Errorf("G7: claim %d, want %d as before", now[key(1)].ID, first[key(1)].ID)
	}

	w.scale(2)
	state := all("bound 5", 0, 1)
	state[key(2)] = "draining 5"
	w.reach("G6, scaled to 2", 12, state)
	w.end(0, replica(2)[:4]...)
	state[key(2)] = "draining 1"
	w.reach("G6, one is left", 12, state)
	w.end(0, append(replica(2)[4:], "0/g/2/coord/0")...)
	w.reach("G6, the last has gone", 8, all("bound 5", 0, 1))
	w.scale(4)
	w.reach("G6, scaled to 4", 16, all("bound 5", 0, 1, 2, 3))
	now := w.claims()
	if now[key(0)].ID != first[key(0)].ID || now[key(2)].ID == first[key(2)].ID {
		t.Errorf("G6: claims %v, before %v: the first is to be the same, the third a new one", now, first)
	}
	w.apart()

	dead := now[key(0)].Node
	if err := nodes[dead].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	w.pilot("n3", 24, 8)
	eventually(t, 90*time.Second, "G8: all of a replica are on another node", func() bool {
		for k, c := range w.claims() {
			if c.Sharers != 5 || c.Node == dead || now[k].Node != dead && (c.ID != now[k].ID || c.Node != now[k].Node) {
				return false
			}
		}
		return true
	})
	w.reach("G8", 16, all("bound 5", 0, 1, 2, 3))
	w.apart()
}

func (w *groupWorld) scale(replicas int) {
	w.t.Helper()
	if _, err := w.c.Tasks().Scale(w.t.Context(), w.task, wire.Scaling{Group: "g", Replicas: replicas}); err != nil {
		w.t.Fatal(err)
	}
}

// startOf is when a job last began.
func (w *groupWorld) startOf(job string) time.Time {
	w.t.Helper()
	at, err := os.Stat(filepath.Join(w.dir, "on-"+strings.ReplaceAll(job, "/", "-")))
	if err != nil {
		w.t.Fatal(err)
	}
	return at.ModTime()
}

// apart says whether each claim has four devices of its node for itself, and its jobs were told of them.
func (w *groupWorld) apart() {
	w.t.Helper()
	of := map[string]string{}
	for key, c := range w.claims() {
		if len(c.Devices) != 4 {
			w.t.Errorf("%s has %v, want 4 devices", key, c.Devices)
		}
		for _, id := range c.Devices {
			if other, taken := of[c.Node+" "+id]; taken {
				w.t.Errorf("%s and %s both have %s of %s", key, other, id, c.Node)
			}
			of[c.Node+" "+id] = key
		}
		whole, err := w.c.Claims().Get(w.t.Context(), c.ID)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, h := range whole.Holders {
			want, told := c.Node+" "+strings.Join(c.Devices, ",")+"\n", ""
			eventually(w.t, 30*time.Second, fmt.Sprintf("%s is told %q, not %q", h.Name, want, told), func() bool {
				text, err := os.ReadFile(filepath.Join(w.dir, "on-"+strings.ReplaceAll(h.Name, "/", "-")))
				told = string(text)
				return err == nil && told == want
			})
		}
	}
}
