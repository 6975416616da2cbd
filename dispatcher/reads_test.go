package dispatcher

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/dispatcher/series"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// scene is a small site whose tables agree with it: shares A and B, queues q (4 slots) and r (offline), a resource of two units.
type scene struct {
	*Dispatcher
	t    *testing.T
	ids  []int64 // of task 1, ten jobs of share A, one core each
	wide []int64 // of task 2, two jobs of share B that no queue can run
	lic  []int64 // of task 3, three jobs of share B that each need a unit of lic
}

func newScene(t *testing.T) *scene {
	t.Helper()
	db, ctx := pgtest.Open(t), t.Context()
	exec := func(sql string) {
		t.Helper()
		if _, err := db.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO site_versions (version, applied_by, source, share_ids, queue_ids) VALUES (1, 'test', '', '{}', '{}')`)
	exec(`INSERT INTO shares (id, name, path, position, leaf, weight) OVERRIDING SYSTEM VALUE VALUES (1, 'A', 'A', 0, true, 1), (2, 'B', 'B', 1, true, 1)`)
	exec(`INSERT INTO queues (id, name, position) OVERRIDING SYSTEM VALUE VALUES (1, 'q', 0), (2, 'r', 1)`)
	exec(`INSERT INTO tasks (id, name, user_name, state, share_id, spec, n_jobs, n_generated) OVERRIDING SYSTEM VALUE VALUES
		(1, 't1', 'ann', 'running', 1, '{}', 10, 10), (2, 't2', 'bob', 'running', 2, '{}', 2, 2), (3, 't3', 'bob', 'running', 2, '{}', 3, 3)`)
	exec(`INSERT INTO tasks (id, name, user_name, state, share_id, shape_id, spec, n_jobs) OVERRIDING SYSTEM VALUE VALUES (4, 't4', 'ann', 'running', 1, 1, '{}', 7)`)
	if _, err := intake.Extend(ctx, db, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	tree, err := shares.Build([]shares.Spec{{Name: "A", Plan: shares.DefaultPlan()}, {Name: "B", Plan: shares.DefaultPlan()}})
	if err != nil {
		t.Fatal(err)
	}
	tree.SetIDs(func(path string) shares.ShareID { return map[string]shares.ShareID{"A": 1, "B": 2}[path] })
	slots := 4
	site := shares.Version{Number: 1, Tree: tree, Resources: []shares.Resource{{Name: "lic", Capacity: 2}}, Queues: []shares.Queue{
		{ID: 1, Name: "q", Pool: "main", State: shares.Online, Slots: &slots, CorePowerMilli: 1000, Cores: 8},
		{ID: 2, Name: "r", Pool: "main", State: shares.Offline, Slots: &slots, CorePowerMilli: 1000, Cores: 8}}}
	s := &scene{t: t}
	if err := pg.InTx(ctx, db, func(tx pgx.Tx) error {
		if err := intake.Adopt(ctx, tx, 1); err != nil {
			return err
		}
		for task := range int64(3) {
			if err := intake.AddPayload(ctx, tx, job.Payload{Task: task + 1, Command: []string{"true"}}); err != nil {
				return err
			}
		}
		s.ids, s.wide, s.lic = s.made(tx, 1, 1, 10, job.Requirements{Cores: 1, Label: "prod"}), s.made(tx, 2, 2, 2, job.Requirements{Cores: 64}),
			s.made(tx, 3, 2, 3, job.Requirements{Cores: 1, Resources: map[string]int64{"lic": 1}, SharingID: "bob"})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	d, err := Open(ctx, Config{Pool: db, Outbox: intake.NewOutbox(db), Daemon: 7, End: lease.Retried(2), Site: func(context.Context, int64) (shares.Version, error) { return site, nil },
		Timing: lease.Timing{Silence: 300 * time.Millisecond, Fresh: 200 * time.Millisecond, Tick: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(running) }()
	t.Cleanup(func() { stop(); <-done })
	s.Dispatcher = d
	waitFor(t, func() bool { return d.site.current() != nil && s.outboxEmpty() })
	return s
}

func (s *scene) outboxEmpty() bool {
	var n int
	return s.cfg.Pool.QueryRow(s.t.Context(), "SELECT count(*) FROM outbox").Scan(&n) == nil && n == 0
}

// made makes jobs of a task.
func (s *scene) made(tx pgx.Tx, task int64, share shares.ShareID, n int, need job.Requirements) []int64 {
	s.t.Helper()
	shape, err := intake.Intern(s.t.Context(), tx, need)
	if err != nil {
		s.t.Fatal(err)
	}
	jobs := make([]intake.NewJob, n)
	for i := range jobs {
		jobs[i] = intake.NewJob{Task: task, Share: share, Shape: shape, MaxAttempts: 2, Index: int64(i)}
	}
	ids, err := intake.Enqueue(s.t.Context(), tx, jobs)
	if err != nil {
		s.t.Fatal(err)
	}
	return ids
}

// pulled is a lease of a slot of one core.
func (s *scene) pulled(label string) Lease {
	s.t.Helper()
	reply, err := s.Pull(s.t.Context(), PullRequest{Queue: "q", Pilot: "p" + label, Node: "n", Slot: job.Slot{Cores: 1}, WaitS: 5, Only: job.Only{Labels: []string{label}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return reply.Leases[0]
}

// folded brings the tables up to the log.
func (s *scene) folded() {
	s.t.Helper()
	for n := 1; n > 0; {
		var err error
		if n, err = s.Fold(s.t.Context(), 1000); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Every question has its answer, by the tables, the machine and the log.
func TestReads(t *testing.T) {
	s := newScene(t)
	ctx := t.Context()
	first, second, third := s.pulled("prod"), s.pulled("prod"), s.pulled("prod")
	if _, err := s.Renew(ctx, RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: first.Lease, State: Running, Usage: Usage{CPUSeconds: 2, MemoryMB: 9}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(ctx, FinishRequest{Pilot: "p", Results: []Result{{Lease: second.Lease, Outcome: Finished, LogTail: "bye"}, {Lease: third.Lease, Outcome: Failed, Message: "no"}}}); err != nil {
		t.Fatal(err)
	}
	s.folded()
	if err := s.Loaded(ctx); err != nil {
		t.Errorf("the state is read: %v", err)
	}
	t.Run("jobs", func(t *testing.T) { s.jobs(t, first, second, third) })
	t.Run("standings", s.standings)
	t.Run("lately", func(t *testing.T) { s.lateness(t, first) })
	t.Run("explain", func(t *testing.T) { s.explained(t, first, third) })
	t.Run("tasks", s.tasksOf)
	t.Run("resources", s.resources)
}

func (s *scene) jobs(t *testing.T, first, second, third Lease) {
	ctx := t.Context()
	j, err := s.Job(ctx, first.Job)
	if err != nil || j.State != "leased" || j.Share != "A" || len(j.Attempts) != 1 || j.Attempts[0].State != "running" || j.Attempts[0].Usage != (Usage{CPUSeconds: 2, MemoryMB: 9}) {
		t.Errorf("what its pilot said is of the leader: %+v, %v", j, err)
	}
	if j, err := s.Job(ctx, second.Job); err != nil || j.State != "finished" {
		t.Errorf("%+v, %v", j, err)
	}
	if j, err := s.Job(ctx, third.Job); err != nil || j.State != "ready" || j.Attempt != 2 {
		t.Errorf("a failed one is tried again: %+v, %v", j, err)
	}
	if j, err := s.Job(ctx, s.wide[0]); err != nil || j.Reason == "" {
		t.Errorf("why a ready job does not run: %+v, %v", j, err)
	}
	if log, err := s.JobLog(ctx, second.Job, 0); err != nil || log != "bye" {
		t.Errorf("%q, %v", log, err)
	}
	if _, err := s.Job(ctx, 1<<40); !errors.Is(err, lookup.ErrNoJob) {
		t.Error(err)
	}
	if list, err := s.Jobs(ctx, lookup.JobFilter{State: "leased"}); err != nil || len(list) != 1 || list[0].ID != first.Job {
		t.Errorf("%+v, %v", list, err)
	}
	if list, _, err := s.TaskJobs(ctx, lookup.JobFilter{Task: 1}); err != nil || len(list) != 10 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
	if list, _, err := s.LeasedJobs(ctx, lookup.JobFilter{Queue: "q"}); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := s.JobsByID(ctx, s.ids); err != nil || len(list) != 10 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
	if ids, err := s.JobIDs(ctx, lookup.JobChoice{Task: 1, Live: true, Limit: 100}); err != nil || len(ids) != 9 {
		t.Errorf("%v, %v", ids, err)
	}
	if held, err := s.Holdings(ctx, []lookup.HeldJob{{Job: first.Job, Attempt: 1}, {Job: second.Job, Attempt: 1}}); err != nil || held[0].Lease != first.Lease || held[1].Lease != "" || held[1].JobState != "finished" {
		t.Errorf("%+v, %v", held, err)
	}
	if queues, err := s.LeaseQueues(ctx, []string{first.Lease, second.Lease}); err != nil || len(queues) != 1 || queues[first.Lease] != "q" {
		t.Errorf("%v, %v", queues, err)
	}
	if meta, err := s.Metadata(ctx, 1, 0, 10); err != nil || len(meta) != 0 {
		t.Errorf("%v, %v", meta, err)
	}
	if ended, err := s.Ended(ctx, time.Hour); err != nil || len(ended) != 1 || ended[0].N != 1 || ended[0].State != "finished" || !slices.Equal(ended[0].Queues, []string{"q"}) {
		t.Errorf("%+v, %v", ended, err)
	}
}

func (s *scene) standings(t *testing.T) {
	st := s.Standing()
	if st.Version != 1 || len(st.Pools) != 1 || st.Pools[0].Capacity != 4 || st.Pools[0].Held != 1 {
		t.Fatalf("%+v", st)
	}
	if a := st.Pools[0].Shares[0]; a.Path != "A" || a.Held != 1 || a.HeldJobs != 1 || a.Ready != 8 {
		t.Errorf("%+v", a)
	}
	if out := s.Outlook(t.Context()); out.Pools[0].Shares[0].Waited == nil || out.Pools[0].Shares[0].AtTarget == nil {
		t.Errorf("waits of a share with ready jobs and units free: %+v", out.Pools[0].Shares[0])
	}
	queues := s.Queues()
	if len(queues) != 2 || queues[0].Name != "q" || queues[0].HeldCores != 1 || queues[0].Ready != 11 || queues[0].Pilots != 1 || queues[0].Waiting != 0 {
		t.Errorf("%+v", queues)
	}
	var ready, leased int64
	for _, c := range s.Counts() {
		switch c.State {
		case "ready":
			ready += c.N
		case "leased":
			leased += c.N
		}
	}
	if ready != 13 || leased != 1 {
		t.Errorf("%d ready, %d leased", ready, leased)
	}
	var stocked int64
	for _, k := range s.Stock() {
		stocked += k.Ready
	}
	if stocked != 13 {
		t.Errorf("%d ready in stock", stocked)
	}
	if stock := s.ShareStock("A", ""); len(stock) != 1 || len(stock[0].Sets) != 1 || stock[0].Sets[0].Ready != 8 || !slices.Equal(stock[0].Sets[0].Queues, []string{"q"}) && len(stock[0].Sets[0].Queues) != 2 {
		t.Errorf("%+v", stock)
	}
	for _, sql := range []string{"CREATE TABLE share_samples_test PARTITION OF share_samples DEFAULT",
		"INSERT INTO share_samples (at, pool, share_id, target, held, ready) SELECT now(), 'main', 1, 2, 1000, 8"} {
		if _, err := s.cfg.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if course, err := s.ShareSeries(t.Context(), series.Request{Share: 1, Pool: "main", Span: time.Hour}); err != nil || len(course.Points) != 1 || course.Points[0].Target != 2 || course.Points[0].Held != 1 {
		t.Errorf("%+v, %v", course, err)
	}
}

func (s *scene) lateness(t *testing.T, first Lease) {
	late := s.Lately(replay.DecidedFilter{})
	if late.Daemon != 7 || len(late.Items) == 0 || late.Since == nil || late.Items[len(late.Items)-1].Job != first.Job || late.Items[0].Share != "A" || late.Items[0].Queue != "q" {
		t.Errorf("%+v", late)
	}
	all := s.QueuesLately("")
	if len(all) != 2 || all[0].Pulls != 3 || all[0].Ended != 2 || all[0].Failed != 1 || all[0].Failure != 0.5 || len(all[0].Held) != 1 || all[0].Held[0] != (QueueHeld{Share: "A", Cores: 1, Jobs: 1}) {
		t.Errorf("%+v", all)
	}
	if one := s.QueuesLately("r"); len(one) != 1 || one[0].Queue != "r" || len(one[0].Held) != 0 {
		t.Errorf("%+v", one)
	}
	if holds := s.GangHolds(); len(holds) != 0 {
		t.Errorf("%+v", holds)
	}
}

func (s *scene) explained(t *testing.T, first, third Lease) {
	ctx := t.Context()
	if e, err := s.Explain(ctx, third.Job); err != nil || e.State != "ready" || e.Gate != explain.GateShare || e.Queues[0].First.Leaf != "B" || e.Share != "A" || e.Position == nil || e.ETA == nil || len(e.Queues) != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := s.Explain(ctx, s.wide[0]); err != nil || e.Gate != explain.GateStructural {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := s.Explain(ctx, first.Job); err != nil || e.State != "leased" || e.Decision == nil || e.Decision.Attempt != 1 || e.Decision.Queue != "q" || e.Decision.Version != 1 || !e.Decision.Recorded || e.Decision.Record.Winner != "A" {
		t.Errorf("%+v, %v", e.Decision, err)
	}
	if _, err := s.Explain(ctx, 1<<40); !errors.Is(err, lookup.ErrNoJob) {
		t.Error(err)
	}
	if why, err := s.Why(ctx, explain.WhyRequest{A: "A", B: "B"}); err != nil || why.Version != 1 || len(why.Pools) != 1 || why.AWon != 3 || why.Summary == "" {
		t.Errorf("%+v, %v", why, err)
	}
	var wrong *job.FieldError
	if _, err := s.Why(ctx, explain.WhyRequest{A: "A", B: "C"}); !errors.As(err, &wrong) || wrong.Field != "b" {
		t.Error(err)
	}
}

func (s *scene) tasksOf(t *testing.T) {
	ctx := t.Context()
	if e, err := s.ExplainTask(ctx, 1); err != nil || e.Share != "A" || e.Ready != 8 || e.Leased != 1 || e.Next == nil || e.Next.Job == 0 || e.Next.Gate != explain.GateShare {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := s.ExplainTask(ctx, 4); err != nil || e.ToCome != 7 || e.Next == nil || e.Next.Job != 0 {
		t.Errorf("of pieces that are no jobs yet: %+v, %v", e, err)
	}
	if _, err := s.ExplainTask(ctx, 99); !errors.Is(err, ErrNoTask) {
		t.Error(err)
	}
	kinds, err := s.TaskQueues(ctx, 1)
	if err != nil || len(kinds) != 1 || kinds[0].Share != "A" || kinds[0].Jobs != 9 || kinds[0].Needs.Label != "prod" || !kinds[0].Queues[0].Runs || kinds[0].Queues[0].Pilots != 1 || kinds[0].Queues[1].Runs {
		t.Errorf("%+v, %v", kinds, err)
	}
}

func (s *scene) resources(t *testing.T) {
	ctx := t.Context()
	all, err := s.Resources(ctx, "")
	if err != nil || len(all) != 1 || all[0].Name != "lic" || all[0].Capacity != 2 || all[0].Free != 2 || all[0].Wanted != 3 || all[0].Waiting != 1 || all[0].IDs != nil {
		t.Errorf("%+v, %v", all, err)
	}
	if one, err := s.Resources(ctx, "lic"); err != nil || len(one[0].IDs) != 1 || one[0].IDs[0].ID != "bob" {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := s.Resources(ctx, "gold"); !errors.Is(err, ErrUnknownResource) {
		t.Error(err)
	}
}

// A job that is explained names its claims, and a resource the claims that hold its units.
func TestClaimsAreShown(t *testing.T) {
	p := newPlace(t)
	w := p.start(1)
	var made []int64
	p.in(func(tx pgx.Tx) (err error) {
		made, err = intake.MakeClaims(t.Context(), tx, 1, []intake.NewClaim{{Key: "0/rack", Members: 2, Made: 2,
			Template: shares.ClaimTemplate{Name: "rack", Node: true, Resources: map[string]int64{"tape": 3}}}})
		return err
	})
	var ids []int64
	p.in(func(tx pgx.Tx) (err error) {
		shape, err := intake.Intern(t.Context(), tx, job.Requirements{Cores: 1})
		if err != nil {
			return err
		}
		one := intake.NewJob{Task: 1, Share: 1, Shape: shape, MaxAttempts: 3, Inputs: []string{"in"}, Claims: made}
		ids, err = intake.Enqueue(t.Context(), tx, []intake.NewJob{one, one})
		return err
	})
	l := w.must(t, "n7")
	for _, id := range ids {
		waitFor(t, func() bool {
			e, err := w.Explain(t.Context(), id)
			return err == nil && len(e.Claims) == 1 && e.Claims[0].ID == made[0] && e.Claims[0].Node == "n7" && e.Claims[0].Sharers == 1 && !e.Claims[0].CreatedAt.IsZero()
		})
	}
	if l.Env["DIVVY_CLAIM_RACK_NODE"] != "n7" {
		t.Errorf("%v", l.Env)
	}
	list, err := w.Resources(t.Context(), "tape")
	if err != nil || len(list) != 1 || len(list[0].Claims) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if c := list[0].Claims[0]; c.ID != made[0] || c.Units != 3 || c.Node != "n7" || c.Queue != "q" || c.Sharers != 1 || list[0].Held != 3 {
		t.Errorf("%+v of %+v", c, list[0])
	}
	if _, err := w.Resources(t.Context(), "none"); !errors.Is(err, ErrUnknownResource) {
		t.Errorf("%v of a resource that there is not", err)
	}
}
