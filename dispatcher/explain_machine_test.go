package dispatcher

import (
	std "cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	logged "github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/job"
	pure "github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// jobNow is a job as the tables have it.
type jobNow struct {
	ID      int64
	Attempt int32
	Task    int64
	Share   int32
	Shape   int32  // for anybody
	User    string // empty: its share gives no turns
	Place   int64
	Queue   *int32 // of its lease
	Units   *int64
}

// momentOf makes the machine of what a daemon's site has ready and leased, in the order of the grants.
func (f *fixture) momentOf(d *Dispatcher) (explain.Moment, []jobNow) {
	f.t.Helper()
	rows, err := f.pool.Query(context.Background(), `SELECT j.id, coalesce(l.attempt, 1)::int AS attempt, j.task_id AS task, j.share_id AS share, coalesce(s.plain_id, s.id) AS shape,
		coalesce(s.user_name, '') AS "user", j.place, l.queue_id AS queue, l.units FROM jobs j JOIN shapes s ON s.id = j.shape_id LEFT JOIN leases l ON l.job_id = j.id WHERE j.state = 'ready' OR l.job_id IS NOT NULL ORDER BY l.claimed_at NULLS LAST, j.id`)
	if err != nil {
		f.t.Fatal(err)
	}
	jobs, err := pgx.CollectRows(rows, pgx.RowToStructByName[jobNow])
	if err != nil {
		f.t.Fatal(err)
	}
	ends, err := d.endsLately(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	m := pure.New(pure.Config{LocalWait: time.Minute, Making: time.Second})
	apply := func(e logged.Entry) {
		if err := m.Apply(e); err != nil {
			f.t.Fatal(err)
		}
	}
	apply(logged.Tick{Now: time.Now()})
	for _, id := range slices.Sorted(maps.Keys(s.shapes)) {
		apply(logged.Shaped{Shape: id, Need: s.shapes[id].full})
	}
	v := s.version
	apply(logged.Adopted{Number: v.Number, Site: &v})
	for _, j := range jobs {
		apply(logged.Enqueued{Task: j.Task, Share: shares.ShareID(j.Share), Shape: j.Shape, Place: j.Place, Low: j.ID, High: j.ID, Attempt: 1, User: j.User})
	}
	moment := explain.Moment{At: time.Now(), Pilots: map[shares.QueueID][]explain.Pilot{}, Starts: map[explain.Kind]float64{}}
	for id, q := range s.queues {
		apply(logged.Polled{Queue: id, Is: len(q.pilots) > 0})
		for _, p := range q.pilots {
			moment.Pilots[id] = append(moment.Pilots[id], explain.Pilot{Only: p.only, Unfilled: p.unfilled})
		}
	}
	for _, j := range jobs {
		if j.Queue != nil {
			apply(logged.Granted{Job: j.ID, Attempt: j.Attempt, Task: j.Task, Share: shares.ShareID(j.Share), Shape: j.Shape, Place: j.Place,
				Queue: shares.QueueID(*j.Queue), Units: shares.Units(*j.Units)})
		}
	}
	for _, e := range ends {
		moment.Ends = append(moment.Ends, explain.EndRate{Queue: e.QueueID, Share: e.ShareID, PerSecond: e.PerSecond, UnitsPerS: e.UnitsPerS})
	}
	for key, w := range s.windows {
		moment.Starts[explain.Kind{Share: key.share, Shape: std.Or(w.shape.plain, key.shape), User: w.shape.full.User}] = w.starts.perMinute
	}
	moment.View = m.View()
	return moment, jobs
}

// sameWords compares values of both packages by what users get: their JSON, but for the moment and what passes with it.
func sameWords(t *testing.T, what string, old, now any) {
	t.Helper()
	var values [2]any
	for i, v := range []any{old, now} {
		text, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(text, &values[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	passes := []string{"at", "plans_at", "lag"}
	if diff := cmp.Diff(values[0], values[1], cmpopts.EquateApprox(0, 1e-6), cmpopts.IgnoreMapEntries(func(name string, _ any) bool { return slices.Contains(passes, name) })); diff != "" {
		t.Errorf("%s: the old core (-) and the machine (+) differ:\n%s", what, diff)
	}
}

// sameGates compares what both say of each job that waits, and counts the gates.
func (f *fixture) sameGates(t *testing.T, d *Dispatcher, gates map[Gate]int) {
	t.Helper()
	m, jobs := f.momentOf(d)
	for _, j := range jobs {
		if j.Queue != nil {
			continue
		}
		old, err := d.Explain(t.Context(), j.ID)
		if err != nil {
			t.Fatal(err)
		}
		gates[old.Gate]++
		sameWords(t, "job", old, m.Job(explain.Subject{Job: j.ID, Task: j.Task, Share: shares.ShareID(j.Share), Path: old.Share, Shape: j.Shape, User: j.User, State: "ready", Place: j.Place}))
	}
}

// What users are told by the old core they are told by the machine: of each job that waits, of shares, queues and stocks.
func TestMachineExplainsTheSame(t *testing.T) {
	small, closed := slots("small", 3), slots("closed", 9)
	small.Cores, small.Pool, closed.DenyShares = 1, "other", []string{"Ana"}
	tree := treeT()
	tree[1].Plan.Weight = 80
	tree[2].Plan.Max, tree[1].Children[0].Plan.Within = shares.Of(1000), shares.FairUser
	tree[1].Children[1].Plan.Owned = shares.Of(3000)
	f := newFixture(t, tree, slots("q", 24), small, closed)
	f.apply(func(v *shares.Version) {
		r := shares.DefaultResource()
		r.Name, r.Capacity = "lic", 2
		v.Resources = []shares.Resource{r}
	})
	d := f.daemon()
	for i, b := range []batch{{share: "Prod/MC", n: 12}, {share: "Prod/Rep", n: 6, cores: 2}, {share: "Ana/User", n: 4, user: "ann"}, {share: "Ana/User", n: 4, user: "bob"}, {share: "Test", n: 3}, {share: "Ana/Grp", n: 9, priority: 3},
		{share: "Prod/Val", n: 5, need: job.Requirements{Resources: map[string]int64{"lic": 1}, SharingID: "ann"}}, {share: "Prod/Val", n: 1, need: job.Requirements{Queues: []string{"gpu"}}},
		{share: "Prod/MC", n: 2, priority: 5, need: job.Requirements{Queues: []string{"small"}}}} {
		b.task = int64(i + 1)
		f.enqueue(b)
	}
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.TendUsers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		pull1(t, d, "small")
	}
	pull1(t, d, "closed")
	gates := map[Gate]int{}
	for range 16 {
		pull1(t, d, "q")
		f.sameGates(t, d, gates)
	}
	t.Log(gates)
	for _, gate := range []Gate{GateStructural, GateCap, GateResourceCapacity, GateShare, GateUser, GatePriority, GateNone} {
		if gates[gate] == 0 {
			t.Errorf("no job came to gate %s", gate)
		}
	}
	m, _ := f.momentOf(d)
	sameWords(t, "standing", d.Standing(), m.Standing())
	sameWords(t, "queues", d.Queues(), m.Queues())
	sameWords(t, "stock", d.ShareStock("", ""), m.ShareStock("", ""))
	sameWords(t, "stock of a share at a queue", d.ShareStock("Prod", "closed"), m.ShareStock("Prod", "closed"))
	old, err := d.Why(t.Context(), WhyRequest{A: "Prod", B: "Ana/Grp"})
	if err != nil {
		t.Fatal(err)
	}
	now, err := m.Why(explain.WhyRequest{A: "Prod", B: "Ana/Grp"}, explain.Fared{Decisions: old.Decisions, Oldest: old.Oldest, AWon: old.AWon, BWon: old.BWon,
		ABeforeB: old.ABeforeB, BBeforeA: old.BBeforeA})
	if err != nil {
		t.Fatal(err)
	}
	sameWords(t, "why", old, now)
	sameWords(t, "counts", countsOf(added(d.Counts())), countsOf(added(m.Counts())))
	sameWords(t, "supply", countsOf(d.Stock()), countsOf(m.Stock()))
}

// added has one count of each kind: the old core has one for each user, where a share gives turns.
func added(list []Count) (sums []Count) {
	for _, c := range list {
		i := slices.IndexFunc(sums, func(s Count) bool {
			s.N = c.N
			return cmp.Equal(s, c)
		})
		if i < 0 {
			sums = append(sums, c)
			continue
		}
		sums[i].N += c.N
	}
	return sums
}

// countsOf has a line for each value, in one order.
func countsOf[T any](list []T) (lines []string) {
	for _, c := range list {
		text, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		lines = append(lines, string(text))
	}
	slices.Sort(lines)
	return lines
}
