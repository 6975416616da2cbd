package dispatcher

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// explained asks the daemon until it has heard of what was enqueued: until check is content.
func explained(t *testing.T, d *Dispatcher, job int64, check func(Explanation) bool) (e Explanation) {
	t.Helper()
	eventually(t, "the daemon has heard of the job", func() bool {
		var err error
		if e, err = d.Explain(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		return check(e)
	})
	return e
}

func gateAt(e Explanation, queue string) QueueGate {
	for _, q := range e.Queues {
		if q.Queue == queue {
			return q
		}
	}
	return QueueGate{}
}

// A gate a row: a job and a queue in a situation, and what explain says of it.
func TestEveryGate(t *testing.T) {
	two := func() []shares.Spec { return []shares.Spec{node("A", 1), node("B", 1)} }
	with := func(change func(*shares.Queue)) shares.Queue {
		q := slots("q", 4)
		change(&q)
		return q
	}
	plan := func(change func(*shares.Plan)) []shares.Spec {
		all := two()
		change(&all[0].Plan)
		return all
	}
	for name, c := range map[string]struct {
		tree  []shares.Spec
		queue shares.Queue
		job   batch // of A
		other []batch
		pulls []string // the shares that are to get a slot before
		gate  Gate
		why   string // part of the reason
	}{
		"not its queue":  {queue: slots("q", 4), job: batch{need: job.Requirements{Queues: []string{"gpu-*"}}}, gate: GateStructural, why: "not among the task's queues"},
		"draining":       {queue: with(func(q *shares.Queue) { q.State = shares.Drain }), gate: GateStructural, why: "queue is draining"},
		"offline":        {queue: with(func(q *shares.Queue) { q.State = shares.Offline }), gate: GateStructural, why: "queue is offline"},
		"in test":        {queue: with(func(q *shares.Queue) { q.State = shares.Test }), gate: GateStructural, why: "in test"},
		"cores":          {queue: with(func(q *shares.Queue) { q.Cores = 2 }), job: batch{cores: 3}, gate: GateStructural, why: "cores: needs 3, queue allows 2"},
		"slots":          {queue: slots("q", 4), job: batch{cores: 5}, gate: GateStructural, why: "cores: needs 5, queue has 4 slots"},
		"memory":         {queue: with(func(q *shares.Queue) { q.MemoryMB = 5 }), job: batch{need: job.Requirements{MemoryMB: 6}}, gate: GateStructural, why: "memory_mb: needs 6"},
		"disk":           {queue: with(func(q *shares.Queue) { q.DiskMB = 5 }), job: batch{need: job.Requirements{DiskMB: 6}}, gate: GateStructural, why: "disk_mb: needs 6"},
		"walltime":       {queue: with(func(q *shares.Queue) { q.WalltimeS = 5 }), job: batch{need: job.Requirements{WalltimeS: 6}}, gate: GateStructural, why: "walltime_s: needs 6"},
		"label":          {queue: slots("q", 4), job: batch{need: job.Requirements{Labels: map[string]string{"os": "el9"}}}, gate: GateStructural, why: `label os: needs "el9"`},
		"full queue":     {queue: slots("q", 1), job: batch{n: 2}, pulls: []string{"A"}, gate: GateCap, why: "1 of the queue's 1 slots are held, it needs 1"},
		"too wide now":   {queue: slots("q", 4), job: batch{cores: 4}, other: []batch{{share: "B", n: 1}}, pulls: []string{"B"}, gate: GateCap, why: "1 of the queue's 4 slots are held, it needs 4"},
		"max of itself":  {tree: plan(func(p *shares.Plan) { p.Max = shares.Of(1000) }), queue: slots("q", 4), job: batch{n: 2}, pulls: []string{"A"}, gate: GateCap, why: "max of A is 1, it holds 1"},
		"does not lend":  {tree: []shares.Spec{node("A", 1), owner("B", 3, "none", "all")}, queue: slots("q", 4), job: batch{n: 3}, pulls: []string{"A"}, gate: GateLending, why: "B keeps back what it owns"},
		"below a branch": {tree: []shares.Spec{node("A", 1), node("G", 1, owner("B", 4, "all", "all"), owner("C", 4, "none", "all"))}, queue: slots("q", 4), job: batch{n: 3}, pulls: []string{"A", "A"}, gate: GateLending, why: "G/C keeps back what it owns"},
		"may not borrow": {tree: []shares.Spec{owner("A", 1, "all", "none"), owner("B", 3, "all", "all")}, queue: slots("q", 4), job: batch{n: 3}, pulls: []string{"A"}, gate: GateLending, why: "A holds 1 and may not borrow 1 more"},
		"another share":  {queue: slots("q", 4), job: batch{n: 3}, other: []batch{{share: "B", n: 3}}, pulls: []string{"A"}, gate: GateShare, why: "B comes first: 1 below its target (target 1, held 0); A: 0 below its target (target 1, held 1)"},
		"served later":   {queue: slots("q", 8), job: batch{n: 3}, other: []batch{{share: "B", n: 3}}, pulls: []string{"A", "B", "A", "B"}, gate: GateNone},
		"others before":  {queue: slots("q", 4), other: []batch{{share: "A", n: 2, priority: 5}}, gate: GatePriority, why: "2 ready jobs of A come before it"},
		"wide first":     {queue: with(func(q *shares.Queue) { q.Prefer, q.Cores = "wide", 4 }), other: []batch{{share: "A", n: 1, cores: 2}}, gate: GatePriority, why: "wider jobs of A go first"},
		"nothing":        {queue: slots("q", 4), gate: GateNone, why: "the next slot that pulls here gets it"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.tree == nil {
				c.tree = two()
			}
			f := newFixture(t, c.tree, c.queue)
			d := f.daemon()
			c.job.share, c.job.n = "A", max(1, c.job.n)
			jobs := f.enqueue(c.job)
			for _, b := range c.other {
				f.enqueue(b)
			}
			if _, err := d.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.pulls {
				if l := pull1(t, d, "q"); l.Share != want {
					t.Fatalf("pull %d got a job of %s, want %s", i, l.Share, want)
				}
			}
			e := explained(t, d, jobs[len(jobs)-1], func(e Explanation) bool {
				g := gateAt(e, "q")
				return g.Gate == c.gate && strings.Contains(g.Reason, c.why)
			})
			if e.Gate != c.gate || e.Summary == "" {
				t.Errorf("%s: %s", e.Gate, e.Summary)
			}
			if g := gateAt(e, "q"); (g.Gate == GateShare) != (g.First != nil && g.Own != nil) {
				t.Errorf("%+v", g)
			}
		})
	}
}

// owner is a leaf that owns units.
func owner(name string, owned int64, lend, borrow string) shares.Spec {
	s := node(name, 1)
	s.Plan.Owned = shares.Of(shares.Units(owned * 1000))
	for word, to := range map[string]*shares.Limit{lend: &s.Plan.Lend, borrow: &s.Plan.Borrow} {
		if word == "none" {
			none := shares.Units(0)
			to.Any = &none
		}
	}
	return s
}

// Of the jobs at the heads of all shares one has nothing in its way, and the next slot gets that one.
func TestExplainForetells(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 60))
	d := f.daemon()
	heads := map[string][]int64{}
	for _, leaf := range []string{"Prod/MC", "Prod/Rep", "Prod/Val", "Ana/User", "Ana/Grp", "Test"} {
		heads[leaf] = f.enqueue(batch{share: leaf, n: 40})
	}
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for k := range 40 {
		next := int64(0)
		for _, jobs := range heads {
			e, err := d.Explain(t.Context(), jobs[0])
			if err != nil {
				t.Fatal(err)
			}
			switch e.Gate {
			case GateNone:
				if next != 0 {
					t.Errorf("pull %d: both %d and %d are said to be next", k, next, jobs[0])
				}
				next = jobs[0]
			case GateShare:
			default:
				t.Errorf("pull %d: job %d: %s", k, jobs[0], e.Summary)
			}
		}
		l := pull1(t, d, "q")
		if l.Job != next {
			t.Fatalf("pull %d got job %d of %s, explain said %d", k, l.Job, l.Share, next)
		}
		heads[l.Share] = heads[l.Share][1:]
	}
}

// The gate that counts is that of the queue where the job gets furthest; structural faults of others do not hide it.
func TestFurthestGateCounts(t *testing.T) {
	small, gone := slots("small", 4), slots("gone", 4)
	small.Cores, gone.State = 1, shares.Offline
	f := newFixture(t, []shares.Spec{node("A", 1)}, small, gone, slots("full", 2), slots("q", 8))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 2, priority: 9, need: job.Requirements{Queues: []string{"full"}}})
	pull1(t, d, "full")
	pull1(t, d, "full")
	jobs := f.enqueue(batch{share: "A", n: 3, cores: 2})
	e := explained(t, d, jobs[2], func(e Explanation) bool { return e.Gate == GatePriority })
	got := map[string]Gate{}
	for _, q := range e.Queues {
		got[q.Queue] = q.Gate
	}
	want := map[string]Gate{"small": GateStructural, "gone": GateStructural, "full": GateCap, "q": GatePriority}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if e.Position == nil || *e.Position != (Position{Before: 2, Ready: 3}) {
		t.Errorf("position %+v", e.Position)
	}
}

// A job of a paused task is not ready: explain says what its task waits for, and what it would not pass beside that.
func TestExplainWaiting(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 4))
	d := f.daemon()
	job := f.enqueue(batch{share: "Prod/MC", n: 1})[0]
	f.exec(`INSERT INTO tasks (id, name, user_name, state, resume_state, reason, share_id, shape_id, spec) OVERRIDING SYSTEM VALUE
		SELECT task_id, 't', 'u', 'paused', 'running', 'by hand', share_id, shape_id, '{}' FROM jobs`)
	if err := pgx.BeginFunc(t.Context(), f.pool, func(tx pgx.Tx) error { _, err := HoldTasks(t.Context(), tx, along(1, 10)); return err }); err != nil {
		t.Fatal(err)
	}
	e := explained(t, d, job, func(e Explanation) bool { return len(e.Queues) == 1 })
	if e.State != "waiting" || e.Gate != GatePaused || e.Waits == nil || e.Waits.TaskState != "paused" || e.Position != nil || e.ETA != nil ||
		e.Summary != "It is not ready: task 1 is paused: by hand." {
		t.Errorf("%+v %+v", e, e.Waits)
	}
}

// W7: explain names path, target, held, deficit, rank, first failing gate, position and ETA.
func TestW7(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 1000))
	d := f.daemon()
	f.exec("UPDATE daemons SET started_at = now() - interval '1 hour'")
	last := map[string]int64{}
	for _, leaf := range []string{"Prod/MC", "Prod/Rep", "Prod/Val", "Ana/User", "Ana/Grp", "Test"} {
		ids := f.enqueue(batch{share: leaf, n: 400})
		last[leaf] = ids[len(ids)-1]
	}
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	var held []Lease
	for len(held) < 1000 {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 100}, Max: 100, WaitS: 5})
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, reply.Leases...)
	}
	e, err := d.Explain(t.Context(), last["Prod/MC"])
	if err != nil {
		t.Fatal(err)
	}
	if e.ETA == nil || e.ETA.Known || !strings.Contains(e.ETA.How, "nothing has ended") {
		t.Errorf("ETA before anything has ended: %+v", e.ETA)
	}
	for i := range 50 { // of all shares
		finish(t, d, Finished, held[i*20])
	}
	e, err = d.Explain(t.Context(), last["Prod/MC"])
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Pools) != 1 || len(e.Pools[0].Levels) != 2 || e.Pools[0].Capacity != 1000 {
		t.Fatalf("%+v", e.Pools)
	}
	top, leaf := e.Pools[0].Levels[0], e.Pools[0].Levels[1]
	st := d.Standing().Pools[0]
	for _, s := range st.Shares {
		for _, l := range []LevelStanding{top, leaf} {
			if s.Path == l.Share && (l.Held != s.Held || l.Target != s.Target || l.Deficit != s.Deficit || l.Ready != s.Ready || l.Demand != s.Demand) {
				t.Errorf("%+v, the standing is %+v", l, s)
			}
		}
	}
	if top.Share != "Prod" || top.Product != 0.7 || leaf.Share != "Prod/MC" || leaf.Product != 0.35 || top.Of != 3 || leaf.Of != 3 {
		t.Errorf("%+v\n%+v", top, leaf)
	}
	if want := rankOf(st, "Prod/MC", "Prod/Rep", "Prod/Val"); leaf.Rank != want {
		t.Errorf("rank %d of %s, want %d", leaf.Rank, leaf.Share, want)
	}
	if leaf.Ready != 50 || e.Position == nil || *e.Position != (Position{Before: 49, Ready: 50}) {
		t.Errorf("%d ready, position %+v", leaf.Ready, e.Position)
	}
	// 50 ends in five minutes, of which MC gets 35 in a hundred: 49 jobs and itself.
	flow := e.ETA.Flows[0]
	if seconds := 50 / (50.0 / 300 * flow.Part); !e.ETA.Known || !near1(e.ETA.Seconds, seconds) || !near1(flow.EndsPerSecond, 50.0/300) || flow.Part < 0.34 || flow.Part > 0.36 {
		t.Errorf("ETA %+v, want %v s", e.ETA, seconds)
	}
	if g := gateAt(e, "q"); g.Gate != GateShare && g.Gate != GatePriority || g.Pilots != 1 {
		t.Errorf("%+v", g)
	}
}

func near1(a, b float64) bool { return a > 0.99*b && a < 1.01*b }

// rankOf is the rank of the first path by the deficits of a standing.
func rankOf(p PoolStanding, paths ...string) (rank int) {
	deficits := map[string]float64{}
	for _, s := range p.Shares {
		deficits[s.Path] = s.Deficit
	}
	for _, path := range paths {
		if path == paths[0] || deficits[path] > deficits[paths[0]]+1e-6 {
			rank++
		}
	}
	return rank
}

func TestExplainNoJob(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 4))
	if _, err := f.daemon().Explain(t.Context(), 4711); !errors.Is(err, ErrNoJob) {
		t.Errorf("%v, want ErrNoJob", err)
	}
}

// What runs and what has ended is explained by its decision, long afterwards too.
func TestExplainDecision(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "Prod/MC", n: 4})
	f.enqueue(batch{share: "Prod/Rep", n: 4})
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, second := pull1(t, d, "q"), pull1(t, d, "q")
	e, err := d.Explain(t.Context(), second.Job)
	if err != nil || e.State != "leased" || e.Decision == nil || e.Decision.Recorded || !strings.Contains(e.Decision.Note, "no records of that time") {
		t.Fatalf("before it is written: %+v, %v", e.Decision, err)
	}
	if _, err := d.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	finish(t, d, Finished, first)
	for _, job := range []int64{first.Job, second.Job} {
		if e, err = d.Explain(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		g := e.Decision
		if !g.Recorded || g.Version != 1 || g.Queue != "q" || g.Pilot != "p" || g.Attempt != 1 || g.WaitedS < 0 || g.WaitedS > 60 {
			t.Errorf("%+v", g)
		}
		r := f.decisions()[job]
		top, leaf := g.Levels[0], g.Levels[1]
		if len(g.Levels) != 2 || g.Record.Parted != 2 || top.Share != "Prod" || top.RunnerUp != "Prod" || top.Deficit == nil || *top.RunnerUpDeficit != *top.Deficit ||
			leaf.Share != r.Share || leaf.RunnerUp != *r.RunnerUp || float32(*leaf.Deficit) != r.Deficit || float32(*leaf.RunnerUpDeficit) != *r.RunnerUpDeficit {
			t.Errorf("%+v of %+v", g.Levels, r)
		}
	}
	if e, _ = d.Explain(t.Context(), first.Job); e.State != "finished" || !strings.HasPrefix(e.Summary, "Attempt 1 got a slot of q after") {
		t.Errorf("%s: %s", e.State, e.Summary)
	}
}

// Of a sample, explain says how many were recorded; a second attempt is not taken for the first.
func TestNotRecorded(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "Prod/MC", n: 2})
	l := pull1(t, d, "q")
	if _, err := d.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	finish(t, d, Failed, l)
	var again Lease
	eventually(t, "the job is tried again", func() bool {
		again = pull1(t, d, "q")
		return again.Job == l.Job || again.Attempt == 2
	})
	// Of the first attempt, as if it were of the same second as the second one, whose decision is not written.
	f.exec("UPDATE decisions SET weights = '{8}', ms_ago = '{0}', written_at = (SELECT claimed_at FROM leases WHERE job_id = $1)", l.Job)
	e, err := d.Explain(t.Context(), l.Job)
	if err != nil || e.Decision.Attempt != 2 || e.Decision.Recorded || e.Decision.Note != "not recorded: 1 of about 8 decisions of those seconds were" {
		t.Errorf("%+v, %v", e.Decision, err)
	}
	if e.Decision.WaitedS > 60 || e.Decision.ReadyAt.After(e.Decision.ClaimedAt) {
		t.Errorf("ready at %s, leased at %s", e.Decision.ReadyAt, e.Decision.ClaimedAt)
	}
}
