package dispatcher

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// place is a database with a share, a queue and a task, and daemons over it that others write for.
type place struct {
	t    *testing.T
	db   *pgxpool.Pool
	site shares.Version

	metrics *prometheus.Registry // nil: none

	mu  sync.Mutex
	all map[int64]*worker
}

// worker is a daemon whose steps run.
type worker struct {
	*Dispatcher
	kill func()
}

func newPlace(t *testing.T) *place {
	p := &place{t: t, db: pgtest.Open(t), all: map[int64]*worker{}}
	tree, err := shares.Build([]shares.Spec{{Name: "a", Plan: shares.DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(string) shares.ShareID { return 1 })
	slots := 100
	p.site = shares.Version{Number: 1, Tree: tree, Resources: []shares.Resource{{Name: "tape", Capacity: 10, Settle: time.Minute, ExternalExpires: time.Hour}},
		Queues: []shares.Queue{{ID: 1, Name: "q", Pool: "main", State: shares.Online, Slots: &slots, CorePowerMilli: 1000, Cores: 8}}}
	p.exec(`INSERT INTO shares (id, name, path, position, leaf, weight) OVERRIDING SYSTEM VALUE VALUES (1, 'a', 'a', 0, true, 1)`)
	p.exec(`INSERT INTO queues (id, name, core_power_milli, position) OVERRIDING SYSTEM VALUE VALUES (1, 'q', 1000, 0)`)
	p.exec(`INSERT INTO tasks (id, name, user_name, state, share_id, spec) OVERRIDING SYSTEM VALUE VALUES (1, 't', 'u', 'running', 1, '{}')`)
	if _, err := intake.Extend(t.Context(), p.db, 1000, 100_000); err != nil {
		t.Fatal(err)
	}
	p.in(func(tx pgx.Tx) error { return intake.Adopt(t.Context(), tx, 1) })
	p.in(func(tx pgx.Tx) error {
		return intake.AddPayload(t.Context(), tx, job.Payload{Task: 1, Command: []string{"run"}})
	})
	return p
}

func (p *place) exec(sql string, args ...any) {
	p.t.Helper()
	if _, err := p.db.Exec(p.t.Context(), sql, args...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) in(do func(pgx.Tx) error) {
	p.t.Helper()
	if err := pg.InTx(p.t.Context(), p.db, do); err != nil {
		p.t.Fatal(err)
	}
}

// start starts a daemon and its steps, all of them every twentieth of a second.
func (p *place) start(no int64) *worker {
	p.t.Helper()
	var metrics prometheus.Registerer
	if p.metrics != nil {
		metrics = p.metrics
	}
	d, err := Open(p.t.Context(), Config{Pool: p.db, Metrics: metrics, Outbox: intake.NewOutbox(p.db), Daemon: no, Timing: lease.Timing{Silence: 400 * time.Millisecond, Fresh: 200 * time.Millisecond,
		Tick: 50 * time.Millisecond, Poll: 50 * time.Millisecond, Gather: 20 * time.Millisecond},
		Site: func(context.Context, int64) (shares.Version, error) { return p.site, nil },
		Send: func(to int64, m lease.Message) {
			p.mu.Lock()
			other := p.all[to]
			p.mu.Unlock()
			if other != nil {
				other.Receive(no, m)
			}
		}})
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { d.Run(ctx) })
	for _, s := range d.Steps() {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrUnavailable) {
					p.t.Errorf("%s of %d: %v", s.Name, no, err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	var once sync.Once
	w := &worker{Dispatcher: d, kill: func() {
		once.Do(func() {
			p.mu.Lock()
			delete(p.all, no)
			p.mu.Unlock()
			cancel()
			all.Wait()
			p.introduce()
		})
	}}
	p.mu.Lock()
	p.all[no] = w
	p.mu.Unlock()
	p.introduce()
	p.t.Cleanup(w.kill)
	waitFor(p.t, func() bool { return d.site.now.Load() != nil })
	return w
}

func (p *place) introduce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for no, w := range p.all {
		var others []int64
		for other := range p.all {
			if other != no {
				others = append(others, other)
			}
		}
		w.Reach(others)
	}
}

// jobs enqueues so many, which hold the claim of a name if there is one.
func (p *place) jobs(n int, claim string) (ids []int64) {
	p.t.Helper()
	ctx := p.t.Context()
	p.in(func(tx pgx.Tx) error {
		need := job.Requirements{Cores: 1}
		var claims []int64
		if claim != "" {
			made, err := intake.MakeClaims(ctx, tx, 1, []intake.NewClaim{{Key: claim, Template: shares.ClaimTemplate{Name: claim}, Outside: true, Members: n, Made: n}})
			if err != nil {
				return err
			}
			claims = made
		}
		shape, err := intake.Intern(ctx, tx, need)
		if err != nil {
			return err
		}
		var all []intake.NewJob
		for i := range n {
			all = append(all, intake.NewJob{Task: 1, Share: 1, Shape: shape, MaxAttempts: 3, Index: int64(i), Inputs: []string{"in"}, Claims: claims})
		}
		ids, err = intake.Enqueue(ctx, tx, all)
		return err
	})
	return ids
}

// pull is one slot's request, at a node.
func (w *worker) pull(t *testing.T, node string, wait float64) (Lease, error) {
	reply, err := w.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Node: node, Slot: job.Slot{Cores: 1}, WaitS: wait})
	if err != nil {
		return Lease{}, err
	}
	return reply.Leases[0], nil
}

// must pulls until there is a job.
func (w *worker) must(t *testing.T, node string) (l Lease) {
	t.Helper()
	waitFor(t, func() (ok bool) {
		var err error
		l, err = w.pull(t, node, 1)
		return err == nil
	})
	return l
}

// settle folds all that there is, and holds the tables against the log.
func (p *place) settle() {
	p.t.Helper()
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.all))
	p.mu.Unlock()
	for _, w := range all {
		w.kill()
	}
	last := p.start(99) // it begins with the tables
	waitFor(p.t, last.eye.leads)
	var refused string
	_ = p.db.QueryRow(p.t.Context(), "SELECT coalesce(string_agg(refused, '; '), '') FROM outbox").Scan(&refused)
	if refused != "" {
		p.t.Errorf("rows were refused: %s", refused)
	}
	last.kill()
	for n := 1; n > 0; {
		var err error
		if n, err = last.Fold(p.t.Context(), 1000); err != nil {
			p.t.Fatal(err)
		}
	}
	wrong, err := last.folder.Compare(p.t.Context())
	if err != nil || len(wrong) > 0 {
		p.t.Errorf("%v, %d differences between tables and log: %v", err, len(wrong), wrong[:min(len(wrong), 5)])
	}
}

// People make a claim that jobs wait for, and delete it while one holds it.
func TestClaimsOfPeople(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	ctx := t.Context()
	if _, err := w.CreateClaim(ctx, OutsideClaim{Name: "disk", Queue: "r", Node: "n"}); !errors.Is(err, ErrUnknownQueue) {
		t.Error(err)
	}
	ids := p.jobs(3, "disk")
	disk := OutsideClaim{Name: "disk", Queue: "q", Node: "n1", Devices: []string{"gpu:0"}, MaxSharers: 2}
	var made explain.ClaimStanding
	for range 2 { // the same again changes nothing
		var err error
		if made, err = w.CreateClaim(ctx, disk); err != nil || made.State != "bound" || made.Queue != "q" || made.Node != "n1" || made.Key != "disk" {
			t.Fatalf("%+v, %v", made, err)
		}
	}
	if _, err := w.CreateClaim(ctx, OutsideClaim{Name: "disk", Queue: "q", Node: "n2"}); !errors.Is(err, ErrClaimExists) {
		t.Error(err)
	}
	if _, err := w.CreateClaim(ctx, OutsideClaim{Name: "other", Queue: "q", Node: "n1", Devices: []string{"gpu:0"}}); !errors.Is(err, ErrDeviceTaken) {
		t.Error(err)
	}
	if l, err := w.pull(t, "n2", 0); !errors.Is(err, ErrNoJobs) {
		t.Errorf("%+v, %v: a job of the claim is elsewhere", l, err)
	}
	l := w.must(t, "n1")
	if _, err := w.DeleteClaim(ctx, "disk", false); !errors.Is(err, ErrClaimHeld) {
		t.Error(err)
	}
	waitFor(t, func() bool { // the tables have the names
		one, err := w.Claim(ctx, made.ID)
		if err != nil {
			t.Fatal(err)
		}
		return one.Sharers == 1 && len(one.Holders) == 1 && one.Holders[0].Job == l.Job && one.Holders[0].Name == "in" && one.Waiting == 2 && len(one.Waiters) == 2 && !one.CreatedAt.IsZero()
	})
	if list, err := w.Claims(ctx, ClaimFilter{Node: "n1"}); err != nil || len(list) != 1 || list[0].ID != made.ID {
		t.Errorf("%+v, %v", list, err)
	}
	gone, err := w.DeleteClaim(ctx, "disk", true)
	if err != nil || gone.State != "draining" {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := w.DeleteClaim(ctx, "disk", true); !errors.Is(err, ErrNoClaim) {
		t.Error(err)
	}
	if l, err := w.pull(t, "n1", 0); !errors.Is(err, ErrNoJobs) {
		t.Errorf("%+v, %v: the claim drains", l, err)
	}
	if v, err := w.Finish(ctx, FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Finished}}}); err != nil || v.Verdicts[0].Verdict != Recorded {
		t.Errorf("%+v, %v", v, err)
	}
	waitFor(t, func() bool { // people make it anew, and the others run
		_, err := w.CreateClaim(ctx, disk)
		return err == nil
	})
	for _, id := range ids[1:] {
		if got := w.must(t, "n1"); got.Job != id {
			t.Errorf("job %d, want %d", got.Job, id)
		}
	}
	p.settle()
}

// A kill is told to the pilot of a task that runs, and ends those that do not; nobody tries the job again.
func TestKill(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	ctx := t.Context()
	ids := p.jobs(4, "")
	l := w.must(t, "n")
	killed, err := w.KillJobs(ctx, append([]int64{1 << 40}, ids[:3]...))
	if err != nil || !slices.Equal(killed, ids[:3]) {
		t.Fatalf("killed %v, %v", killed, err)
	}
	r, err := w.Renew(ctx, RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: l.Lease, State: Running}}})
	if err != nil || len(r.Cancel) != 1 || r.Cancel[0].Reason != "killed" || r.Cancel[0].GraceS != 10 {
		t.Errorf("%+v, %v", r, err)
	}
	if v, err := w.Finish(ctx, FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Failed}}}); err != nil || v.Verdicts[0].JobState != "cancelled" {
		t.Errorf("%+v, %v", v, err)
	}
	if got := w.must(t, "n"); got.Job != ids[3] {
		t.Errorf("job %d runs, want %d", got.Job, ids[3])
	}
	if again, err := w.KillJobs(ctx, ids[:3]); err != nil || len(again) > 0 { // though the tables may not have heard of it
		t.Errorf("killed again: %v, %v", again, err)
	}
	if state, err := w.KillJob(ctx, l.Job); !errors.Is(err, lookup.ErrNoJob) {
		t.Errorf("job %d is %s once more, %v", l.Job, state, err)
	}
	for id, want := range map[int64]string{ids[3]: "leased", p.jobs(1, "")[0]: "cancelled"} {
		if state, err := w.KillJob(ctx, id); state != want || err != nil {
			t.Errorf("job %d is %s then, %v; want %s", id, state, err, want)
		}
	}
	if made, granted := w.Totals(); made != 5 || granted != 2 {
		t.Errorf("made %d, granted %d", made, granted)
	}
	p.settle()
}

// A job that the tables still call leased is told cancelled by a daemon that cannot ask the leader.
func TestKillWithoutTheLeader(t *testing.T) {
	p := newPlace(t)
	w, second := p.start(1), p.start(2)
	ctx := t.Context()
	p.jobs(1, "")
	l := w.must(t, "n")
	waitFor(t, func() bool { row, err := w.Reader.Job(ctx, l.Job); return err == nil && row.State == "leased" })
	w.folding.Lock() // the tables stay as they are
	defer w.folding.Unlock()
	if v, err := w.Finish(ctx, FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Failed}}}); err != nil || v.Verdicts[0].JobState != "ready" {
		t.Errorf("%+v, %v", v, err)
	}
	p.mu.Lock()
	delete(p.all, 1) // what the second one tells it is lost
	p.mu.Unlock()
	began := time.Now()
	if state, err := second.KillJob(ctx, l.Job); state != "cancelled" || err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("%s, %v after %s", state, err, time.Since(began))
	}
}

// Target slots hold until their time is over, without anybody's doing.
func TestTargetSlotsEnd(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	ctx := t.Context()
	p.jobs(3, "")
	if err := w.SetTargetSlots(ctx, TargetSlots{Queue: "q", Class: "none", Slots: 1}); err == nil {
		t.Error("a class that there is not")
	}
	if err := w.SetTargetSlots(ctx, TargetSlots{Queue: "q", Slots: 1, Until: time.Now().Add(2 * time.Second)}); err != nil {
		t.Fatal(err)
	}
	w.must(t, "n")
	if l, err := w.pull(t, "n", 0.1); !errors.Is(err, ErrNoJobs) {
		t.Errorf("%+v, %v beyond the limit", l, err)
	}
	w.must(t, "n")
	if err := w.SetTargetSlots(ctx, TargetSlots{Queue: "q", Slots: 2}); err != nil {
		t.Fatal(err)
	}
	if l, err := w.pull(t, "n", 0); !errors.Is(err, ErrNoJobs) {
		t.Errorf("%+v, %v beyond the limit", l, err)
	}
	if err := w.SetTargetSlots(ctx, TargetSlots{Queue: "q", Slots: -1}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pull(t, "n", 1); err != nil {
		t.Error(err)
	}
	p.settle()
}

// Logs of payloads and late words are kept, with the keys that they need; reports of servers are checked.
func TestWordsBeside(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	ctx := t.Context()
	p.jobs(1, "")
	l := w.must(t, "n")
	if err := w.KeepLog(ctx, LogKey(l.Lease), strings.Repeat("x", MaxPayloadLog)+"end\x00"); err != nil {
		t.Fatal(err)
	}
	if err := w.KeepLog(ctx, LogKey(l.Lease[:10]), "x"); !errors.Is(err, lookup.ErrNoAttempt) {
		t.Error(err)
	}
	if v, err := w.Finish(ctx, FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Finished}}}); err != nil || v.Verdicts[0].Verdict != Recorded {
		t.Fatal(v, err)
	}
	of := lookup.HeldJob{Job: l.Job, Attempt: 1}
	for i, want := range []bool{true, false} {
		if noted, err := w.Late(ctx, of, Result{Outcome: Failed, Message: "disk"}); err != nil || noted != want {
			t.Errorf("late word %d: %v, %v", i, noted, err)
		}
	}
	if noted, err := w.Late(ctx, of, Result{Outcome: Finished}); err != nil || noted {
		t.Errorf("it ended just so: %v, %v", noted, err)
	}
	if log, err := w.Reader.JobLog(ctx, l.Job, 1); err != nil || len(log) != MaxPayloadLog-1 || !strings.HasSuffix(log, "xend") {
		t.Errorf("a log of %d bytes, %v", len(log), err)
	}
	if err := w.ReportExternal(ctx, "tape", "", 10, 4); err != nil {
		t.Error(err)
	}
	if err := w.ReportExternal(ctx, "disk", "", 10, 4); !errors.Is(err, ErrUnknownResource) {
		t.Error(err)
	}
	var wrong *job.FieldError
	if err := w.ReportExternal(ctx, "tape", "q", 10, 4); !errors.As(err, &wrong) || wrong.Field != "queue" {
		t.Error(err)
	}
	p.settle()
}

// A daemon that starts goes by what the tables have of claims, paused tasks, waiting jobs and kills of jobs that run.
func TestStartKnowsVerbs(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	ctx := t.Context()
	ids := p.jobs(3, "disk")
	p.jobs(2, "")
	if _, err := w.CreateClaim(ctx, OutsideClaim{Name: "disk", Queue: "q", Node: "n1", MaxSharers: 1}); err != nil {
		t.Fatal(err)
	}
	held := w.must(t, "n1")
	if !slices.Contains(ids, held.Job) {
		t.Fatalf("job %d", held.Job)
	}
	waitFor(t, func() bool { row, err := w.Reader.Job(ctx, held.Job); return err == nil && row.State == "leased" })
	if _, err := w.KillJob(ctx, held.Job); err != nil {
		t.Fatal(err)
	}
	w.must(t, "n2")
	w.kill()
	for n := 1; n > 0; {
		var err error
		if n, err = w.Fold(ctx, 1000); err != nil {
			t.Fatal(err)
		}
	}
	next := p.start(2)
	waitFor(t, next.eye.leads)
	claims, err := next.Claims(ctx, ClaimFilter{})
	if err != nil || len(claims) != 1 || claims[0].State != "bound" || claims[0].Sharers != 1 {
		t.Errorf("%+v, %v", claims, err)
	}
	if l := next.must(t, "n1"); slices.Contains(ids, l.Job) {
		t.Errorf("job %d of a claim that is full", l.Job)
	}
	p.in(func(tx pgx.Tx) error { return intake.Pause(ctx, tx, 1) })
	if v, err := next.Finish(ctx, FinishRequest{Pilot: "p", Results: []Result{{Lease: held.Lease, Outcome: Failed}}}); err != nil || v.Verdicts[0].JobState != "cancelled" {
		t.Errorf("%+v, %v: it was killed", v, err)
	}
	waitFor(t, func() bool {
		var cancelled int64
		err := p.db.QueryRow(ctx, "SELECT coalesce(sum(cancelled), 0)::bigint FROM task_counts WHERE task = 1").Scan(&cancelled)
		return err == nil && cancelled == 1
	})
	next.kill()
	third := p.start(3)
	waitFor(t, third.eye.leads)
	if l, err := third.pull(t, "n1", 0.2); !errors.Is(err, ErrNoJobs) {
		t.Errorf("%+v, %v: the task is paused", l, err)
	}
	p.in(func(tx pgx.Tx) error { return intake.Resume(ctx, tx, 1) })
	if l := third.must(t, "n1"); !slices.Contains(ids, l.Job) {
		t.Errorf("job %d, want one of the claim", l.Job)
	}
	third.kill()
	p.settle()
}
