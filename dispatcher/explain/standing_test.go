package explain

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

func byJob(a, b machine.Lease) int { return cmp.Compare(a.Job, b.Job) }

// P1 of sharing.md in small: targets, what is held, lent and borrowed, and how long each waits for its target.
func TestStanding(t *testing.T) {
	t.Parallel()
	p := newPlant(t, []shares.Spec{owner("A", 6, "all", "all"), node("B", 1), node("C", 1)}, slots("q", 10))
	p.enqueue(batch{share: "A", n: 2})
	p.enqueue(batch{share: "B", n: 20})
	for range 10 {
		p.pull("q")
	}
	late := p.enqueue(batch{share: "A", n: 10})
	m := p.moment()
	m.Ends = []EndRate{{Queue: 1, Share: p.share("B"), PerSecond: 2, UnitsPerS: 2000}}
	m.Waited = map[int64]float64{late[0].Job: 12}
	if !slices.Contains(m.Heads(), late[0].Job) {
		t.Errorf("heads %v, want %d among them", m.Heads(), late[0].Job)
	}
	st := m.Outlook()
	a, b := st.Pools[0].Shares[0], st.Pools[0].Shares[1]
	if st.Pools[0].Held != 10 || st.Pools[0].Round != 10 || st.Pools[0].Capacity != 10 || a.Held != 2 || a.Owned != 6 || a.Own != 2 || b.Held != 8 || b.HeldJobs != 8 {
		t.Errorf("%+v", st)
	}
	if math.Abs(a.Target-8) > 2.1 || a.Target <= a.Held || b.Borrowed <= 0 || a.Lent != b.Borrowed || a.Ready != 10 || b.Ready != 12 {
		t.Errorf("%+v, %+v", a, b)
	}
	if a.AtTarget == nil || math.Abs(*a.AtTarget-a.Deficit/2) > 1e-6 || a.Waited == nil || *a.Waited != 12 || b.Waited != nil {
		t.Errorf("%+v: %v s, waited %v", a, a.AtTarget, a.Waited)
	}
	m.Offered = map[string]shares.Units{"default": 3000}
	if st = m.Standing(); st.Pools[0].Round != 10 { // C bounds it
		t.Errorf("R %v", st.Pools[0].Round)
	}
}

// The JSON of values is what users know: api/openapi.json names each field.
func TestFieldsOfStanding(t *testing.T) {
	t.Parallel()
	p := newPlant(t, two(), slots("q", 4))
	text := string(jsonOf(t, p.moment().Standing().Pools[0].Shares[0]))
	for _, field := range []string{"id", "path", "pool", "depth", "leaf", "weight", "tier", "rank", "target", "target_slots", "held", "deficit", "demand", "ready", "held_jobs",
		"deserved", "owned", "own", "lent", "borrowed", "lag"} {
		if !strings.Contains(text, `"`+field+`":`) {
			t.Errorf("%s has no %s", text, field)
		}
	}
	if n := reflect.TypeFor[ShareStanding]().NumField(); n > 20 {
		t.Errorf("%d fields", n)
	}
}

// A queue is shown with what runs there, what could, and what bounds it.
func TestQueuesAndCounts(t *testing.T) {
	t.Parallel()
	closed := slots("closed", 4)
	closed.DenyShares = []string{"A"}
	wide := slots("wide", 8)
	wide.Pool = "other"
	p := newPlant(t, two(), slots("q", 2), closed, wide)
	p.enqueue(batch{share: "A", n: 3, cores: 2, need: job.Requirements{Label: "x"}})
	p.enqueue(batch{share: "B", n: 4})
	p.apply(entry.Bounded{Targets: []entry.Target{{Queue: "q", Slots: 1, Floor: true, Share: p.share("A")}, {Queue: "q", Slots: 2}}})
	if got := p.decide(1, job.Slot{Cores: 2}); got.Share != p.share("A") {
		t.Fatalf("%+v", got)
	}
	m := p.moment()
	m.Pulls.(pulls).waiting[1], m.Holes = 7, map[shares.QueueID]retry.BlackHoleStanding{3: {Fails: 5}}
	list := m.Queues()
	q := list[0]
	if q.HeldCores != 2 || q.HeldJobs != 1 || q.Ready != 6 || q.Pilots != 1 || q.Waiting != 7 || list[1].Ready != 4 || list[2].Ready != 6 || list[2].BlackHole == nil {
		t.Errorf("%+v", list)
	}
	want := []TargetSlotsStanding{{Slots: 2, HeldCores: 2}, {Share: "A", Slots: 1, HeldCores: 2, Floor: true}}
	if d := diff.Diff(want, q.TargetSlots); d != "" {
		t.Error(d)
	}
	counts := m.Counts()
	slices.SortFunc(counts, func(a, b Count) int { return cmp.Or(cmp.Compare(a.Share, b.Share), cmp.Compare(a.State, b.State)) })
	if d := diff.Diff([]Count{{Share: "A", Class: "MCORE", Label: "x", State: "leased", Queues: []string{"q"}, Pools: []string{"default"}, N: 1},
		{Share: "A", Class: "MCORE", Label: "x", State: "ready", Queues: []string{"q", "wide"}, Pools: []string{"default", "other"}, N: 2},
		{Share: "B", Class: "SCORE", State: "ready", Queues: []string{"q", "closed", "wide"}, Pools: []string{"default", "other"}, N: 4}}, counts); d != "" {
		t.Error(d)
	}
}

// In a pool whose queues deny a share no job of it is ready, nor one that is next.
func TestStandingOfDenied(t *testing.T) {
	t.Parallel()
	closed := slots("closed", 4)
	closed.Pool, closed.DenyShares = "other", []string{"A"}
	p := newPlant(t, two(), slots("q", 2), closed)
	p.enqueue(batch{share: "A", n: 3})
	p.enqueue(batch{share: "B", n: 4})
	m := p.moment()
	pools, heads := m.Standing().Pools, m.heads()
	if a, b := pools[0].Shares[0].Ready, pools[0].Shares[1].Ready; a != 3 || b != 4 {
		t.Errorf("%d and %d are ready in the pool that runs both", a, b)
	}
	if a, b := pools[1].Shares[0].Ready, pools[1].Shares[1].Ready; a != 0 || b != 4 || len(heads["default"]) != 2 || len(heads["other"]) != 1 {
		t.Errorf("%d and %d are ready in the pool that denies A; next are %v", a, b, heads)
	}
}

// Stock says what is ready and what free slots could start; the stock of a share, at which queues it has nothing, and why.
func TestStock(t *testing.T) {
	t.Parallel()
	closed, big := slots("closed", 4), slots("big", 8)
	closed.DenyShares = []string{"A"}
	p := newPlant(t, two(), slots("q", 2), closed, big)
	p.enqueue(batch{share: "A", n: 3, cores: 4})
	p.apply(entry.Expected{Share: p.share("B"), Shape: 1, Jobs: 7})
	m := p.moment()
	m.Starts = map[Kind]float64{{p.share("A"), 1, ""}: 2.5}
	stock := m.Stock()
	slices.SortFunc(stock, func(a, b Stock) int { return cmp.Compare(a.Share, b.Share) })
	if d := diff.Diff([]Stock{{Share: 1, Shape: 1, Ready: 3, StartsPerMinute: 2.5, Startable: 2}, {Share: 2, Shape: 1, Startable: 3}}, stock); d != "" {
		t.Error(d)
	}
	want := []ShareStock{{Share: "A", Sets: []QueueSet{{Queues: []string{"big"}, Ready: 3, Startable: 2, StartsPerMinute: 2.5, Pilots: 1}},
		Gaps: []StockGap{{Reason: job.Fits(job.Requirements{Cores: 4}, p.site.Queues[0], nil), Queues: []string{"q"}}, {Reason: job.ClosedTo(closed, "A"), Queues: []string{"closed"}}}},
		{Share: "B", Sets: []QueueSet{{Queues: []string{"closed", "big"}, ToCome: 7, Startable: 3, Pilots: 2}},
			Gaps: []StockGap{{Reason: job.Fits(job.Requirements{Cores: 4}, p.site.Queues[0], nil), Queues: []string{"q"}}, {Reason: gapToCome, Queues: []string{"closed", "big"}}}}}
	if d := diff.Diff(want, m.ShareStock("", "")); d != "" {
		t.Error(d)
	}
	if one := m.ShareStock("A", "q"); len(one) != 1 || len(one[0].Sets) != 0 || len(one[0].Gaps) != 1 {
		t.Errorf("%+v", one)
	}
}

// The pool is full although the queue is not, since another queue of it went.
func TestPoolIsFull(t *testing.T) {
	t.Parallel()
	p := newPlant(t, two(), slots("q", 2), slots("away", 1))
	p.site.Queues[1].CorePowerMilli = 1000
	jobs := p.enqueue(batch{share: "A", n: 4})
	p.pull("q")
	p.pull("q")
	p.adopt(func(v *shares.Version) {
		q := v.Queues[0]
		three := 3
		q.Slots, q.CorePowerMilli = &three, 500 // what is held counts as it was granted
		v.Queues = []shares.Queue{q}
	})
	e := p.moment().Job(jobs[3])
	if e.Gate != GateCap || !strings.Contains(e.Queues[0].Reason, "2 of the pool's 1.5 units are held, it needs 0.5") {
		t.Errorf("%s: %+v", e.Gate, e.Queues)
	}
}

// Jobs that are not made yet go before, for a time.
func TestUnmadeComesFirst(t *testing.T) {
	t.Parallel()
	p := newPlant(t, two(), slots("q", 4))
	jobs := p.enqueue(batch{share: "A", n: 3})
	p.pull("q")
	p.apply(entry.Expected{Share: p.share("B"), Shape: 1, Jobs: 5})
	e := p.moment().Job(jobs[1])
	if e.Gate != GateShare || !strings.Contains(e.Queues[0].Reason, "jobs of B are not made yet, pulls wait for them 5s at the most") {
		t.Errorf("%s: %+v", e.Gate, e.Queues)
	}
	if d := p.m.Decide(machine.Pull{Queue: 1, Slot: job.Slot{Cores: 1}, Most: 1, Until: p.m.Now()}); d.Verdict != machine.Unmade {
		t.Errorf("%+v", d)
	}
}

// The ETA is the jobs before it over what its share gets of the ends.
func TestETA(t *testing.T) {
	t.Parallel()
	p := newPlant(t, two(), slots("q", 10))
	p.enqueue(batch{share: "B", n: 50})
	jobs := p.enqueue(batch{share: "A", n: 50})
	for range 10 {
		p.pull("q")
	}
	m := p.moment()
	e := m.Job(jobs[20])
	if e.Position == nil || e.Position.Before != 15 || e.Position.Ready != 45 || e.ETA.Known || !strings.Contains(e.ETA.How, "nothing has ended in the last 5 minutes") {
		t.Errorf("%+v %+v", e.Position, e.ETA)
	}
	m.Ends = []EndRate{{Queue: 1, Share: p.share("A"), PerSecond: 2, UnitsPerS: 2000}}
	e = m.Job(jobs[20])
	if !e.ETA.Known || math.Abs(e.ETA.Seconds-16) > 1e-9 || !strings.Contains(e.Summary, "It starts in about 16 s.") {
		t.Errorf("%+v: %s", e.ETA, e.Summary)
	}
	if len(e.Pools) != 1 || len(e.Pools[0].Levels) != 1 || e.Pools[0].Levels[0].Product != 0.5 || e.Pools[0].Levels[0].Of != 2 {
		t.Errorf("%+v", e.Pools)
	}
	for range 10 { // five ends of each
		for _, l := range slices.SortedFunc(p.m.Leases(), byJob)[:1] {
			p.apply(entry.Ended{Job: l.Job, Attempt: l.Attempt, Outcome: entry.Finished, Next: entry.Over})
		}
	}
	if e = p.moment().Job(jobs[5]); !e.ETA.Known || e.ETA.Seconds != 0 || e.Gate != GateNone && e.Gate != GateShare {
		t.Errorf("%s %+v", e.Gate, e.ETA)
	}
}

// A task is explained by its next job, or by a piece that is none yet: pieces of others that go first come before it.
func TestTask(t *testing.T) {
	t.Parallel()
	p := newPlant(t, two(), slots("q", 10))
	jobs := p.enqueue(batch{share: "A", n: 2})
	e := p.moment().Task(TaskSubject{Task: 1, Share: "A", State: "running", Ready: 2, Leased: 3, Next: &jobs[0]})
	if e.Next == nil || e.Next.Gate != GateNone || !strings.HasPrefix(e.Summary, "Pilots have 3 of its jobs. Its next job is 1: Nothing is in its way") {
		t.Errorf("%+v", e)
	}
	piece := Subject{Task: 2, Share: p.share("A"), Path: "A", Shape: 1}
	e = p.moment().Task(TaskSubject{Task: 2, Share: "A", State: "ready", ToCome: 9, Piece: &piece, Ahead: []PiecesAhead{{1, 4}}})
	if e.Next == nil || e.Next.Job != 0 || e.Next.Gate != GatePriority || e.Next.Position.Before != 6 || !strings.HasPrefix(e.Summary, "None of its 9 pieces is a job yet. Of such a job: ") {
		t.Errorf("%+v", e)
	}
	big := p.shape(batch{share: "A", cores: 99})
	piece.Shape = big
	if e = p.moment().Task(TaskSubject{Task: 2, State: "ready", ToCome: 9, Piece: &piece}); e.Next.Gate != GateStructural || !strings.Contains(e.Summary, "99") {
		t.Errorf("%+v", e)
	}
	if e = p.moment().Task(TaskSubject{Task: 2, State: "done", Over: true}); e.Summary != "It is over: done." {
		t.Error(e.Summary)
	}
}

// Two shares are compared where their paths part, beside how they fared.
func TestWhy(t *testing.T) {
	t.Parallel()
	p := newPlant(t, []shares.Spec{node("P", 3, node("M", 1), node("V", 1)), node("Z", 1)}, slots("q", 8))
	p.enqueue(batch{share: "P/M", n: 9})
	p.enqueue(batch{share: "Z", n: 9})
	targets(entry.Target{Queue: "q", Share: p.share("Z"), Slots: 1, Floor: true})(p)
	for range 4 {
		p.pull("q")
	}
	m := p.moment()
	a, b, err := m.Sides(WhyRequest{A: "P", B: "Z"})
	if err != nil || len(a) != 2 || len(b) != 1 {
		t.Errorf("%v %v %v", a, b, err)
	}
	three, one := 3.0, 1.0
	y, err := m.Why(WhyRequest{A: "P/M", B: "Z"}, Fared{Decisions: 4, AWon: 3, BWon: 1, ABeforeB: Duel{Times: 3, Deficit: &three, RunnerUpDeficit: &one}})
	if err != nil || len(y.Pools) != 1 || y.Pools[0].A.Share != "P" || y.Pools[0].A.Held != 3 || y.Pools[0].B.Held != 1 || len(y.Floors) != 1 {
		t.Fatalf("%+v %v", y, err)
	}
	for _, part := range []string{"Of the last 4 decisions, P/M won 3 and Z 1.", "P/M was chosen before Z 3 times, when it was 3 below its target on average", "Now P holds 3 of its target of 3",
		"at q the queue's floor for Z is 1, of which 1 are held"} {
		if !strings.Contains(y.Summary, part) {
			t.Errorf("%s\nlacks %q", y.Summary, part)
		}
	}
	for _, bad := range []WhyRequest{{A: "X", B: "Z"}, {A: "P", B: ""}, {A: "P", B: "P/M"}} {
		if _, err := m.Why(bad, Fared{}); !errors.Is(err, job.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if r, err := (WhyRequest{}).Check(); err != nil || r.Last != 10_000 || r.From != time.Hour {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := (WhyRequest{Last: -1}).Check(); err == nil {
		t.Error("no error")
	}
}

// large is a machine with so many leaves and queues, four shapes ready everywhere.
func large(tb testing.TB, leaves, queues int) *plant {
	var top []shares.Spec
	for i := range 10 {
		s := node(fmt.Sprintf("a%d", i), 1)
		for k := range leaves / 10 {
			s.Children = append(s.Children, node(fmt.Sprintf("b%d", k), float64(1+(i+k)%7)))
		}
		top = append(top, s)
	}
	var list []shares.Queue
	for i := range queues {
		list = append(list, with(func(q *shares.Queue) { n := 10_000; q.Name, q.Slots, q.Cores = fmt.Sprintf("q%d", i), &n, 8 }))
	}
	p := newPlant(tb, top, list...)
	for _, leaf := range p.site.Tree.Leaves() {
		for _, cores := range []int{1, 2, 4, 8} {
			p.enqueue(batch{share: p.site.Tree.Nodes[leaf].Path, n: 100, cores: cores})
		}
	}
	for i := range 20_000 {
		p.decide(shares.QueueID(i%queues+1), job.Slot{Cores: 8})
	}
	return p
}

// Standing of 1,000 shares and 100 queues in 5 ms at the most, a job there in 100 µs a queue.
func BenchmarkExplain(b *testing.B) {
	p := large(b, 1000, 100)
	s := p.enqueue(batch{share: "a3/b7", n: 1000})[999]
	for name, run := range map[string]func(Moment){"standing": func(m Moment) { m.Standing() }, "outlook": func(m Moment) { m.Outlook() }, "queues": func(m Moment) { m.Queues() },
		"counts": func(m Moment) { m.Counts() }, "stock": func(m Moment) { m.ShareStock("", "") }, "job": func(m Moment) { m.Job(s) }} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run(p.moment())
			}
		})
	}
}
