package dispatcher

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// claimMachine is two daemons that hand out jobs with claims at three nodes of four GPUs, beside jobs without claims.
type claimMachine struct {
	*fixture
	r       *rapid.T
	daemons []*Dispatcher
	leases  map[int64]Lease
	nodes   map[int64]string // of the leases
}

func (m *claimMachine) any() *Dispatcher {
	return m.daemons[rapid.IntRange(0, len(m.daemons)-1).Draw(m.r, "daemon")]
}

func (m *claimMachine) one() (id int64, ok bool) {
	if len(m.leases) == 0 {
		return 0, false
	}
	ids := slices.Sorted(maps.Keys(m.leases))
	return ids[rapid.IntRange(0, len(ids)-1).Draw(m.r, "lease")], true
}

// drawLayout is a task of one or two groups with claims of nodes or GPUs at all levels.
func drawLayout(r *rapid.T) resource.Layout {
	count := func(name string, most int) int { return rapid.IntRange(1, most).Draw(r, name) }
	l := resource.Layout{Replicas: count("replicas", 2), Templates: []shares.ClaimTemplate{
		{Name: "gpus", Devices: map[string]int{"gpu": count("gpus", 4)}, Linger: time.Hour,
			MaxSharers: rapid.IntRange(0, 3).Draw(r, "most")},
		{Name: "node", Node: true, Linger: time.Duration(rapid.IntRange(0, 1).Draw(r, "linger")) * time.Hour}}}
	if n := rapid.Int64Range(0, 4).Draw(r, "units"); n > 0 {
		l.Templates[0].Resources = map[string]int64{"gpu": n}
	}
	scope := rapid.SampledFrom([]resource.Scope{resource.All, resource.PerReplica})
	l.Groups = []resource.Group{{Name: "g", Replicas: count("groups", 2), Members: []resource.Role{{Name: "a", Count: count("a", 2)}, {Name: "b", Count: 1}},
		Sharing: []resource.Sharing{{Template: "gpus", Scope: scope.Draw(r, "group")}}}}
	l.Roles = []resource.Role{{Name: "c", Count: count("c", 2), Sharing: []resource.Sharing{{Template: "gpus", Scope: scope.Draw(r, "role")}}}}
	if rapid.Bool().Draw(r, "disk") {
		l.Roles[0].Sharing = append(l.Roles[0].Sharing, resource.Sharing{Claim: "disk"})
	}
	if rapid.Bool().Draw(r, "task") {
		l.Sharing = []resource.Sharing{{Template: "node", Scope: resource.PerReplica}}
	}
	return l
}

var claimSteps = map[string]func(*claimMachine){
	"submit": func(m *claimMachine) { m.enqueueLayout("A", drawLayout(m.r)) },
	"plain":  func(m *claimMachine) { m.enqueue(batch{share: "A", n: rapid.IntRange(1, 3).Draw(m.r, "n")}) },
	"pull": func(m *claimMachine) {
		node := rapid.SampledFrom([]string{"n1", "n2", "n3", ""}).Draw(m.r, "node")
		req := slotAt("q", node, gpus(4)...)
		req.Max, req.Slot.Cores, req.WaitS = rapid.IntRange(1, 4).Draw(m.r, "max"), 4, 0
		reply, err := m.any().Pull(context.Background(), req)
		if err != nil && !errors.Is(err, ErrNoJobs) {
			m.t.Fatal(err)
		}
		for _, l := range reply.Leases {
			m.leases[l.Job], m.nodes[l.Job] = l, node
		}
	},
	"end": func(m *claimMachine) {
		if id, ok := m.one(); ok {
			finish(m.t, m.any(), rapid.SampledFrom([]Outcome{Finished, Failed, Cancelled}).Draw(m.r, "outcome"), m.leases[id])
			delete(m.leases, id)
		}
	},
	"node dies": func(m *claimMachine) {
		id, ok := m.one()
		if !ok {
			return
		}
		node := m.nodes[id]
		for other := range m.leases {
			if m.nodes[other] == node {
				m.exec("UPDATE leases SET expires_at = now() - interval '1 second' WHERE job_id = $1", other)
				delete(m.leases, other)
			}
		}
		d := m.any()
		d.mu.Lock()
		d.swept = time.Time{}
		d.mu.Unlock()
		if _, err := d.Expire(context.Background()); err != nil {
			m.t.Fatal(err)
		}
	},
	"cancel": func(m *claimMachine) {
		var task int64
		m.scan(&task, "SELECT coalesce(min(task_id), 0) FROM jobs")
		m.say(task, CancelIdle, 2)
	},
	"judge": func(m *claimMachine) { judge(m.t, m.any()) },
	"tend": func(m *claimMachine) {
		if _, err := m.any().TendClaims(context.Background()); err != nil {
			m.t.Fatal(err)
		}
	},
}

// drain has all jobs run to their end: at nodes that take turns, with claims that do not linger.
func (m *claimMachine) drain() {
	m.exec("UPDATE resource_claims SET linger_s = 0")
	for try := 0; ; try++ {
		for id, l := range m.leases {
			finish(m.t, m.any(), Finished, l)
			delete(m.leases, id)
		}
		m.finishScaling()
		judge(m.t, m.any())
		for n := 1; n > 0; {
			n = 0
			for _, d := range m.daemons {
				did, err := d.TendClaims(context.Background())
				if err != nil {
					m.t.Fatal(err)
				}
				n += did
			}
		}
		var left int
		m.scan(&left, "SELECT count(*)::int FROM jobs")
		if left == 0 {
			break
		}
		if try > 400 {
			m.t.Fatalf("%d jobs are left:\n%s", left, m.leftOver(m.daemons))
		}
		req := slotAt("q", []string{"n1", "n2", "n3"}[try%3], gpus(4)...)
		req.WaitS, req.Max, req.Slot.Cores = 0.1, 4, 4
		reply, err := m.daemons[try%len(m.daemons)].Pull(context.Background(), req)
		if err != nil && !errors.Is(err, ErrNoJobs) {
			m.t.Fatal(err)
		}
		for _, l := range reply.Leases {
			m.leases[l.Job] = l
		}
	}
}

// within checks that no more is held than there is, and by no more than may share.
func (m *claimMachine) within() {
	var held, crowded int
	m.scan(&held, `SELECT coalesce(sum((s.resources->>'gpu')::int), 0) FROM resource_claims c JOIN shapes s ON s.id = c.charge_id WHERE c.share_id <> 0`)
	m.scan(&crowded, "SELECT count(*) FROM resource_claims WHERE sharers > (template->>'max_sharers')::int")
	if held > 6 || crowded > 0 {
		m.t.Fatalf("%d of 6 units are held, %d claims have too many sharers", held, crowded)
	}
}

// Whatever happens, claims are a recount of leases, no device is of two claims and all jobs can run in the end.
func TestClaimMachine(t *testing.T) {
	onDatabases(t, 8, func(t testing.TB, r *rapid.T) {
		m := &claimMachine{r: r, leases: map[int64]Lease{}, nodes: map[int64]string{}}
		m.fixture = newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 1000))
		m.apply(func(v *shares.Version) {
			v.Resources = []shares.Resource{units("gpu", 6)}
			if rapid.Bool().Draw(r, "judged") { // then they come back in other shapes
				v.Attempts = rules(retry.Rule{Name: "longer", Action: retry.IncreaseWalltime, Factor: 2})
			}
		})
		m.daemons = []*Dispatcher{m.daemon(), m.daemon()}
		names := slices.Sorted(maps.Keys(claimSteps))
		for range rapid.IntRange(5, 40).Draw(r, "steps") {
			claimSteps[rapid.SampledFrom(names).Draw(r, "step")](m)
			m.recountClaims()
			m.within()
		}
		m.recount()
		m.drain()
		m.recountClaims()
		m.recount()
		var left string
		m.scan(&left, `SELECT coalesce(string_agg(id || ' ' || key || ' ' || state, ', '), '') FROM resource_claims
			WHERE state <> 'released' AND NOT (task_id = 0 AND state = 'bound')`)
		if left != "" {
			t.Fatalf("claims are left: %s", left)
		}
	})
}
