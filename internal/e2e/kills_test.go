package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// Terms of the play: short leases, so that those of vanished pilots come back while it lasts.
const (
	leaseFirst = 3 * time.Second
	leaseTTL   = 5 * time.Second
	leaseRenew = time.Second

	slotCores  = 4
	testMax    = 6 // units of the share Test
	smallSlots = 6 // cores of the queue SMALL
)

var killsSite = fmt.Sprintf(`
shares:
  - {name: Prod, weight: 70, children: [{name: MC, weight: 50}, {name: Rep, weight: 30}, {name: Val, weight: 20}]}
  - {name: Ana, weight: 25, children: [{name: User, weight: 80}, {name: Grp, weight: 20}]}
  - {name: Test, weight: 5, max: %d}
on_no_match: reject
queues:
  - {name: BIG}
  - {name: SMALL, slots: %d}
`, testMax, smallSlots)

// work is one task of the play; part is its share of all jobs, in thousandths.
type work struct {
	share, user, kind string
	priority, part    int
	cores, attempts   int
	queues            []string
	resources         map[string]int64
	claimed           string
}

// coresOf is 1 unless it says more.
func (w work) coresOf() int { return max(1, w.cores) }

func (w work) runsAt(queue string) bool {
	return len(w.queues) == 0 || slices.Contains(w.queues, queue)
}

// plan is what is submitted at once, and late what follows, one after the other, when all of that is done and the
// pilots are idle.
var plan = []work{
	{share: "Prod/MC", user: "alice", kind: "ok", priority: 900, part: 300},
	{share: "Prod/MC", user: "bob", kind: "flaky", priority: 100, part: 100},
	{share: "Prod/Rep", user: "carol", kind: "flaky", priority: 500, part: 150},
	{share: "Prod/Val", user: "carol", kind: "ok", priority: 500, part: 50, queues: []string{"SMALL"}},
	{share: "Ana/User", user: "dave", kind: "ok", part: 120},
	{share: "Ana/User", user: "erin", kind: "ok", priority: 10, part: 80, cores: 2},
	{share: "Ana/User", user: "mallory", kind: "bad", part: 6, attempts: 3},
	{share: "Ana/Grp", user: "frank", kind: "flaky", part: 60},
	{share: "Ana/Grp", user: "frank", kind: "slow", priority: 50, part: 2},
	{share: "Test", user: "grace", kind: "ok", part: 32},
}

var late = []work{
	{share: "Prod/Rep", user: "carol", kind: "flaky", part: 50},
	{share: "Ana/Grp", user: "heidi", kind: "ok", part: 10, cores: 4},
	{share: "Test", user: "grace", kind: "ok", part: 10},
	{share: "Prod/Val", user: "ivan", kind: "ok", part: 10, queues: []string{"SMALL"}},
	{share: "Prod/MC", user: "judy", kind: "ok", part: 10},
	{share: "Ana/User", user: "mike", kind: "ok", part: 10, cores: 2},
}

// fleet is the daemons that pilots know.
type fleet struct {
	mu   sync.Mutex
	list []*daemon
}

func (f *fleet) add(d *daemon) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, d)
}

func (f *fleet) oldest() *daemon {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list[0]
}

func (f *fleet) drop(d *daemon) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.DeleteFunc(f.list, func(e *daemon) bool { return e == d })
}

func (f *fleet) any(rng *rand.Rand) *client.Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list[rng.IntN(len(f.list))].client
}

// storm is one play.
type storm struct {
	t         *testing.T
	seed      uint64
	jobs      int
	mayVanish int
	pace      int  // a job takes less than so many milliseconds; 0: four
	doubtful  bool // requests may be said twice on their way, so that an answer is that of a repeat
	leaps     bool // the database's clock is set, so that its times say nothing of order
	lost      unrecorded
	dsn       string
	cluster   *pg.Cluster
	fleet     fleet
	history   history
	work      sync.WaitGroup // pilots, and those that come back

	progress atomic.Int64 // ends that were recorded
	repeats  atomic.Int64 // calls that were said again
	vanished atomic.Int64
	away     atomic.Int64 // answers that a daemon cannot serve now: 503

	refusedWrongly int // "no jobs" while there were, known in the end

	mu    sync.Mutex
	no    []refusal
	odd   []string
	tasks map[int64]work
	total int
}

func (s *storm) refused(r refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.no = append(s.no, r)
}

// oddity notes an answer that should not be.
func (s *storm) oddity(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.odd = append(s.odd, what); len(s.odd) <= 10 {
		s.t.Error(what)
	}
}

// A thousand jobs, or ten with DIVVY_LONG, through three daemons. Two are killed on the way, one is frozen and taken for dead, one is stopped
// in order; the postmaster is killed.
func TestKills(t *testing.T) {
	s := &storm{t: t, seed: seedOf(t), jobs: min(pgtest.Draws(4000), 10_000), mayVanish: min(pgtest.Draws(40), 40), tasks: map[int64]work{}}
	pilots := min(pgtest.Draws(64), 32)
	before := goleak.IgnoreCurrent()
	t.Run("storm", func(t *testing.T) { s.t = t; s.play(t, pilots) })
	goleak.VerifyNone(t, before)
}

// seedOf is the seed of random choices: a new one, or that of DIVVY_E2E_SEED.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	if v := os.Getenv("DIVVY_E2E_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("DIVVY_E2E_SEED=%d", seed)
	return seed
}

func (s *storm) play(t *testing.T, pilots int) {
	s.database(t)
	for range 3 {
		s.launch(t)
	}
	apply(t, s.fleet.oldest().client, killsSite)
	began := time.Now()
	audit := &auditor{dsn: s.dsn}
	watch, unwatch := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { audit.run(watch) })

	ctx, over := context.WithTimeout(t.Context(), 3*time.Minute)
	defer over()
	s.submit(t, plan)
	for n := range pilots {
		s.work.Go(func() { s.pilots(ctx, n) })
	}
	s.trouble(t)
	s.awaitTasks(t)
	t.Logf("%d jobs are over after %v", s.total, time.Since(began).Round(time.Millisecond))
	for i, w := range late {
		if i == len(late)/2 {
			s.kill(t) // while pilots wait for work
		}
		s.submit(t, []work{w})
		s.awaitTasks(t)
	}
	t.Logf("%d jobs are over after %v", s.total, time.Since(began).Round(time.Millisecond))
	over()
	s.work.Wait()
	folded(t, s.dsn)
	for _, d := range s.fleet.list {
		if !d.over() {
			d.stops(t)
		}
	}
	unwatch()
	watching.Wait()
	s.verdict(t, audit)
}

// database starts a cluster that the test may kill.
func (s *storm) database(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster, err := pg.StartCluster(ctx, pg.ClusterConfig{Ephemeral: true, NoFsync: true, Log: slog.New(slog.DiscardHandler),
		Settings: map[string]string{"shared_buffers": "128MB"}})
	if err != nil && testing.Short() {
		t.Skipf("SKIPPED, -short and no PostgreSQL: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, cluster)
	s.cluster, s.dsn = cluster, cluster.DSN()
}

func (s *storm) launch(t *testing.T) {
	t.Helper()
	s.fleet.add(serve(t, s.dsn, "--lease-first", leaseFirst.String(), "--lease-ttl", leaseTTL.String(),
		"--lease-renew", leaseRenew.String(), "--connections", "10"))
}

// submit hands tasks in, each until it is taken; the key keeps a repeat from making a second one.
func (s *storm) submit(t *testing.T, tasks []work) {
	t.Helper()
	rng := rand.New(rand.NewPCG(s.seed, 1e9))
	for i, w := range tasks {
		n := max(1, s.jobs*w.part/1000)
		written := wire.TaskSpec{Name: fmt.Sprintf("%s %d", w.kind, i), User: w.user, Share: w.share, Priority: w.priority,
			Count: int64(n), Command: []string{"job", w.kind, "{{.Index}}"}, MaxAttempts: 25,
			Requirements: wire.TaskRequirements{Cores: w.cores}, Queues: w.queues, Resources: w.resources}
		if w.attempts > 0 {
			written.MaxAttempts = w.attempts
		}
		if w.claimed != "" { // a resource, of which all jobs share one unit
			written.Count, written.ClaimTemplates = 0, []wire.TaskClaimTemplate{{Name: "one", Resources: map[string]int64{w.claimed: 1}}}
			written.Roles = []wire.TaskMember{{Role: "member", Count: n, Sharing: []wire.TaskSharing{{Template: "one", Scope: "all"}}}}
		}
		key := fmt.Sprint(s.seed, " ", w.share, " ", w.user, " ", w.kind, " ", w.part)
		eventually(t, time.Minute, "the task is taken", func() bool {
			task, err := s.fleet.any(rng).Tasks().Submit(t.Context(), written, key)
			if err != nil && !client.IsUnavailable(err) {
				t.Fatal(err)
			}
			s.tasks[task.ID] = w
			return err == nil
		})
		s.total += n
	}
	delete(s.tasks, 0)
}

// reach waits until so many thousandths of the planned jobs have ended.
func (s *storm) reach(t *testing.T, part int) {
	t.Helper()
	eventually(t, 90*time.Second, fmt.Sprintf("%d ‰ of the jobs", part), func() bool { return int(s.progress.Load()) >= s.total*part/1000 })
}

// kill ends the daemon that leads with SIGKILL. Pilots that do not know better go on asking it.
func (s *storm) kill(t *testing.T) *daemon {
	t.Helper()
	victim := s.leader(t)
	if err := victim.end(t, syscall.SIGKILL); err == nil {
		t.Error("a killed daemon ended well")
	}
	t.Logf("%s, %d ends: daemon %d killed", clock(wall()), s.progress.Load(), victim.cmd.Process.Pid)
	return victim
}

// freeze stops the process of the daemon that leads until another one leads and leases have run out, and lets it go on. What it was about
// to grant must not happen any more; it follows.
func (s *storm) freeze(t *testing.T) {
	t.Helper()
	sleeper := s.leader(t)
	pid := sleeper.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.awaitOther(t, pid)
	if !pause(t.Context(), leaseTTL) {
		t.Fatal(t.Context().Err())
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %d ends: daemon %d was frozen for %v, and another one leads", clock(wall()), s.progress.Load(), pid, time.Since(began).Round(time.Millisecond))
}

// trouble is what goes wrong while the pilots work.
func (s *storm) trouble(t *testing.T) {
	s.reach(t, 150)
	victim := s.kill(t)

	s.reach(t, 300)
	s.fleet.drop(victim)
	s.launch(t)
	t.Logf("%s, %d ends: another daemon serves", clock(wall()), s.progress.Load())

	s.reach(t, 450)
	took := s.killPostmaster(t)
	t.Logf("%s, %d ends: postmaster killed; the database answered again after %v", clock(wall()), s.progress.Load(), took)

	s.reach(t, 600)
	s.freeze(t)

	s.reach(t, 750)
	leaver := s.fleet.oldest()
	leaver.stops(t)
	s.fleet.drop(leaver)
	t.Logf("%s, %d ends: daemon %d stopped in order", clock(wall()), s.progress.Load(), leaver.cmd.Process.Pid)
	s.launch(t)
}

// awaitTasks waits until every task that was submitted is over, as the daemons tell it.
func (s *storm) awaitTasks(t *testing.T) {
	t.Helper()
	rng := rand.New(rand.NewPCG(s.seed, 2e9))
	defer func() {
		if t.Failed() {
			s.unfinished(t)
		}
	}()
	for id, w := range s.tasks {
		var task wire.Task
		eventually(t, 90*time.Second, fmt.Sprintf("task %d is over", id), func() bool {
			var err error
			task, err = s.fleet.any(rng).Tasks().Get(t.Context(), id)
			if err != nil && !client.IsUnavailable(err) {
				t.Fatal(err)
			}
			return err == nil && task.EndedAt != nil
		})
		if j := task.Jobs; j.Finished+j.Failed != j.Total || w.kind == "bad" && j.Failed != j.Total || w.kind != "bad" && j.Failed > 0 {
			t.Errorf("task %d (%s) is %s with %+v", id, w.kind, task.State, j)
		}
	}
}

// unfinished logs what is not over.
func (s *storm) unfinished(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		t.Log(err)
		return
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{
		"SELECT j::text FROM report.jobs j WHERE ended_at IS NULL ORDER BY job_id LIMIT 10", "SELECT l::text FROM report.leases l ORDER BY job_id LIMIT 10",
		"SELECT t::text FROM report.tasks t WHERE ended_at IS NULL", "SELECT f::text FROM report.freshness f",
		"SELECT e::text FROM report.ledger e WHERE job IN (SELECT job_id FROM report.jobs WHERE ended_at IS NULL ORDER BY job_id LIMIT 2) ORDER BY seq, entry",
		"SELECT o::text FROM outbox o ORDER BY id LIMIT 10", "SELECT r::text FROM retries r LIMIT 10", "SELECT j::text FROM judged j",
	} {
		rows, _ := conn.Query(ctx, sql)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		t.Logf("%s: %v\n%s", sql, err, strings.Join(lines, "\n"))
	}
}

// verdict looks at all that happened.
func (s *storm) verdict(t *testing.T, audit *auditor) {
	if err := audit.once(t.Context()); err != nil {
		t.Error(err)
	}
	for _, f := range audit.findings {
		t.Errorf("recount: %s", f)
	}
	t.Logf("recounted %d times; %d calls said again, %d pilots vanished", audit.audits, s.repeats.Load(), min(s.vanished.Load(), int64(s.mayVanish)))
	r := readRecord(t, s.dsn)
	t.Logf("ended: %v", r.account(t, s.total))
	seen := r.complete(s.history.list())
	if s.leaps { // what it noted may have happened at any time
		for i := range seen {
			if v := seen[i].verb; v == unheard || v == expired {
				seen[i].from = 0
			}
		}
	} else {
		r.patient(t, seen)
		s.refusedWrongly = s.refusals(t, r, s.tasks)
	}
	linearizable(t, seen)
}

// stopLater has a cluster stopped when the test is over.
func stopLater(t *testing.T, cluster *pg.Cluster) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := cluster.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}
