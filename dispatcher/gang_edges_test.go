package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// gangGate is why a job waits at the first queue.
func gangGate(t testing.TB, d *Dispatcher, job int64) string {
	t.Helper()
	e, err := d.Explain(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	return string(e.Queues[0].Gate) + ": " + e.Queues[0].Reason
}

// A task that is paused while its gang gathers lets go of the slots, and gathers again when it is resumed; one that is killed
// leaves nothing.
func TestGangOfATaskThatIsPaused(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, _ := f.clocked()
	f.enqueueLayout("A", gangOf(1, 3))
	task := f.tasks
	f.busySlot(d, "n1")
	a := newSlotQueue(t, d)
	a.pull(slotAt("q", "n1"))
	a.pull(slotAt("q", "n1"))
	eventually(t, "two slots are held", func() bool { return heldSlots(d) == 2 })
	f.say(task, HoldTasks, 2)
	eventually(t, "the slots are let go", func() bool { return heldSlots(d) == 0 })
	a.pull(slotAt("q", "n1"))
	a.quiet()
	f.enqueue(batch{share: "A", n: 1, priority: -1})
	a.leases(1)
	f.say(task, ReleaseTasks, 10)
	eventually(t, "two slots are held again", func() bool { return heldSlots(d) == 2 })
	f.say(task, CancelIdle, 1)
	f.oneStart(a.leases(2))
	f.recountClaims()
	f.recount()
}

// A gang of which some jobs are held back waits for them; when they are cancelled it starts without them.
func TestGangWithoutThoseThatWereHeldBack(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.enqueueLayout("A", gangOf(1, 3))
	f.say(f.tasks, HoldTasks, 2)
	a := newSlotQueue(t, d)
	a.pull(slotAt("q", "n1"))
	eventually(t, "the gang waits for them", func() bool { return strings.Contains(d.leftOver(), "2 of its jobs may not run now") })
	f.say(f.tasks, CancelIdle, 2)
	f.oneStart(a.leases(1))
	f.recountClaims()
	f.recount()
}

// What is held is forgotten with the daemon; the next one starts the gang all the same.
func TestGangAndANewDaemon(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	f.enqueueLayout("A", gangOf(1, 3))
	first, stop := f.runDaemon()
	a := newSlotQueue(t, first)
	f.busySlot(first, "n1")
	a.pull(slotAt("q", "n1"))
	eventually(t, "a slot is not held for what does not fit", func() bool { return len(first.gangWhy(t)) == 1 })
	stop()
	if got := a.next(); !errors.Is(got.err, ErrStopping) {
		t.Fatalf("%+v", got)
	}
	d := f.daemon()
	a = newSlotQueue(t, d)
	for range 3 {
		a.pull(slotAt("q", "n1"))
	}
	f.oneStart(a.leases(3))
	f.recountClaims()
	f.recount()
}

// Slots that ask at two daemons: each holds those that it has; where all of them ask the gang starts, at no other daemon too.
func TestGangAtTwoDaemons(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	one, clock := f.clocked()
	two := f.daemon()
	f.enqueueLayout("A", gangOf(1, 2))
	f.busySlot(one, "n1")
	a, b := newSlotQueue(t, one), newSlotQueue(t, two)
	a.pull(slotAt("q", "n1"))
	b.pull(slotAt("q", "n1"))
	eventually(t, "both are held", func() bool { return heldSlots(one) == 1 && heldSlots(two) == 1 })
	clock.add(time.Minute)
	f.enqueue(batch{share: "A", n: 1, priority: -1})
	a.leases(1)
	b.pull(slotAt("q", "n1"))
	f.oneStart(b.leases(2))
	f.recountClaims()
	f.recount()
}

// The database refuses a part of a gang, whatever a daemon believes.
func TestPartsOfGangsAreRefused(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	f.enqueueLayout("A", gangOf(1, 3))
	var claim, queue int64
	f.scan(&claim, "SELECT id FROM resource_claims")
	f.scan(&queue, "SELECT id FROM queues")
	bind := func(n int) error {
		_, err := f.pool.Exec(context.Background(), query["bind_claims"], pgx.StrictNamedArgs{"ids": []int64{claim}, "ns": []int{n},
			"queues": []int64{queue}, "nodes": []string{"n1"}, "devices": []string{"[]"}, "shares": []int{1}, "binds": []bool{true}})
		return err
	}
	refused := func(n int, why string) {
		t.Helper()
		if err := bind(n); pg.Code(err) != uniqueViolation || !strings.Contains(err.Error(), "a gang starts with all of its jobs only") {
			t.Errorf("%s: %v", why, err)
		}
	}
	refused(2, "two of three")
	f.exec("UPDATE claim_gangs SET members = 4")
	refused(3, "three of four, of which one is not made yet")
	f.exec("UPDATE claim_gangs SET members = 3")
	if err := bind(3); err != nil {
		t.Error(err)
	}
	f.exec("UPDATE resource_claims SET sharers = 0")
	refused(1, "one that would rejoin when nobody is there")
	f.exec("UPDATE resource_claims SET sharers = 2")
	if err := bind(1); err != nil {
		t.Error(err)
	}
}

// Units that its jobs and their claim need are asked for together: none of it starts with a part of them.
func TestGangOfResources(t *testing.T) {
	f := gpuSite(t, 6)
	d, _ := f.clocked()
	f.own = map[string]int64{"gpu": 1}
	l := gangOf(1, 3)
	l.Templates[0].Resources = map[string]int64{"gpu": 4}
	ids := f.enqueueLayout("A", l)
	a := newSlotQueue(t, d)
	for range 3 {
		a.pull(slotAt("q", "n1"))
	}
	a.quiet()
	for id := range ids {
		if got := gangGate(t, d, id); got != "gang_waiting: 3 jobs start together on one node: node n1: all of it needs 7 of gpu: resource_capacity" {
			t.Error(got)
		}
	}
	f.apply(func(v *shares.Version) { v.Resources = []shares.Resource{units("gpu", 7)} })
	leases := a.leases(3)
	f.oneStart(leases)
	if got := heldOf(t, d, "gpu"); got["u"] != 7 {
		t.Errorf("%v", got)
	}
	finish(t, d, Finished, leases...)
	eventually(t, "the claim is released", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM resource_claims WHERE state <> 'released'")
		return n == 0
	})
	eventually(t, "its units are counted as free, once the daemon hears of its own commit", func() bool { return heldOf(t, d, "gpu")["u"] == 0 })
	f.recountClaims()
	f.recount()
}

// Devices of a claim may be those of several slots of the node.
func TestGangTakesDevicesOfItsSlots(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, _ := f.clocked()
	l := gangOf(1, 2)
	l.Templates[0].Node, l.Templates[0].Devices = false, map[string]int{"gpu": 2}
	f.enqueueLayout("A", l)
	a := newSlotQueue(t, d)
	a.pull(slotAt("q", "n1", "gpu:0"))
	a.quiet()
	a.pull(slotAt("q", "n1", "gpu:1"))
	for _, l := range a.leases(2) {
		if l.Env["DIVVY_CLAIM_ROOM_DEVICES"] != "gpu:0,gpu:1" {
			t.Errorf("%v", l.Env)
		}
	}
	f.recountClaims()
}

// A gang comes to a slot when it is its share's turn, and counts as one step: who is further below its target comes first.
func TestGangInTheOrderOfShares(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 100))
	d, _ := f.clocked()
	f.busySlot(d, "n9") // A has one more than B
	f.enqueueLayout("A", gangOf(1, 4))
	f.enqueue(batch{share: "B", n: 10})
	a := newSlotQueue(t, d)
	wide := slotAt("q", "n1")
	wide.Slot.Cores, wide.Max = 4, 8
	a.pull(wide)
	for _, share := range []string{"B", "A"} {
		if got := a.leases(1); len(got) != 4 || slices.ContainsFunc(got, func(l Lease) bool { return l.Share != share }) {
			t.Errorf("want four of %s: %+v", share, got)
		}
		wide.Node = "n2"
		a.pull(wide)
	}
	a.leases(1)
	f.recount()
}

// A gang whose template the site has only later.
func TestGangOfAMissingTemplate(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, _ := f.clocked()
	l := gangOf(1, 3)
	l.Templates = nil
	f.enqueueLayout("A", l)
	a := newSlotQueue(t, d)
	for range 2 {
		a.pull(slotAt("q", "n1"))
	}
	a.quiet()
	f.apply(func(v *shares.Version) {
		v.ClaimTemplates = []shares.ClaimTemplate{{Name: "room", Node: true, Gang: true, Linger: time.Minute}}
	})
	eventually(t, "the claim has its template", func() bool {
		var n int
		f.scan(&n, `SELECT count(*) FROM resource_claims WHERE template @> '{"gang": true, "members": 3}' AND linger_s = 0 AND NOT unplaced`)
		return n == 1
	})
	a.quiet()
	a.pull(slotAt("q", "n1"))
	f.oneStart(a.leases(3))
	f.recountClaims()
	f.recount()
}

// A gang that there are to be fewer of than was said starts with those, though nothing else happens.
func TestGangOfFewerThanWasSaid(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d, clock := f.clocked()
	ids := f.enqueueLayout("A", gangOf(1, 2))
	f.exec("UPDATE claim_gangs SET members = 3")
	a := newSlotQueue(t, d)
	a.pull(slotAt("q", "n1"))
	a.pull(slotAt("q", "n1"))
	a.quiet()
	for id := range ids {
		if got := gangGate(t, d, id); got != "gang_waiting: 2 jobs start together on one node: 1 of its jobs are not made yet" {
			t.Error(got)
		}
	}
	f.exec("UPDATE claim_gangs SET members = 2")
	clock.add(2 * time.Second)
	f.oneStart(a.leases(2))
	f.recountClaims()
}

// Nodes by names that nobody uses twice do not fill the memory; where slots are held, and where a gang was tried last, is known still.
func TestNodesOfGangsAreBounded(t *testing.T) {
	gs := newGangs()
	g := &gang{why: map[resource.Place]string{}}
	gs.by[1] = g
	at := func(i int) resource.Place { return resource.Place{Queue: "q", Node: fmt.Sprint(i)} }
	const many = mostKept / slotKept
	for i := range many {
		n := gs.node(at(i))
		n.tried, n.slots["p"] = time.Unix(int64(i), 0), nodeSlot{}
		g.why[at(i)] = "too small"
	}
	gs.nodes[at(0)].by = g
	gs.bound()
	if kept := len(gs.nodes) * 2 * slotKept; kept > mostKept || kept < mostKept*7/10 {
		t.Errorf("%d bytes are kept of %d", kept, mostKept)
	}
	if len(g.why) != len(gs.nodes) || gs.nodes[at(0)] == nil || gs.nodes[at(1)] != nil || gs.nodes[at(many-1)] == nil {
		t.Errorf("%d nodes with %d reasons; the first is held, the last was tried last", len(gs.nodes), len(g.why))
	}

	n := gs.node(at(0))
	for i := range mostSlots + 10 {
		p := &pull{req: PullRequest{Pilot: fmt.Sprint(i)}}
		n.whole([]gangOffer{{p, resource.Room{Cores: 1}}}, time.Unix(0, 0))
	}
	if len(n.slots) != mostSlots {
		t.Errorf("%d slots of one node are kept, want %d", len(n.slots), mostSlots)
	}
}
