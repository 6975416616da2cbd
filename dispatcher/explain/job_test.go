package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// situation is a job and a queue, and what explain says of them.
type situation struct {
	tree  []shares.Spec
	queue shares.Queue
	job   batch // of A
	other []batch
	set   func(*plant)
	pulls []string // the shares that are to get a slot before
	gate  Gate
	why   string // part of the reason
}

func two() []shares.Spec { return []shares.Spec{node("A", 1), node("B", 1)} }

func with(change func(*shares.Queue)) shares.Queue {
	q := slots("q", 4)
	change(&q)
	return q
}

func plan(change func(*shares.Plan)) []shares.Spec {
	all := two()
	change(&all[0].Plan)
	return all
}

// licences has the site have so many of them.
func licences(n int64, change ...func(*shares.Resource)) func(*plant) {
	return func(p *plant) {
		r := shares.DefaultResource()
		r.Name, r.Capacity = "lic", n
		for _, c := range change {
			c(&r)
		}
		p.adopt(func(v *shares.Version) { v.Resources = []shares.Resource{r} })
	}
}

func targets(list ...entry.Target) func(*plant) {
	return func(p *plant) { p.apply(entry.Bounded{Targets: list}) }
}

func lic(n int64) job.Requirements {
	return job.Requirements{Resources: map[string]int64{"lic": n}}
}

var situations = map[string]situation{
	"not its queue": {queue: slots("q", 4), job: batch{need: job.Requirements{Queues: []string{"gpu-*"}}}, gate: GateStructural, why: "not among the task's queues"},
	"draining":      {queue: with(func(q *shares.Queue) { q.State = shares.Drain }), gate: GateStructural, why: "queue is draining"},
	"offline":       {queue: with(func(q *shares.Queue) { q.State = shares.Offline }), gate: GateStructural, why: "queue is offline"},
	"in test":       {queue: with(func(q *shares.Queue) { q.State = shares.Test }), gate: GateStructural, why: "in test"},
	"cores":         {queue: with(func(q *shares.Queue) { q.Cores = 2 }), job: batch{cores: 3}, gate: GateStructural, why: "cores: needs 3, queue allows 2"},
	"slots":         {queue: slots("q", 4), job: batch{cores: 5}, gate: GateStructural, why: "cores: needs 5, queue has 4 slots"},
	"memory":        {queue: with(func(q *shares.Queue) { q.MemoryMB = 5 }), job: batch{need: job.Requirements{MemoryMB: 6}}, gate: GateStructural, why: "memory_mb: needs 6"},
	"walltime":      {queue: with(func(q *shares.Queue) { q.WalltimeS = 5 }), job: batch{need: job.Requirements{WalltimeS: 6}}, gate: GateStructural, why: "walltime_s: needs 6"},
	"label":         {queue: slots("q", 4), job: batch{need: job.Requirements{Labels: map[string]string{"os": "el9"}}}, gate: GateStructural, why: `label os: needs "el9"`},
	"closed":        {queue: with(func(q *shares.Queue) { q.DenyShares = []string{"A"} }), gate: GateStructural, why: "A"},

	"full queue":    {queue: slots("q", 1), job: batch{n: 2}, pulls: []string{"A"}, gate: GateCap, why: "1 of the queue's 1 slots are held, it needs 1"},
	"too wide now":  {queue: slots("q", 4), job: batch{cores: 4}, other: []batch{{share: "B"}}, pulls: []string{"B"}, gate: GateCap, why: "1 of the queue's 4 slots are held, it needs 4"},
	"max of itself": {tree: plan(func(p *shares.Plan) { p.Max = shares.Of(1000) }), queue: slots("q", 4), job: batch{n: 2}, pulls: []string{"A"}, gate: GateCap, why: "max of A is 1, it holds 1"},
	"target slots":  {queue: slots("q", 4), job: batch{n: 2}, set: targets(entry.Target{Queue: "q", Slots: 1}), pulls: []string{"A"}, gate: GateCap, why: "target slots of the queue are 1: 1 are held, it needs 1"},
	"of its share": {queue: slots("q", 4), job: batch{n: 2}, set: targets(entry.Target{Queue: "q", Share: 1, Class: "SCORE", Slots: 0, Until: start.Add(time.Hour)}), gate: GateCap,
		why: "target slots of the queue for A, SCORE jobs are 0 until 2026-01-05T09:00:00Z: 0 are held, it needs 1"},

	"does not lend":  {tree: []shares.Spec{node("A", 1), owner("B", 3, "none", "all")}, queue: slots("q", 4), job: batch{n: 3}, pulls: []string{"A"}, gate: GateLending, why: "B keeps back what it owns"},
	"below a branch": {tree: []shares.Spec{node("A", 1), node("G", 1, owner("B", 4, "all", "all"), owner("C", 4, "none", "all"))}, queue: slots("q", 4), job: batch{n: 3}, gate: GateLending, pulls: []string{"A", "A"}, why: "G/C keeps back what it owns"},
	"may not borrow": {tree: []shares.Spec{owner("A", 1, "all", "none"), owner("B", 3, "all", "all")}, queue: slots("q", 4), job: batch{n: 3}, pulls: []string{"A"}, gate: GateLending, why: "A holds 1 and may not borrow 1 more"},

	"no such resource": {queue: slots("q", 4), job: batch{need: lic(1)}, gate: GateResourceUnknown, why: "lic"},
	"all licences":     {queue: slots("q", 4), job: batch{n: 2, user: "ann", need: lic(1)}, set: licences(1), pulls: []string{"A"}, gate: GateResourceCapacity, why: "1 of 1 units of lic are held, it needs 1; ann holds 1, its part is 1"},
	"more than exist":  {queue: slots("q", 4), job: batch{need: lic(3)}, set: licences(2), gate: GateResourceCapacity, why: "it needs 3 units of lic, and there are 2 in all: no end of a job helps"},
	"its part": {queue: slots("q", 4), job: batch{n: 3, user: "ann", need: lic(1)}, other: []batch{{share: "B", n: 2, user: "bob", need: lic(1)}}, set: licences(2, func(r *shares.Resource) { r.MaxHold = time.Minute }),
		pulls: []string{"A"}, gate: GateResourceAllowance, why: "ann holds 1 of lic, which is its part of 2; 1 are free, and kept for bob"},
	"by queue": {queue: slots("q", 4), job: batch{n: 2, need: lic(1)}, set: licences(1, func(r *shares.Resource) { r.PerQueue = true }), pulls: []string{"A"}, gate: GateResourceCapacity, why: "1 of 1 units of lic at q are held"},

	"another share": {queue: slots("q", 4), job: batch{n: 3}, other: []batch{{share: "B", n: 3}}, pulls: []string{"A"}, gate: GateShare, why: "B comes first: 1 below its target (target 1, held 0); A: 0 below its target (target 1, held 1)"},
	"served later":  {queue: slots("q", 8), job: batch{n: 3}, other: []batch{{share: "B", n: 3}}, pulls: []string{"A", "B", "A", "B"}, gate: GateNone},
	"as far":        {queue: slots("q", 8), job: batch{n: 3}, other: []batch{{share: "B", n: 3}}, pulls: []string{"A", "B", "A", "B", "A"}, gate: GateShare, why: "B comes first"},
	"a floor":       {queue: slots("q", 4), job: batch{n: 3}, other: []batch{{share: "B", n: 3}}, set: targets(entry.Target{Queue: "q", Share: 2, Slots: 2, Floor: true}), pulls: []string{"B"}, gate: GateShare, why: "; the queue's floor for B is 2, of which 1 are held"},

	"another user":  {tree: plan(func(p *shares.Plan) { p.Within = shares.FairUser }), queue: slots("q", 4), job: batch{n: 2, user: "ann"}, other: []batch{{share: "A", n: 2, user: "bob"}}, pulls: []string{"A"}, gate: GateUser, why: "bob comes first (holds 0, part 0.5); ann holds as much or more (holds 1, part 0.5)"},
	"others before": {queue: slots("q", 4), other: []batch{{share: "A", n: 2, priority: 5}}, gate: GatePriority, why: "2 ready jobs of A come before it"},
	"wide first":    {queue: with(func(q *shares.Queue) { q.Prefer, q.Cores = "wide", 4 }), other: []batch{{share: "A", cores: 2}}, gate: GatePriority, why: "wider jobs of A go first"},
	"far away":      {queue: slots("q", 4), job: batch{need: job.Requirements{Locations: []string{"disk"}, Locality: job.LocalityPreferred}}, other: []batch{{share: "A"}}, gate: GatePriority, why: "other jobs of A come first here: it prefers a queue near its inputs"},
	"nothing":       {queue: slots("q", 4), gate: GateNone, why: "the next slot that pulls here gets it"},
}

// A gate a row.
func TestGates(t *testing.T) {
	t.Parallel()
	for name, c := range situations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.tree == nil {
				c.tree = two()
			}
			p := newPlant(t, c.tree, c.queue)
			if c.set != nil {
				c.set(p)
			}
			c.job.share = "A"
			jobs := p.enqueue(c.job)
			for _, b := range c.other {
				p.enqueue(b)
			}
			for i, want := range c.pulls {
				if got := p.pull("q"); got != want {
					t.Fatalf("pull %d got a job of %q, want %q", i, got, want)
				}
			}
			e := p.moment().Job(jobs[len(jobs)-1])
			g := e.Queues[0]
			if g.Gate != c.gate || !strings.Contains(g.Reason, c.why) {
				t.Errorf("%s: %s; want %s: %s", g.Gate, g.Reason, c.gate, c.why)
			}
			if e.Gate != c.gate || e.Summary == "" || e.Version != p.site.Number {
				t.Errorf("%+v", e)
			}
			if (g.Gate == GateShare) != (g.First != nil && g.Own != nil) || (g.Gate == GateUser) != (g.FirstUser != nil) {
				t.Errorf("%+v", g)
			}
		})
	}
}

// What the machine does not know comes first: pilots that take other jobs, tasks that are paused, queues that fail everything.
func TestOutside(t *testing.T) {
	t.Parallel()
	p := newPlant(t, two(), slots("q", 4))
	s := p.enqueue(batch{share: "A", user: "ann"})[0]
	m := p.moment()
	m.Pulls.(pulls).pilots[1] = []Pilot{{Only: &job.Only{Task: 99}}}
	if g := m.Job(s).Queues[0]; g.Gate != GateStructural || !strings.Contains(g.Reason, "the pilot takes") || g.Pilots != 1 {
		t.Errorf("%+v", g)
	}
	m = p.moment()
	m.Holes = map[shares.QueueID]retry.BlackHoleStanding{1: {Since: start, Ends: 9, Fails: 8}}
	if g := m.Job(s).Queues[0]; g.Gate != GateBlackHole || !strings.Contains(g.Reason, "8 of 9 attempts") {
		t.Errorf("%+v", g)
	}
	s.State, s.TaskState, s.TaskReason = "waiting", "paused", "by hand"
	e := p.moment().Job(s)
	if e.Gate != GatePaused || e.Waits == nil || e.Position != nil || e.ETA != nil || e.Summary != "It is not ready: task 1 is paused: by hand." {
		t.Errorf("%+v", e)
	}
	later := start.Add(time.Minute)
	s.TryAt, s.Judged = &later, true
	if e = p.moment().Job(s); e.Gate != GateBackoff || e.Summary != "It is not ready: it is tried again at 2026-01-05T08:01:00Z." {
		t.Errorf("%s %s", e.Gate, e.Summary)
	}
}

// The gate that counts is that of the queue where the job gets furthest; structural faults of others do not hide it.
func TestFurthestGateCounts(t *testing.T) {
	t.Parallel()
	small, gone := slots("small", 4), slots("gone", 4)
	small.Cores, gone.State = 1, shares.Offline
	p := newPlant(t, []shares.Spec{node("A", 1)}, small, gone, slots("full", 2), slots("q", 8))
	p.enqueue(batch{share: "A", n: 2, priority: 9, need: job.Requirements{Queues: []string{"full"}}})
	p.pull("full")
	p.pull("full")
	jobs := p.enqueue(batch{share: "A", n: 3, cores: 2})
	e := p.moment().Job(jobs[2])
	got := map[string]Gate{}
	for _, q := range e.Queues {
		got[q.Queue] = q.Gate
	}
	want := map[string]Gate{"small": GateStructural, "gone": GateStructural, "full": GateCap, "q": GatePriority}
	if diff := cmp.Diff(want, got); diff != "" || e.Gate != GatePriority {
		t.Error(diff)
	}
	if e.Position == nil || *e.Position != (Position{Before: 2, Ready: 3}) {
		t.Errorf("position %+v", e.Position)
	}
}

// Of the jobs at the heads of all shares one has nothing in its way, and the next slot gets that one.
func TestForetells(t *testing.T) {
	t.Parallel()
	tree := []shares.Spec{node("Prod", 70, node("MC", 1), node("Val", 2)), node("Ana", 25, node("User", 9), node("Grp", 1)), node("Test", 5)}
	p := newPlant(t, tree, slots("q", 60))
	heads := map[string][]Subject{}
	for _, leaf := range []string{"Prod/MC", "Prod/Val", "Ana/User", "Ana/Grp", "Test"} {
		heads[leaf] = p.enqueue(batch{share: leaf, n: 40})
	}
	for k := range 40 {
		next := ""
		for leaf, jobs := range heads {
			switch e := p.moment().Job(jobs[0]); e.Gate {
			case GateNone:
				if next != "" {
					t.Errorf("pull %d: both %s and %s are said to be next", k, leaf, next)
				}
				next = leaf
			case GateShare:
			default:
				t.Errorf("pull %d: %s", k, e.Summary)
			}
		}
		if got := p.pull("q"); got != next {
			t.Fatalf("pull %d got a job of %s, explain said %s", k, got, next)
		}
		heads[next] = heads[next][1:]
	}
}

// A job whose leaf or shape the machine does not know is said to be so; one that ran shows its decision.
func TestUnknownAndGiven(t *testing.T) {
	t.Parallel()
	p := newPlant(t, two(), slots("q", 4))
	if e := p.moment().Job(Subject{Job: 1, Share: 99, Shape: 1, State: "ready"}); len(e.Queues) != 0 || !strings.Contains(e.Summary, "Its share has gone") {
		t.Errorf("%+v", e)
	}
	d := &Decision{Attempt: 2, Queue: "q", WaitedS: 3, Note: "not recorded: why"}
	if e := p.moment().Job(Subject{Job: 1, State: "leased", Given: d}); e.Summary != "Attempt 2 got a slot of q after 3 s; the decision is not recorded: why." {
		t.Error(e.Summary)
	}
	if e := p.moment().Job(Subject{Job: 1, State: "cancelled"}); e.Summary != "It never had a slot: it is cancelled." {
		t.Error(e.Summary)
	}
}
