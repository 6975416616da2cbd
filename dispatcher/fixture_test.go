package dispatcher

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// fixture is a site in a database of its own, and daemons on it.
type fixture struct {
	t    testing.TB
	pool *pgxpool.Pool

	mu      sync.Mutex
	version shares.Version
	tasks   int64
	running map[*Dispatcher]bool // daemons that hear of new jobs before their test goes on

	own map[string]int64 // resources that jobs of layouts ask for, beside their claims
}

// node is a share for a test: a leaf unless it has children.
func node(name string, weight float64, children ...shares.Spec) shares.Spec {
	p := shares.DefaultPlan()
	p.Weight = weight
	return shares.Spec{Name: name, Plan: p, Children: children}
}

// slots is a queue of n cores, one unit each.
func slots(name string, n int) shares.Queue {
	return shares.Queue{Name: name, Pool: "default", State: shares.Online, Slots: &n, CorePowerMilli: 1000}
}

func newFixture(t testing.TB, root []shares.Spec, queues ...shares.Queue) *fixture {
	t.Helper()
	return newFixtureOn(t, pgtest.Open(t), root, queues...)
}

func newFixtureOn(t testing.TB, pool *pgxpool.Pool, root []shares.Spec, queues ...shares.Queue) *fixture {
	t.Helper()
	f := &fixture{t: t, pool: pool, running: map[*Dispatcher]bool{}}
	tree, err := shares.Build(root)
	if err != nil {
		t.Fatal(err)
	}
	f.exec("INSERT INTO site_versions (version, applied_by, source, share_ids, queue_ids) VALUES (1, 'test', '', '{}', '{}')")
	ids := map[string]shares.ShareID{}
	for i, n := range tree.Nodes[1:] {
		var id int32
		f.scan(&id, "INSERT INTO shares (name, path, position, leaf, weight) VALUES ($1, $2, $3, $4, $5) RETURNING id",
			n.Name, n.Path, i, tree.Leaf(i+1), n.Plan.Weight)
		ids[n.Path] = shares.ShareID(id)
	}
	tree.SetIDs(func(path string) shares.ShareID { return ids[path] })
	for i := range queues {
		var id int32
		f.scan(&id, "INSERT INTO queues (name, position) VALUES ($1, $2) RETURNING id", queues[i].Name, i)
		queues[i].ID = shares.QueueID(id)
	}
	f.version = shares.Version{Number: 1, Tree: tree, Queues: queues}
	f.apply(func(*shares.Version) {})
	return f
}

// apply changes the site as internal/site does: behind the barrier, with new limits.
func (f *fixture) apply(change func(*shares.Version)) {
	f.t.Helper()
	err := pgx.BeginFunc(context.Background(), f.pool, func(tx pgx.Tx) error {
		if err := Barrier(context.Background(), tx); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.version.Queues = append([]shares.Queue{}, f.version.Queues...)
		change(&f.version)
		if err := f.writePlans(tx); err != nil {
			return err
		}
		return Rebase(context.Background(), tx, f.version)
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// writePlans brings the plans of the shares table up to date.
func (f *fixture) writePlans(tx pgx.Tx) error {
	var ids []int32
	var plans []shares.Plan
	for _, n := range f.version.Tree.Nodes[1:] {
		ids, plans = append(ids, int32(n.ID)), append(plans, n.Plan)
	}
	_, err := tx.Exec(context.Background(), `UPDATE shares s SET plan = n.plan FROM unnest($1::int[], $2::jsonb[]) AS n (id, plan)
		WHERE s.id = n.id AND s.plan IS DISTINCT FROM n.plan`, ids, plans)
	return err
}

func (f *fixture) load(context.Context) (shares.Version, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version, nil
}

// daemon opens a dispatcher and runs it until the test ends. It refreshes by itself, as cmd does it.
func (f *fixture) daemon(timing ...Timing) *Dispatcher {
	f.t.Helper()
	d, stop := f.runDaemon(timing...)
	f.t.Cleanup(stop)
	return d
}

// runDaemon is daemon for those who stop it themselves.
func (f *fixture) runDaemon(timing ...Timing) (*Dispatcher, func()) {
	f.t.Helper()
	cfg := Config{Pool: f.pool, Load: f.load}
	if len(timing) > 0 {
		cfg.Timing = timing[0]
	}
	return f.runWith(cfg)
}

func (f *fixture) runWith(cfg Config) (*Dispatcher, func()) {
	f.t.Helper()
	d, err := Open(context.Background(), cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	running.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if _, err := d.Refresh(ctx); err != nil && ctx.Err() == nil {
					f.t.Logf("refresh: %v", err)
				}
			}
		}
	})
	f.mu.Lock()
	f.running[d] = true
	f.mu.Unlock()
	return d, func() {
		f.mu.Lock()
		delete(f.running, d)
		f.mu.Unlock()
		cancel()
		running.Wait()
		_ = d.Close(context.Background())
	}
}

// told has the daemons read what is committed: one that knows of one share's jobs and not yet of another's decides by that.
func (f *fixture) told() {
	f.mu.Lock()
	running := slices.Collect(maps.Keys(f.running))
	f.mu.Unlock()
	for _, d := range running {
		if _, err := d.Refresh(context.Background()); err != nil {
			f.t.Logf("refresh: %v", err)
		}
	}
}

// batch is a set of like jobs for a test.
type batch struct {
	share    string
	n        int
	task     int64 // 0: a new one
	priority int
	cores    int    // 0 = 1
	attempts int    // 0 = 3
	user     string // of the task; empty: it has no row
	need     job.Requirements
}

// enqueue makes a task of n jobs ready and returns their ids.
func (f *fixture) enqueue(b batch) (ids []int64) {
	f.t.Helper()
	ctx := context.Background()
	f.mu.Lock()
	task := b.task
	if f.tasks = max(f.tasks, task); task == 0 {
		f.tasks++
		task = f.tasks
	}
	node, ok := f.version.Tree.ByPath(b.share)
	share := f.version.Tree.Nodes[node].ID
	f.mu.Unlock()
	if !ok {
		f.t.Fatalf("no share %s", b.share)
	}
	b.need.Cores = max(1, b.cores)
	err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		shape, err := Intern(ctx, tx, b.need)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM payloads WHERE task_id = $1", task); err != nil {
			return err
		}
		if err := AddPayload(ctx, tx, Payload{Task: task, Command: []string{"echo", "{{.Index}}"}}); err != nil {
			return err
		}
		if b.user != "" {
			if _, err := tx.Exec(ctx, `INSERT INTO tasks (id, name, user_name, state, share_id, spec) OVERRIDING SYSTEM VALUE
				VALUES ($1, 't', $2, 'running', $3, '{}')`, task, b.user, int32(share)); err != nil {
				return err
			}
		}
		jobs := make([]NewJob, b.n)
		for i := range jobs {
			jobs[i] = NewJob{Task: task, Share: share, Shape: shape, Priority: b.priority, Index: int64(i)}
			if jobs[i].MaxAttempts = b.attempts; b.attempts == 0 {
				jobs[i].MaxAttempts = 3
			}
		}
		ids, err = Enqueue(ctx, tx, jobs)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.told()
	return ids
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	if _, err := f.pool.Exec(context.Background(), sql, args...); err != nil {
		f.t.Fatal(err)
	}
}

// rangesAnew has tasks find jobs that were written by hand, as they do those of one batch.
func (f *fixture) rangesAnew() {
	f.t.Helper()
	f.exec("TRUNCATE job_ranges, ready_ranges")
	f.exec("INSERT INTO job_ranges (task_id, low, high) SELECT task_id, min(id), max(id) FROM jobs GROUP BY task_id")
	f.exec("INSERT INTO ready_ranges SELECT share_id, shape_id, place, min(id), max(id) FROM jobs WHERE displaced IS NOT TRUE GROUP BY share_id, shape_id, place")
}

func (f *fixture) scan(into any, sql string, args ...any) {
	f.t.Helper()
	if err := f.pool.QueryRow(context.Background(), sql, args...).Scan(into); err != nil {
		f.t.Fatal(err)
	}
}

// pull1 asks for one job of one core.
func pull1(t testing.TB, d *Dispatcher, queue string) Lease {
	t.Helper()
	reply, err := d.Pull(context.Background(), PullRequest{Queue: queue, Pilot: "p", Slot: job.Slot{Cores: 1}, WaitS: 60})
	if err != nil {
		t.Fatalf("pull: %v", err)
	}
	return reply.Leases[0]
}

func noJob(t testing.TB, d *Dispatcher, queue string) {
	t.Helper()
	reply, err := d.Pull(context.Background(), PullRequest{Queue: queue, Pilot: "p", Slot: job.Slot{Cores: 1}})
	if !errors.Is(err, ErrNoJobs) {
		t.Fatalf("pull: %v %v, want ErrNoJobs", reply, err)
	}
}

func finish(t testing.TB, d *Dispatcher, outcome Outcome, leases ...Lease) []Verdict {
	t.Helper()
	req := FinishRequest{Pilot: "p"}
	for _, l := range leases {
		req.Results = append(req.Results, Result{Lease: l.Lease, Outcome: outcome})
	}
	reply, err := d.Finish(context.Background(), req)
	if err != nil {
		t.Fatalf("finish: %v", err)
	}
	return reply.Verdicts
}

// patience is how long a test waits for what must come; on a busy machine it may take long.
const patience = 2 * time.Minute

// eventually polls until the condition holds; when its patience is over the test fails with what.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// heldBy counts the leases of every share.
func (f *fixture) heldBy() map[string]int {
	f.t.Helper()
	rows, err := f.pool.Query(context.Background(), "SELECT s.path, count(*)::int FROM leases l JOIN shares s ON s.id = l.share_id GROUP BY 1")
	if err != nil {
		f.t.Fatal(err)
	}
	held := map[string]int{}
	var path string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&path, &n}, func() error { held[path] = n; return nil }); err != nil {
		f.t.Fatal(err)
	}
	return held
}

// recount compares checkpoint + tail with the tables, and what every limit says with what is held.
func (f *fixture) recount() {
	f.t.Helper()
	for name, sql := range map[string]string{
		"held": `SELECT count(*) FROM (
			SELECT share_id, shape_id, queue_id, sum(held), sum(units) FROM (
				SELECT share_id, shape_id, queue_id, held, held_units AS units FROM counters
				UNION ALL SELECT share_id, shape_id, queue_id, (after = 'l')::int * n - (before = 'l')::int * n,
					((after = 'l')::int - (before = 'l')::int) * units FROM ledger_tail_moves WHERE 'l' IN (before, after)
				UNION ALL SELECT share_id, shape_id, queue_id, -1, -units FROM leases
				UNION ALL SELECT share_id, charge_id, queue_id, -1, 0 FROM resource_claims WHERE charge_id <> 0 AND share_id <> 0
			) x GROUP BY 1, 2, 3 HAVING sum(held) <> 0 OR sum(units) <> 0) wrong`,
		"ready": `SELECT count(*) FROM (
			SELECT share_id, shape_id, sum(ready), sum(waiting) FROM (
				SELECT share_id, shape_id, ready, waiting FROM counters
				UNION ALL SELECT share_id, shape_id, (after = 'r')::int * n - (before = 'r')::int * n,
					(after = 'w')::int * n - (before = 'w')::int * n FROM ledger_tail_moves
				UNION ALL SELECT share_id, shape_id, -(state = 'ready')::int, -(state = 'waiting')::int FROM jobs j
					WHERE NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)
			) x GROUP BY 1, 2 HAVING sum(ready) <> 0 OR sum(waiting) <> 0) wrong`,
		"ranges": `SELECT count(*) FROM jobs j WHERE (
			SELECT count(*) FROM job_ranges r WHERE r.task_id = j.task_id AND j.id BETWEEN r.low AND r.high) <> 1`,
		"ready ranges": `SELECT count(*) FROM jobs j WHERE j.displaced IS NOT TRUE AND j.state = 'ready' AND (
			SELECT count(*) FROM ready_ranges r WHERE r.share_id = j.share_id AND r.shape_id = j.shape_id AND r.place = j.place
				AND j.id BETWEEN r.low AND r.high) <> 1`,
		"limits": `SELECT count(*) FROM (
			SELECT l.kind, l.ref, l.cap, l.free, sum(e.granted) FROM limits l LEFT JOIN escrow e USING (kind, ref, pool)
			WHERE l.free > l.cap GROUP BY 1, 2, 3, 4) wrong`,
	} {
		var wrong int
		f.scan(&wrong, sql)
		if wrong != 0 {
			f.t.Errorf("%s: %d sums differ from a recount", name, wrong)
		}
	}
}

type pgxTx = pgx.Tx

func beginFunc(ctx context.Context, pool *pgxpool.Pool, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, pool, do)
}
