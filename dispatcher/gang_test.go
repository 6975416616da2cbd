package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// gangOf is a task of so many replicas of a group of n jobs that start together on one node.
func gangOf(replicas, n int) resource.Layout {
	return resource.Layout{Replicas: 1, Templates: []shares.ClaimTemplate{{Name: "room", Node: true, Gang: true, Linger: time.Minute}},
		Groups: []resource.Group{{Name: "g", Replicas: replicas, Members: []resource.Role{{Name: "m", Count: n}},
			Sharing: []resource.Sharing{{Template: "room", Scope: resource.PerReplica}}}}}
}

// heldClock is the time of holds, which a test moves.
type heldClock struct {
	d  *Dispatcher
	at time.Time // guarded by d.mu
}

func (c *heldClock) add(d time.Duration) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.at = c.at.Add(d)
}

// clocked is a daemon for which the time of holds stands still but for the test.
func (f *fixture) clocked() (*Dispatcher, *heldClock) {
	f.t.Helper()
	d := f.daemon()
	c := &heldClock{d: d, at: time.Now()}
	d.mu.Lock()
	d.state.clock = func() time.Time { return c.at }
	d.mu.Unlock()
	f.tending(d)
	return d, c
}

// along is a walk from the first job of a task on.
func along(task int64, n int) Walk { return Walk{Along: []Stretch{{Task: task}}, Limit: n} }

// say has a task do something with some of its jobs.
func (f *fixture) say(task int64, verb func(context.Context, pgx.Tx, Walk) ([]Walked, error), n int) {
	f.t.Helper()
	err := pgx.BeginFunc(context.Background(), f.pool, func(tx pgx.Tx) error {
		_, err := verb(context.Background(), tx, along(task, n))
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// slotQueue is pulls that wait at nodes.
type slotQueue struct {
	t       testing.TB
	d       *Dispatcher
	n       int
	answers chan answered
}

type answered struct {
	req   PullRequest
	reply PullReply
	err   error
}

func newSlotQueue(t testing.TB, d *Dispatcher) *slotQueue {
	return &slotQueue{t: t, d: d, answers: make(chan answered, 100)}
}

// pull asks at a node; it returns once the pull stands in line, or was answered.
func (a *slotQueue) pull(req PullRequest) {
	a.t.Helper()
	if req.WaitS == 0 {
		req.WaitS = 60
	}
	a.n++
	req.Pilot = fmt.Sprintf("pilot %d at %s", a.n, req.Node)
	a.d.mu.Lock()
	before := a.d.nPulls
	a.d.mu.Unlock()
	go func() {
		reply, err := a.d.Pull(context.Background(), req)
		a.answers <- answered{req, reply, err}
	}()
	eventually(a.t, "the pull stands in line", func() bool {
		a.d.mu.Lock()
		defer a.d.mu.Unlock()
		return a.d.nPulls > before
	})
}

// next is the next answer.
func (a *slotQueue) next() answered {
	a.t.Helper()
	select {
	case got := <-a.answers:
		return got
	case <-time.After(patience):
		a.d.mu.Lock()
		defer a.d.mu.Unlock()
		for id, g := range a.d.state.gangs.by {
			a.t.Logf("gang %d: %d jobs, lacks %q, %v", id, len(g.members), g.lacks, g.why)
		}
		a.t.Fatal("no answer")
	}
	return answered{}
}

// leases are those of n answers, in no order.
func (a *slotQueue) leases(n int) (all []Lease) {
	a.t.Helper()
	for range n {
		got := a.next()
		if got.err != nil {
			a.t.Fatalf("pull at %s: %v", got.req.Node, got.err)
		}
		all = append(all, got.reply.Leases...)
	}
	return all
}

// quiet says that no pull was answered, after the daemon has looked around.
func (a *slotQueue) quiet() {
	a.t.Helper()
	for range 3 {
		if _, err := a.d.Refresh(context.Background()); err != nil {
			a.t.Fatal(err)
		}
	}
	eventually(a.t, "nothing is being decided", func() bool {
		a.d.mu.Lock()
		defer a.d.mu.Unlock()
		for _, c := range a.d.line.classes {
			if c.awake || c.blocked {
				return false
			}
		}
		return true
	})
	select {
	case got := <-a.answers:
		a.t.Fatalf("answered: %+v", got)
	default:
	}
}

// oneStart says that leases were granted in one transaction: by one row of the ledger.
func (f *fixture) oneStart(leases []Lease) {
	f.t.Helper()
	var ids []int64
	for _, l := range leases {
		ids = append(ids, l.Job)
	}
	var n, rows int
	f.scan(&n, "SELECT count(*)::int FROM leases WHERE job_id = ANY ($1)", ids)
	f.scan(&rows, "SELECT count(DISTINCT xmin::text)::int FROM leases WHERE job_id = ANY ($1)", ids)
	if n != len(ids) || rows != 1 {
		f.t.Errorf("%d of %d leases, by %d transactions", n, len(ids), rows)
	}
}

// held is how many pulls are held for gangs.
func heldSlots(d *Dispatcher) (n int) {
	for _, h := range d.GangHolds() {
		n += h.Slots
	}
	return n
}

// Four of five slots ask: they are held until the fifth does; then all five start at once.
func TestGangStartsTogether(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, _ := f.clocked()
	ids := slices.Sorted(maps.Keys(f.enqueueLayout("A", gangOf(1, 5))))
	a := newSlotQueue(t, d)
	busy := f.busySlot(d, "n1")
	for range 4 {
		a.pull(slotAt("q", "n1"))
	}
	eventually(t, "four slots are held", func() bool { return heldSlots(d) == 4 })
	f.enqueue(batch{share: "A", n: 3, priority: 9})
	other := pullAt(t, d, slotAt("q", "n2"))
	a.quiet()
	e, err := d.Explain(context.Background(), ids[0])
	if err != nil || e.Queues[0].Gate != GateGangWaiting || !strings.HasPrefix(e.Queues[0].Reason, "5 jobs start together on one node: 4 slots of node n1 with 4 cores are held for it until ") {
		t.Errorf("%v %+v", err, e.Queues)
	}
	finish(t, d, Finished, busy, other)
	a.pull(slotAt("q", "n1"))
	leases := a.leases(5)
	f.oneStart(leases)
	if heldSlots(d) != 0 {
		t.Error("slots are held still")
	}
	f.recountClaims()
	f.recount()
}

// busySlot has a job run at a node, in a slot of one core.
func (f *fixture) busySlot(d *Dispatcher, node string) Lease {
	f.t.Helper()
	id := f.enqueue(batch{share: "A", n: 1, priority: 100})[0]
	req := slotAt("q", node)
	req.Pilot, req.Only.Task = "busy at "+node, f.tasks
	l := pullAt(f.t, d, req)
	if l.Job != id {
		f.t.Fatalf("job %d, want %d", l.Job, id)
	}
	return l
}

// A node that is too small for it is not held, whoever asks; a larger one starts it.
func TestGangWaitsForANodeOfItsSize(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, _ := f.clocked()
	f.enqueueLayout("A", gangOf(1, 5))
	f.enqueue(batch{share: "A", n: 4, priority: -1})
	a := newSlotQueue(t, d)
	for range 4 {
		a.pull(slotAt("q", "n1"))
	}
	for _, l := range a.leases(4) {
		if l.Env["DIVVY_CLAIM_ROOM_NODE"] != "" {
			t.Errorf("%v", l)
		}
	}
	wide := slotAt("q", "n2")
	wide.Slot.Cores, wide.Max = 8, 3
	a.pull(wide)
	a.quiet() // it takes three jobs at a time
	wide.Max = 2
	a.pull(wide)
	f.oneStart(a.leases(2))
	f.recountClaims()
	f.recount()
}

// Held slots are others' once the hold is over, for as long; then they are held again.
func TestGangHoldIsBounded(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, clock := f.clocked()
	f.enqueueLayout("A", gangOf(1, 5))
	f.busySlot(d, "n1")
	a := newSlotQueue(t, d)
	for range 4 {
		a.pull(slotAt("q", "n1"))
	}
	eventually(t, "four slots are held", func() bool { return heldSlots(d) == 4 })
	f.enqueue(batch{share: "A", n: 2, priority: -1})
	clock.add(59 * time.Second)
	a.quiet()
	clock.add(time.Second)
	leases := a.leases(2)
	a.quiet()
	if heldSlots(d) != 0 {
		t.Error("slots are held while it is others' turn")
	}
	f.enqueue(batch{share: "A", n: 1, priority: -1})
	leases = append(leases, a.leases(1)...)
	clock.add(60 * time.Second)
	eventually(t, "the slot that asks is held again", func() bool { return heldSlots(d) == 1 })
	f.enqueue(batch{share: "A", n: 1, priority: -1})
	a.quiet()
	for range 4 { // the pilots of the three and of the busy slot are back
		a.pull(slotAt("q", "n1"))
	}
	f.oneStart(a.leases(5))
	finish(t, d, Finished, leases...)
	f.recountClaims()
	f.recount()
}

// A pull whose wait is over while it is held is answered none; the next one of its node counts.
func TestHeldPullIsAnsweredInTime(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, _ := f.clocked()
	f.enqueueLayout("A", gangOf(1, 2))
	f.busySlot(d, "n1")
	a := newSlotQueue(t, d)
	req := slotAt("q", "n1")
	req.WaitS = 0.2
	a.pull(req)
	if got := a.next(); !errors.Is(got.err, ErrNoJobs) {
		t.Fatalf("%+v", got)
	}
	a.pull(slotAt("q", "n1"))
	eventually(t, "it is held", func() bool { return heldSlots(d) == 1 })
	a.pull(slotAt("q", "n1"))
	f.oneStart(a.leases(2))
	f.recountClaims()
}

// A job of a gang that runs is tried again alone; when nobody is left, those that are have to start together again.
func TestGangRejoinsAlone(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, _ := f.clocked()
	names := f.enqueueLayout("A", gangOf(1, 3))
	a := newSlotQueue(t, d)
	for range 3 {
		a.pull(slotAt("q", "n1"))
	}
	leases := a.leases(3)
	f.expire(d, leases[0])
	noneAt(t, d, slotAt("q", "n2"))
	again := pullAt(t, d, slotAt("q", "n1"))
	if again.Job != leases[0].Job || names[again.Job] == "" {
		t.Errorf("%+v", again)
	}
	f.recountClaims()
	finish(t, d, Finished, leases[1])
	finish(t, d, Failed, leases[2])
	finish(t, d, Failed, again) // in this order: at the end nobody holds it
	eventually(t, "it is unbound", func() bool {
		var state string
		f.scan(&state, "SELECT state FROM resource_claims")
		return state == "pending"
	})
	noneAt(t, d, slotAt("q", "n1"))
	a.pull(slotAt("q", "n2"))
	a.pull(slotAt("q", "n2"))
	f.oneStart(a.leases(2))
	f.recountClaims()
	f.recount()
}

// expire has a lease run out.
func (f *fixture) expire(d *Dispatcher, l Lease) {
	f.t.Helper()
	f.exec("UPDATE leases SET expires_at = now() - interval '1 second' WHERE job_id = $1", l.Job)
	d.mu.Lock()
	d.swept = time.Time{}
	d.mu.Unlock()
	if _, err := d.Expire(context.Background()); err != nil {
		f.t.Fatal(err)
	}
}

// Two gangs want one node: it is held for the first, then, since that did not get there, for the other one.
func TestTwoGangsAtANode(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, clock := f.clocked()
	big := f.enqueueLayout("A", gangOf(1, 4))
	f.busySlot(d, "n1")
	f.busySlot(d, "n1")
	f.exec("UPDATE leases SET pilot = pilot || job_id")
	a := newSlotQueue(t, d)
	a.pull(slotAt("q", "n1"))
	a.pull(slotAt("q", "n1"))
	eventually(t, "two slots are held", func() bool { return heldSlots(d) == 2 })
	if h := d.GangHolds(); len(h) != 1 || h[0].Members != 4 {
		t.Fatalf("%+v", h)
	}
	small := f.enqueueLayout("A", gangOf(1, 3))
	passed := GangHold{Members: -1} // a minute was let pass at this hold, or at none: not again before it is another
	eventually(t, "they are held for the other gang", func() bool {
		var h GangHold
		if list := d.GangHolds(); len(list) > 0 {
			h = list[0]
		}
		if h.Members != 3 && (h.Members != passed.Members || !h.Since.Equal(passed.Since)) {
			passed = h
			clock.add(time.Minute)
		}
		return h.Members == 3 && h.Slots == 2
	})
	a.pull(slotAt("q", "n1"))
	leases := a.leases(3)
	f.oneStart(leases)
	for _, l := range leases {
		if small[l.Job] == "" || big[l.Job] != "" {
			t.Errorf("job %d is not of the small gang", l.Job)
		}
	}
	finish(t, d, Finished, leases...)
	for range 4 {
		a.pull(slotAt("q", "n1"))
	}
	f.oneStart(a.leases(4))
	f.recountClaims()
	f.recount()
}

// Roles that need different slots, and a slot that takes several jobs.
func TestGangOfRoles(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, _ := f.clocked()
	l := gangOf(1, 1)
	l.Groups[0].Members = []resource.Role{{Name: "head", Count: 1}, {Name: "work", Count: 4}}
	f.enqueueRoles("A", l, func(k resource.JobKey) job.Requirements {
		if k.Role == "head" {
			return job.Requirements{Cores: 4, Labels: map[string]string{"fast": "yes"}}
		}
		return job.Requirements{Cores: 1, MemoryMB: 1000}
	})
	a := newSlotQueue(t, d)
	wide := slotAt("q", "n1")
	wide.Slot, wide.Max = job.Slot{Cores: 4, MemoryMB: 3000}, 8
	a.pull(wide)
	a.pull(slotAt("q", "n1"))
	a.quiet()
	wide.Slot.Labels = map[string]string{"fast": "yes"}
	a.pull(wide)
	leases := a.leases(3)
	if len(leases) != 5 {
		t.Fatalf("%d leases", len(leases))
	}
	f.oneStart(leases)
	f.recountClaims()
	f.recount()
}

// Limits that are enough for a part of it keep all of it back, and it says so.
func TestGangAndLimits(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 4))
	d, _ := f.clocked()
	f.enqueueLayout("A", gangOf(1, 3))
	busy := f.busySlot(d, "n2")
	other := f.busySlot(d, "n2")
	a := newSlotQueue(t, d)
	for range 3 {
		a.pull(slotAt("q", "n1"))
	}
	a.quiet()
	if got := d.gangWhy(t); !slices.Contains(got, "n1: all of it needs 3 at once, and the limit of queue 1 has not so much free") {
		t.Errorf("%q", got)
	}
	finish(t, d, Finished, busy)
	f.oneStart(a.leases(3))
	finish(t, d, Finished, other)
	f.recountClaims()
	f.recount()
}

// gangWhy is why gangs wait, by node.
func (d *Dispatcher) gangWhy(t testing.TB) (all []string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.state.gangs.by {
		for at, why := range g.why {
			all = append(all, at.Node+": "+why)
		}
	}
	return all
}
