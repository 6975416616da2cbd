package dispatcher

import (
	"cmp"
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/shares"
)

type decisionRow struct {
	JobID           int64
	Share           string
	Deficit         float32
	RunnerUp        *string
	RunnerUpDeficit *float32
	Candidates      int
	Round           float64
}

func (f *fixture) decisions() map[int64]decisionRow {
	f.t.Helper()
	rows, err := f.pool.Query(context.Background(), `SELECT job_id, share, deficit_units AS deficit, runner_up,
		runner_up_deficit_units AS runner_up_deficit, candidates, round_units::float8 AS round FROM report.decisions`)
	if err != nil {
		f.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[decisionRow])
	if err != nil {
		f.t.Fatal(err)
	}
	byJob := map[int64]decisionRow{}
	for _, r := range all {
		if _, twice := byJob[r.JobID]; twice {
			f.t.Errorf("job %d is recorded twice", r.JobID)
		}
		byJob[r.JobID] = r
	}
	return byJob
}

// What is recorded is what was committed, beside the ledger row of its transaction; what was decided and came to
// nothing is not.
func TestRecordedIsCommitted(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 1000))
	d, stop := f.runDaemon()
	stopped := sync.OnceFunc(stop)
	t.Cleanup(stopped)
	for _, leaf := range []string{"Prod/MC", "Prod/Rep", "Ana/User", "Test"} {
		f.enqueue(batch{share: leaf, n: 40})
	}
	// Another daemon is faster with some of them, which this one learns from its grants.
	f.exec(`INSERT INTO leases (job_id, attempt, nonce, task_id, share_id, shape_id, queue_id, units, cores, priority, pilot, node, daemon_id, expires_at, ttl_s)
		SELECT id, 1, id, task_id, share_id, shape_id, (SELECT min(id) FROM queues), 1000, 1, 0, 'other', '', 0, now() + interval '1 h', 60
		FROM jobs WHERE id % 8 = 0`)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { pull1(t, d, "q") })
	}
	all.Wait()
	if n, err := d.Record(t.Context()); n != 100 || err != nil {
		t.Fatalf("%d recorded, %v", n, err)
	}
	for name, sql := range map[string]string{
		"not recorded": "SELECT count(*) FROM leases WHERE pilot = 'p' AND job_id NOT IN (SELECT job_id FROM report.decisions)",
		"not leased":   "SELECT count(*) FROM report.decisions WHERE job_id NOT IN (SELECT job_id FROM leases WHERE pilot = 'p')",
		"not in the ledger": `SELECT count(*) FROM report.decisions r LEFT JOIN ledger l USING (daemon_id, lane, seq)
			LEFT JOIN leases x ON x.job_id = r.job_id WHERE l.seq IS NULL OR l.befores[1] <> 'r' OR NOT x.share_id = ANY (l.share_ids)`,
		"in no order of time": "SELECT count(*) FROM report.decisions WHERE at > written_at OR written_at - at > interval '1 min'",
		"of another weight":   "SELECT count(*) FROM report.decisions WHERE weight <> 1 OR units <> 1",
	} {
		var wrong int
		if f.scan(&wrong, sql); wrong != 0 {
			t.Errorf("%d are %s", wrong, name)
		}
	}
	if len(f.decisions()) != 100 {
		t.Errorf("%d records", len(f.decisions()))
	}
	pull1(t, d, "q")
	stopped()
	if len(f.decisions()) != 101 {
		t.Error("the last record went with the daemon")
	}
}

// reference picks by the book where everybody wants everything: the target of a child is its part of the target of
// its parent.
type reference struct {
	tree *shares.Tree
	held []float64
	last []int
}

// pick walks from the root to a leaf other than without; ways has the deficit of every node that it looked at.
func (r reference) pick(round float64, without int) (leaf int, deficits map[int]float64) {
	deficits = map[int]float64{}
	at, target := 0, round
	for !r.tree.Leaf(at) {
		sum, best, parts := 0.0, -1, map[int]float64{}
		for _, c := range r.tree.Nodes[at].Children {
			sum += r.tree.Nodes[c].Plan.Weight
		}
		for _, c := range r.tree.Nodes[at].Children {
			parts[c] = target * r.tree.Nodes[c].Plan.Weight / sum
			deficits[c] = parts[c] - r.held[c]
			if c == without {
				continue
			}
			if best < 0 || cmp.Or(near(deficits[c], deficits[best]), cmp.Compare(r.last[best], r.last[c])) > 0 {
				best = c
			}
		}
		if best < 0 {
			return -1, deficits
		}
		at, target = best, parts[best]
	}
	return at, deficits
}

func near(a, b float64) int {
	if math.Abs(a-b) < 1e-6 {
		return 0
	}
	return cmp.Compare(a, b)
}

func TestRunnerUpOnASmallTree(t *testing.T) {
	specs := []shares.Spec{node("Prod", 70, node("MC", 50), node("Rep", 30), node("Val", 20)), node("Ana", 25, node("User", 80), node("Grp", 20))}
	f := newFixture(t, specs, slots("q", 60))
	d := f.daemon()
	for _, leaf := range []string{"Prod/MC", "Prod/Rep", "Prod/Val", "Ana/User", "Ana/Grp"} {
		f.enqueue(batch{share: leaf, n: 60})
	}
	if _, err := d.Refresh(t.Context()); err != nil { // it knows of all of them
		t.Fatal(err)
	}
	var jobs []int64
	for range 40 {
		jobs = append(jobs, pull1(t, d, "q").Job)
	}
	if n, err := d.Record(t.Context()); n != len(jobs) || err != nil {
		t.Fatalf("%d recorded, %v", n, err)
	}
	tree := f.version.Tree
	r := reference{tree: tree, held: make([]float64, len(tree.Nodes)), last: make([]int, len(tree.Nodes))}
	got := f.decisions()
	for k, job := range jobs {
		round := float64(k + 1)
		won, deficits := r.pick(round, -1)
		second, _ := r.pick(round, won)
		a, b := won, second
		for tree.Nodes[a].Parent != tree.Nodes[b].Parent { // all leaves are as deep
			a, b = tree.Nodes[a].Parent, tree.Nodes[b].Parent
		}
		g := got[job]
		if g.Share != tree.Nodes[won].Path || g.RunnerUp == nil || *g.RunnerUp != tree.Nodes[second].Path || g.Candidates != 5 || g.Round != round {
			t.Fatalf("pull %d: %+v, want %s before %s", k, g, tree.Nodes[won].Path, tree.Nodes[second].Path)
		}
		if math.Abs(float64(g.Deficit)-deficits[a]) > 1e-4 || math.Abs(float64(*g.RunnerUpDeficit)-deficits[b]) > 1e-4 {
			t.Fatalf("pull %d: deficits %v and %v, want %v and %v", k, g.Deficit, *g.RunnerUpDeficit, deficits[a], deficits[b])
		}
		tree.Up(won, func(n int) { r.held[n]++; r.last[n] = k + 1 })
	}
}

func TestNoRunnerUp(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "Ana/User", n: 1})
	job := pull1(t, d, "q").Job
	if _, err := d.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := f.decisions()[job]; g.Share != "Ana/User" || g.RunnerUp != nil || g.RunnerUpDeficit != nil || g.Deficit != 1 || g.Candidates != 1 {
		t.Errorf("%+v", g)
	}
}

// While there is no connection the records wait, as many as there is room for; the rest is counted.
func TestRecordsWaitForTheDatabase(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 10))
	d := f.daemon()
	grants := make([]*grant, mostRecords+7)
	for i := range grants {
		grants[i] = &grant{note: &pickRecord{at: time.Now(), job: int64(i), weight: 1}}
	}
	d.keepNotes(d.lane(0), leaseBatch{pulls: []*pull{{grants: grants}}}, func(int64) bool { return true })
	reg := prometheus.NewRegistry()
	reg.MustRegister(d.metrics.unwritten)
	if m, err := reg.Gather(); err != nil || m[0].Metric[0].GetCounter().GetValue() != 7 {
		t.Errorf("dropped: %v, %v; want 7", m, err)
	}
	away, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := d.Record(away); n != 0 || err == nil {
		t.Errorf("%d recorded without a connection, %v", n, err)
	}
	if n, err := d.Record(t.Context()); n != mostRecords || err != nil {
		t.Errorf("%d recorded afterwards, %v", n, err)
	}
	var jobs, rows int
	f.scan(&jobs, "SELECT count(DISTINCT job_id) FROM report.decisions")
	f.scan(&rows, "SELECT count(*) FROM decisions")
	if jobs != mostRecords || rows != mostRecords/rowRecords {
		t.Errorf("%d jobs in %d rows", jobs, rows)
	}
}
