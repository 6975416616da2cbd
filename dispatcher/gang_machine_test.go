package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// gangMachine is two daemons, gangs of roles, and pilots at three nodes whose slots differ.
type gangMachine struct {
	*fixture
	r       *rapid.T
	daemons []*Dispatcher
	stops   []func()
	ahead   time.Duration // of the time of holds, guarded by mu
	leases  map[int64]Lease
	nodes   map[int64]string
	waiting []chan answered
}

func (m *gangMachine) any() *Dispatcher {
	return m.daemons[rapid.IntRange(0, len(m.daemons)-1).Draw(m.r, "daemon")]
}

func (m *gangMachine) one() (id int64, ok bool) {
	if len(m.leases) == 0 {
		return 0, false
	}
	ids := slices.Sorted(maps.Keys(m.leases))
	return ids[rapid.IntRange(0, len(ids)-1).Draw(m.r, "lease")], true
}

// open begins a daemon that takes the machine's time.
func (m *gangMachine) open() (*Dispatcher, func()) {
	d, stop := m.runDaemon()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.clock = func() time.Time {
		m.mu.Lock()
		defer m.mu.Unlock()
		return time.Now().Add(m.ahead)
	}
	return d, stop
}

// say has the oldest task do something with some of its jobs.
func (m *gangMachine) say(verb func(context.Context, pgx.Tx, Walk) ([]Walked, error), n int) {
	var task int64
	m.scan(&task, "SELECT coalesce(min(task_id), 0) FROM jobs")
	m.fixture.say(task, verb, n)
}

// gangNodes are the slots of each node, by cores.
var gangNodes = map[string][]int{"n1": {1, 1, 1, 1}, "n2": {4, 2}, "n3": {8}}

func (m *gangMachine) pull(node string, cores int, wait float64) {
	req := slotAt("q", node, gpus(4)...)
	req.Pilot, req.Slot.Cores, req.Max, req.WaitS = fmt.Sprintf("%s %d %d", node, cores, len(m.waiting)), cores, rapid.IntRange(1, 8).Draw(m.r, "max"), wait
	d, answer := m.any(), make(chan answered, 1)
	m.waiting = append(m.waiting, answer)
	go func() {
		reply, err := d.Pull(context.Background(), req)
		answer <- answered{req, reply, err}
	}()
}

// collect takes the answers that there are; all: waits for each.
func (m *gangMachine) collect(all bool) {
	m.waiting = slices.DeleteFunc(m.waiting, func(answer chan answered) bool {
		if !all && len(answer) == 0 {
			return false
		}
		got := <-answer
		if got.err != nil && !errors.Is(got.err, ErrNoJobs) && !errors.Is(got.err, ErrStopping) {
			m.t.Fatal(got.err)
		}
		for _, l := range got.reply.Leases {
			m.leases[l.Job], m.nodes[l.Job] = l, got.req.Node
		}
		return true
	})
}

var gangSteps = map[string]func(*gangMachine){
	"submit": func(m *gangMachine) {
		count := func(name string, most int) int { return rapid.IntRange(1, most).Draw(m.r, name) }
		l := gangOf(count("replicas", 3), 1)
		l.Groups[0].Members = []resource.Role{{Name: "a", Count: count("a", 3)}, {Name: "b", Count: count("b", 2)}}
		if rapid.Bool().Draw(m.r, "devices") {
			l.Templates[0].Node, l.Templates[0].Devices = false, map[string]int{"gpu": count("gpus", 3)}
		}
		if rapid.Bool().Draw(m.r, "own") {
			l.Templates = append(l.Templates, shares.ClaimTemplate{Name: "own", Devices: map[string]int{"gpu": 1}})
			l.Groups[0].Members[1].Sharing = []resource.Sharing{{Template: "own", Scope: resource.PerReplica}}
		}
		cores := count("cores", 2)
		m.enqueueRoles(rapid.SampledFrom([]string{"A", "B"}).Draw(m.r, "share"), l, func(k resource.JobKey) job.Requirements {
			if k.Role == "a" {
				return job.Requirements{Cores: cores}
			}
			return job.Requirements{Cores: 1}
		})
	},
	"plain": func(m *gangMachine) {
		m.enqueue(batch{share: rapid.SampledFrom([]string{"A", "B"}).Draw(m.r, "share"), n: rapid.IntRange(1, 3).Draw(m.r, "n")})
	},
	"pull": func(m *gangMachine) {
		node := rapid.SampledFrom(slices.Sorted(maps.Keys(gangNodes))).Draw(m.r, "node")
		for _, cores := range gangNodes[node] {
			m.pull(node, cores, rapid.SampledFrom([]float64{0, 0.05, 0.3}).Draw(m.r, "wait"))
		}
		m.collect(rapid.Bool().Draw(m.r, "all"))
	},
	"end": func(m *gangMachine) {
		if id, ok := m.one(); ok {
			finish(m.t, m.any(), rapid.SampledFrom([]Outcome{Finished, Failed, Cancelled}).Draw(m.r, "outcome"), m.leases[id])
			delete(m.leases, id)
		}
	},
	"is lost": func(m *gangMachine) {
		if id, ok := m.one(); ok {
			m.expire(m.any(), m.leases[id])
			delete(m.leases, id)
		}
	},
	"time passes": func(m *gangMachine) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ahead += time.Duration(rapid.IntRange(1, 90).Draw(m.r, "seconds")) * time.Second
	},
	"cancel":  func(m *gangMachine) { m.say(CancelIdle, rapid.IntRange(1, 2).Draw(m.r, "n")) },
	"pause":   func(m *gangMachine) { m.say(HoldTasks, rapid.IntRange(1, 3).Draw(m.r, "n")) },
	"release": (*gangMachine).releaseAll,
	"daemon starts anew": func(m *gangMachine) {
		i := rapid.IntRange(0, len(m.daemons)-1).Draw(m.r, "daemon")
		m.stops[i]()
		m.daemons[i], m.stops[i] = m.open()
	},
	"judge": func(m *gangMachine) { judge(m.t, m.any()) },
	"tend": func(m *gangMachine) {
		if _, err := m.any().TendClaims(context.Background()); err != nil {
			m.t.Fatal(err)
		}
	},
}

// watch notes every change of leases with its transaction, so that it can be told who started with whom.
func (m *gangMachine) watch() {
	m.exec(`CREATE TABLE seen_starts (tx xid8 NOT NULL DEFAULT pg_current_xact_id(), claim bigint, before int, n int, had int)`)
	m.exec(`CREATE FUNCTION seen_start() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO seen_starts (claim, before, n, had)
		SELECT g.claim_id, (SELECT count(*) FROM leases l JOIN jobs j ON j.id = l.job_id WHERE j.claims @> ARRAY[g.claim_id]) - k.n, k.n,
			(SELECT count(*) FROM jobs j WHERE j.claims @> ARRAY[g.claim_id])
		FROM claim_gangs g
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM new_leases l JOIN jobs j ON j.id = l.job_id WHERE j.claims @> ARRAY[g.claim_id]) k
		WHERE k.n > 0;
		RETURN NULL; END $$`)
	m.exec(`CREATE TRIGGER seen_start AFTER INSERT ON leases REFERENCING NEW TABLE AS new_leases FOR EACH STATEMENT EXECUTE FUNCTION seen_start()`)
}

// check says that whoever started while nobody of its gang ran started with all that were left of it, on one node.
func (m *gangMachine) check() {
	var parts, apart int
	m.scan(&parts, "SELECT count(*)::int FROM seen_starts WHERE before = 0 AND n <> had")
	m.scan(&apart, `SELECT count(*)::int FROM (
		SELECT FROM leases l JOIN jobs j ON j.id = l.job_id JOIN claim_gangs g ON g.claim_id = ANY (j.claims)
		GROUP BY g.claim_id HAVING count(DISTINCT l.node) > 1) x`)
	if parts+apart > 0 {
		m.t.Fatalf("%d starts of a part of a gang, %d gangs on several nodes", parts, apart)
	}
}

// releaseAll ends all pauses.
func (m *gangMachine) releaseAll() {
	var paused []int64
	m.scan(&paused, "SELECT coalesce(array_agg(DISTINCT task_id), '{}') FROM jobs WHERE state = 'waiting'")
	for _, task := range paused {
		m.fixture.say(task, ReleaseTasks, 1000)
	}
}

// drain has all jobs run to their end: every node offers all of its slots in turn.
func (m *gangMachine) drain() {
	for try := 0; ; try++ {
		m.collect(true)
		for id, l := range m.leases {
			finish(m.t, m.daemons[0], Finished, l)
			delete(m.leases, id)
		}
		judge(m.t, m.daemons[0])
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
			return
		}
		m.releaseAll()
		if try > 300 {
			m.t.Fatalf("%d jobs are left:\n%s", left, m.leftOver(m.daemons))
		}
		m.mu.Lock()
		m.ahead += 30 * time.Second
		m.mu.Unlock()
		node, d := []string{"n1", "n2", "n3", "n4"}[try%4], m.daemons[try%len(m.daemons)]
		for i := range 9 {
			req := slotAt("q", node, gpus(8)...)
			req.Pilot, req.Slot.Cores, req.Max, req.WaitS = fmt.Sprintf("%s drain %d", node, i), 2, 2, 0.2
			answer := make(chan answered, 1)
			m.waiting = append(m.waiting, answer)
			go func() {
				reply, err := d.Pull(context.Background(), req)
				answer <- answered{req, reply, err}
			}()
		}
	}
}

// Whatever happens, no gang starts in part, and all jobs can run in the end.
func TestGangMachine(t *testing.T) {
	onDatabases(t, 8, func(t testing.TB, r *rapid.T) {
		m := &gangMachine{r: r, leases: map[int64]Lease{}, nodes: map[int64]string{}}
		m.fixture = newFixture(t, []shares.Spec{node("A", 1), node("B", 2)}, slots("q", 1000))
		m.watch()
		if rapid.Bool().Draw(r, "judged") {
			m.apply(func(v *shares.Version) {
				v.Attempts = rules(retry.Rule{Name: "longer", Action: retry.IncreaseWalltime, Factor: 2})
			})
		}
		for range 2 {
			d, stop := m.open()
			m.daemons, m.stops = append(m.daemons, d), append(m.stops, stop)
		}
		t.Cleanup(func() {
			for _, stop := range m.stops {
				stop()
			}
		})
		names := slices.Sorted(maps.Keys(gangSteps))
		for range rapid.IntRange(5, 40).Draw(r, "steps") {
			gangSteps[rapid.SampledFrom(names).Draw(r, "step")](m)
			m.check()
		}
		m.collect(true)
		m.recountClaims()
		m.recount()
		m.drain()
		m.check()
		m.recountClaims()
		m.recount()
		var left, starts int
		m.scan(&left, "SELECT count(*)::int FROM resource_claims WHERE state <> 'released'")
		m.scan(&starts, "SELECT count(*)::int FROM seen_starts")
		if left > 0 {
			t.Fatalf("%d claims are left", left)
		}
	})
}
