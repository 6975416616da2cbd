package rules

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/fold"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/tally"
	"github.com/divvyhq/divvy/internal/ledgertest"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// node is a share: a leaf unless it has children.
func node(name string, weight float64, children ...shares.Spec) shares.Spec {
	p := shares.DefaultPlan()
	p.Weight = weight
	return shares.Spec{Name: name, Plan: p, Children: children}
}

// asker is a share that reclaims.
func asker(n shares.Spec, terms shares.Reclaim) shares.Spec {
	n.Plan.Reclaim = &terms
	return n
}

// slots is a queue of n cores, one unit each.
func slots(name string, n int) shares.Queue {
	return shares.Queue{Name: name, Pool: "default", State: shares.Online, Slots: &n, CorePowerMilli: 1000}
}

// world is a leader, its log, the tables of it, and an outbox.
type world struct {
	t       testing.TB
	pool    *pgxpool.Pool
	mu      sync.Mutex // of the machine, and of counted
	m       *machine.Machine
	site    shares.Version
	log     *ledgertest.Memory
	folder  *fold.Folder
	now     time.Time
	rules   *Rules
	next    int64
	tasks   int64
	ids     int64
	counted tally.Tally
	leases  map[int64]machine.Lease
}

func newWorld(t testing.TB, root []shares.Spec, queues ...shares.Queue) *world {
	t.Helper()
	w := &world{t: t, pool: pgtest.Open(t), m: machine.New(machine.Config{Making: time.Second}), next: 1,
		now: time.Now().Add(-time.Minute), leases: map[int64]machine.Lease{}}
	w.log = &ledgertest.Memory{Clock: func() time.Time { return w.now }}
	w.folder = fold.New(w.pool, w.log, nil)
	if _, err := intake.Extend(t.Context(), w.pool, 100_000, 100_000); err != nil {
		t.Fatal(err)
	}
	w.rules = w.daemon()
	tree, err := shares.Build(root)
	if err != nil {
		t.Fatal(err)
	}
	id := shares.ShareID(0)
	tree.SetIDs(func(string) shares.ShareID { id++; return id })
	w.site = shares.Version{Tree: tree}
	w.say(entry.Tick{Now: w.now})
	w.adopt(func(v *shares.Version) {
		for i := range queues {
			queues[i].ID = shares.QueueID(i + 1)
		}
		v.Queues = queues
	})
	return w
}

// daemon is the rules of another daemon, which sees the same machine.
func (w *world) daemon() *Rules {
	return New(Config{Pool: w.pool, Fold: func(context.Context) error { return nil }, Return: w.giveBack, Offered: func() map[string]shares.Units { return nil }, TTL: time.Minute,
		View: func(_ context.Context, look func(machine.View)) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			look(w.m.View())
			return nil
		},
		Count: func(do func(*tally.Tally)) {
			w.mu.Lock()
			defer w.mu.Unlock()
			do(&w.counted)
		}})
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.pool.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

// scan reads one value.
func scan[T any](w *world, sql string, args ...any) (v T) {
	w.t.Helper()
	if err := w.pool.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		w.t.Fatal(err)
	}
	return v
}

// take moves the outbox into the log, row by row, and folds. It returns its entries.
func (w *world) take() (all []entry.Entry) {
	w.t.Helper()
	rows, err := intake.NewOutbox(w.pool).Pending(w.t.Context(), 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range rows {
		if row.Err != nil {
			w.t.Fatal(row.Err)
		}
		all = append(all, row.Entries...)
	}
	w.exec("DELETE FROM outbox")
	if len(all) > 0 {
		w.say(all...)
	}
	w.fold()
	return all
}

// say applies entries that the machine of this day knows, and appends them.
func (w *world) say(entries ...entry.Entry) {
	w.t.Helper()
	for _, e := range entries {
		if err := w.m.Apply(e); err != nil && !strings.Contains(err.Error(), "no such entry") {
			w.t.Fatalf("%#v: %v", e, err)
		}
	}
	w.append(entries...)
}

// append appends a batch of entries that are applied.
func (w *world) append(entries ...entry.Entry) {
	w.t.Helper()
	w.now = w.now.Add(time.Microsecond)
	if now := time.Now(); now.After(w.now) { // orders have the clock of the database
		w.now = now
	}
	w.ids++
	id := func(n int64) (id entry.ID) {
		if n > 0 {
			id = entry.ID{0: 1, 14: byte(n >> 8), 15: byte(n)}
		}
		return id
	}
	if _, err := w.log.Append(w.t.Context(), entry.Batch{Seq: w.ids, ID: id(w.ids), After: id(w.ids - 1), By: 1, Entries: entries}); err != nil {
		w.t.Fatal(err)
	}
}

// fold makes the tables, with a batch behind what happened.
func (w *world) fold() {
	w.t.Helper()
	w.append(entry.Tick{Now: w.now})
	for {
		r, err := w.folder.Fold(w.t.Context(), 1000)
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Batches == 0 {
			return
		}
	}
}

func (w *world) adopt(change func(*shares.Version)) {
	w.t.Helper()
	w.site.Number++
	change(&w.site)
	v := w.site
	w.say(entry.Adopted{Number: v.Number, Site: &v})
}

// replan changes the plan of a share.
func (w *world) replan(path string, change func(*shares.Plan)) {
	w.adopt(func(v *shares.Version) {
		tree := *v.Tree
		tree.Nodes = append([]shares.Node{}, tree.Nodes...)
		i, _ := tree.ByPath(path)
		change(&tree.Nodes[i].Plan)
		v.Tree = &tree
	})
}

func (w *world) share(path string) shares.ShareID {
	w.t.Helper()
	i, ok := w.site.Tree.ByPath(path)
	if !ok {
		w.t.Fatalf("no share %s", path)
	}
	return w.site.Tree.Nodes[i].ID
}

func (w *world) path(id shares.ShareID) string {
	i, _ := w.site.Tree.ByID(id)
	return w.site.Tree.Nodes[i].Path
}

// shape is that of requirements.
func (w *world) shape(need job.Requirements) (id int32) {
	w.t.Helper()
	need.Cores = max(1, need.Cores)
	err := pgx.BeginFunc(w.t.Context(), w.pool, func(tx pgx.Tx) (err error) {
		id, err = intake.Intern(w.t.Context(), tx, need)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.take()
	return id
}

// enqueue makes n jobs of a share with so many attempts, and returns the first.
func (w *world) enqueue(share string, n, attempts int, need job.Requirements) int64 {
	w.t.Helper()
	w.tasks++
	e := entry.Enqueued{Task: w.tasks, Share: w.share(share), Shape: w.shape(need), Low: w.next, High: w.next + int64(n) - 1, Attempt: 1, User: "ann"}
	w.next += int64(n)
	w.say(e)
	w.exec("INSERT INTO job_blocks (low, high, task_id, share_id, shape_id, priority, max_attempts, again, made_at) VALUES ($1, $2, $3, $4, $5, 0, $6, false, now() - interval '1 hour')",
		e.Low, e.High, e.Task, int32(e.Share), e.Shape, attempts)
	w.exec("INSERT INTO payloads (task_id, command, env, matrix) VALUES ($1, '{}', '{}', '{}')", e.Task)
	return e.Low
}

// pull is a lease of the next job at a queue; false: there is none.
func (w *world) pull(queue string) (machine.Lease, bool) {
	w.t.Helper()
	q, _ := w.m.Queue(queue)
	d := w.m.Decide(machine.Pull{Queue: q.ID, Slot: job.Slot{Cores: 1}, Most: 1, Pilot: "p", Node: "n", Nonce: w.ids + 1, Until: w.m.Now()})
	if d.Verdict != machine.Given {
		return machine.Lease{}, false
	}
	w.append(d.Entries...)
	l, _ := w.m.Lease(d.Entries[len(d.Entries)-1].(entry.Granted).Job)
	w.leases[l.Job] = l
	return l, true
}

// must is pull for a job that has to be there.
func (w *world) must(queue string) machine.Lease {
	w.t.Helper()
	l, ok := w.pull(queue)
	if !ok {
		w.t.Fatalf("no job at %s", queue)
	}
	return l
}

// end ends a lease as the leader does, and says what became of the job.
func (w *world) end(l machine.Lease, outcome entry.Outcome, message string) entry.Ended {
	w.t.Helper()
	l, ok := w.m.Lease(l.Job)
	if !ok {
		w.t.Fatalf("job %d has no lease", l.Job)
	}
	e := w.rules.Decide(l, entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: outcome}, false)
	w.say(e)
	delete(w.leases, l.Job)
	w.exec("INSERT INTO attempt_texts (job_id, attempt, ended_on, reason) VALUES ($1, $2, ($3::timestamptz AT TIME ZONE 'UTC')::date, $4)", l.Job, l.Attempt, w.now, message)
	return e
}

// giveBack is Config.Return.
func (w *world) giveBack(_ context.Context, all []fold.Fence) (n int, err error) {
	for _, f := range all {
		if l, ok := w.m.Lease(f.Job); ok && l.Attempt == f.Attempt && l.Nonce == f.Nonce {
			w.end(l, entry.Returned, "")
			n++
		}
	}
	return n, nil
}

// held is how many jobs each share holds.
func (w *world) held() map[string]int {
	held := map[string]int{}
	for h := range w.m.View().Held() {
		held[w.path(h.Share)] += int(h.Jobs)
	}
	for path, n := range held {
		if n == 0 {
			delete(held, path)
		}
	}
	return held
}
