package dispatcher

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// toMake gives shares tasks with jobs that are not made yet, which the daemon knows of.
func (f *fixture) toMake(d *Dispatcher, paths ...string) {
	f.t.Helper()
	for _, path := range paths {
		f.exec(`INSERT INTO tasks (name, user_name, state, share_id, shape_id, spec, n_jobs)
			SELECT 't', 'ann', 'ready', $1, (SELECT shape_id FROM jobs LIMIT 1), '{}', 10`, int32(f.shareID(path)))
	}
	if err := d.readBacklog(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

func unmadeSite(t *testing.T, pause time.Duration) (f *fixture, d *Dispatcher, stop func()) {
	f = newFixture(t, []shares.Spec{node("A", 1), node("B", 1), node("C", 1)}, slots("q", 40))
	d, stop = f.runDaemon(Timing{Making: pause})
	f.enqueue(batch{share: "A", n: 20})
	if l := pull1(t, d, "q"); l.Share != "A" {
		t.Fatalf("a job of %s, want A", l.Share)
	}
	return f, d, stop
}

// A pull that meets a needier share whose jobs are not made yet waits for these, though others have jobs that are; one that
// got something before is answered with that. Explain says so.
func TestPullWaitsForJobsToBeMade(t *testing.T) {
	f, d, stop := unmadeSite(t, time.Hour)
	defer stop()
	a := f.enqueue(batch{share: "A", n: 1})
	f.toMake(d, "B")
	e, err := d.Explain(t.Context(), a[0])
	if err != nil || e.Gate != GateShare || !strings.Contains(e.Summary, "B comes first") || !strings.Contains(e.Summary, "jobs of B are not made yet") {
		t.Errorf("%s: %s, %v; want that jobs of B are waited for", e.Gate, e.Summary, err)
	}
	got := make(chan Lease)
	go func() { got <- pull1(t, d, "q") }()
	eventually(t, "the pull waits for jobs to be made", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.awaiting && d.line.classes["q"].blocked
	})
	f.enqueue(batch{share: "B", n: 1})
	if l := <-got; l.Share != "B" {
		t.Errorf("a job of %s, want B", l.Share)
	}
	reply, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 8}, Max: 8})
	if err != nil || len(reply.Leases) != 1 || reply.Leases[0].Share != "A" {
		t.Errorf("%+v, %v; want the one job of A before the next of B", reply.Leases, err)
	}
}

// Where nobody makes jobs pulls pass those who have none, all at once, until somebody makes some; and a group that is not
// made although others are is passed for good.
func TestPullPassesJobsThatNobodyMakes(t *testing.T) {
	f, d, stop := unmadeSite(t, 20*time.Millisecond)
	defer stop()
	f.toMake(d, "B", "C")
	for range 3 {
		if l := pull1(t, d, "q"); l.Share != "A" {
			t.Fatalf("a job of %s, want A", l.Share)
		}
	}
	if n := testutil.ToFloat64(d.metrics.passed); n != 2 {
		t.Errorf("%v shares passed, want B and C once each", n)
	}
	f.enqueue(batch{share: "C", n: 1})
	if l := pull1(t, d, "q"); l.Share != "C" {
		t.Errorf("a job of %s, want C", l.Share)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	groupOf := func(path string) *group {
		leaf, _ := d.state.version.Tree.ByPath(path)
		return d.state.leaves[leaf].groups[0]
	}
	if d.state.made(); !groupOf("B").unmade() || len(d.state.making.passed) != 0 {
		t.Error("B is not waited for though somebody makes jobs")
	}
	d.state.making.pause = time.Hour
	ago := func(hours time.Duration) time.Time { return time.Now().Add(-hours * time.Hour) }
	b, n := groupOf("B"), newNeeds(0)
	for _, c := range []struct {
		until, asked, met time.Time // of the pull, of B
		waits, restored   bool
	}{{ago(0), time.Time{}, ago(9), true, true}, {ago(4), ago(4), ago(1), true, true}, {ago(0), ago(9), ago(3), true, true},
		{ago(5), ago(4), ago(1), false, true}, {ago(-1), ago(5), ago(1), false, false}} {
		b.asked, b.met = c.asked, c.met
		if waits := d.state.patient(&pull{until: c.until}, b, n); waits != c.waits || b.unmade() != waits {
			t.Errorf("waits %v, want %+v", waits, c)
		}
		if d.state.made(); b.unmade() != c.restored {
			t.Errorf("when others were made B is waited for: %v, want %+v", b.unmade(), c)
		}
	}
}

// Jobs to come of a task with lots are of the shapes of its lots, never of its own, and all say so: pulls wait for one thing, from
// then on when they first did.
func TestBacklogOfLots(t *testing.T) {
	f, d, stop := unmadeSite(t, time.Hour)
	defer stop()
	var a, b int32
	err := pgx.BeginFunc(t.Context(), f.pool, func(tx pgx.Tx) (err error) {
		if a, err = Intern(t.Context(), tx, job.Requirements{Cores: 1, WalltimeS: 7200}); err == nil {
			b, err = Intern(t.Context(), tx, job.Requirements{Cores: 1, WalltimeS: 3600})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f.toMake(d, "B")
	f.exec("UPDATE tasks SET lots = 2, n_jobs = 24, n_pieces = 22, quota = 30")
	f.exec("INSERT INTO lots (task_id, lot, n, pieces_left, shape_ids) SELECT id, 0, 100, 15, $1 FROM tasks", []int32{a, b})
	f.exec("INSERT INTO lots (task_id, lot, n, pieces_left, shape_ids) SELECT id, 1, 100, 7, $1 FROM tasks", []int32{b})
	share, own := f.shareID("B"), int32(0)
	f.scan(&own, "SELECT shape_id FROM tasks")
	look := func() (g *group) {
		t.Helper()
		if err := d.readBacklog(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		for shape, want := range map[int32]int64{own: 0, a: 8 + 2, b: 8 + 7} { // each size in turn; two try again
			if w := d.state.window(windowKey{share, shape}); w.backlog != want {
				t.Errorf("%d jobs to come of shape %d, want %d", w.backlog, shape, want)
			}
		}
		return d.state.window(windowKey{share, a}).group
	}
	g := look()
	d.mu.Lock()
	waits := d.state.patient(&pull{until: time.Now()}, g, newNeeds(0))
	asked, since := g.asked, d.state.making.asked
	d.mu.Unlock()
	if _, err := d.Order(t.Context(), []Coming{{share, a, 17}, {share, b, 22}}); err != nil {
		t.Fatal(err)
	}
	look()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !waits || !g.asked.Equal(asked) || !d.state.making.asked.Equal(since) {
		t.Errorf("waits: %v; what is waited for is another thing after Order", waits)
	}
}

// Order is that of the grants to come, with shares that it did not know of.
func TestOrderOfMaking(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 3), node("P", 7, node("x", 2), node("y", 1)), node("Z", 50)}, slots("q", 40))
	d := f.daemon()
	f.enqueue(batch{share: "Z", n: 1})
	f.toMake(d)
	var shape int32
	f.scan(&shape, "SELECT shape_id FROM jobs")
	var coming []Coming
	for _, path := range []string{"A", "B", "P/x", "P/y", "Z"} {
		coming = append(coming, Coming{f.shareID(path), shape, 100})
	}
	got, err := d.Order(t.Context(), coming)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, id := range got {
		paths = append(paths, d.state.pathOf(id))
	}
	if s := strings.Join(paths, " "); s != "P/x B A P/y" { // Z has a ready job
		t.Error(s)
	}
}

// No pool waits until all that another one lacks is made.
func TestOrderOfPools(t *testing.T) {
	q, g := slots("q", 40), slots("g", 40)
	q.AllowShares, g.AllowShares, g.Pool = []string{"A", "B", "C"}, []string{"D", "E"}, "gpu"
	f := newFixture(t, []shares.Spec{node("A", 3), node("B", 2), node("C", 1), node("D", 2), node("E", 1), node("Z", 1)}, q, g)
	d := f.daemon()
	f.enqueue(batch{share: "Z", n: 1})
	f.toMake(d, "A", "B", "C", "D", "E")
	order := func() (paths string) {
		t.Helper()
		got, err := d.Order(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range got {
			paths += d.state.pathOf(id)
		}
		return paths
	}
	if got := order(); got != "ADBEC" {
		t.Errorf("order %s, want ADBEC", got)
	}
	f.exec("UPDATE tasks SET n_generated = n_jobs WHERE share_id = $1", int32(f.shareID("E")))
	f.toMake(d)
	if got := order(); got != "ADBC" {
		t.Errorf("order %s, want ADBC", got)
	}
}
