package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// target sets target slots of a share, named by its path; empty: of all.
func (f *fixture) target(d *Dispatcher, share string, t TargetSlots) {
	f.t.Helper()
	if share != "" {
		node, ok := f.version.Tree.ByPath(share)
		if !ok {
			f.t.Fatalf("no share %s", share)
		}
		t.Share = f.version.Tree.Nodes[node].ID
	}
	if err := d.SetTargetSlots(context.Background(), t); err != nil {
		f.t.Fatal(err)
	}
}

// pullAll pulls single cores until nothing is left.
func pullAll(t testing.TB, d *Dispatcher, queue string) (got []Lease) {
	t.Helper()
	for {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: queue, Pilot: "p", Slot: job.Slot{Cores: 1}})
		if errors.Is(err, ErrNoJobs) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, reply.Leases...)
	}
}

func TestTargetSlots(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1, node("x", 1), node("y", 1)), node("B", 1)}, slots("q", 10), slots("other", 10))
	d := f.daemon()
	for _, share := range []string{"A/x", "A/y", "B"} {
		f.enqueue(batch{share: share, n: 40})
	}
	f.target(d, "A", TargetSlots{Queue: "q", Slots: 3})
	leases := pullAll(t, d, "q")
	held := f.heldBy()
	if len(leases) != 10 || held["A/x"]+held["A/y"] != 3 {
		t.Fatalf("%d leases, %v; want ten, three of A", len(leases), held)
	}
	f.recount()
	want := []TargetSlotsStanding{{Share: "A", Slots: 3, HeldCores: 3}}
	if diff := cmp.Diff(want, d.Queues()[0].TargetSlots); diff != "" || d.Queues()[1].TargetSlots != nil {
		t.Errorf("the queue says (-want +got):\n%s", diff)
	}
	var job int64
	for _, l := range leases {
		if l.Share == "B" {
			finish(t, d, Finished, l)
			break
		}
	}
	if l := pull1(t, d, "q"); l.Share != "B" {
		t.Errorf("%s, want B: A has all its target slots", l.Share)
	}
	f.scan(&job, "SELECT min(j.id) FROM jobs j JOIN shares s ON s.id = j.share_id WHERE s.path = 'A/x' AND NOT EXISTS (SELECT FROM leases l WHERE l.job_id = j.id)")
	finish(t, d, Finished, leases[len(leases)-1])
	e, err := d.Explain(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if at := gateAt(e, "q"); at.Gate != GateCap || !strings.Contains(at.Reason, "target slots of the queue for A are 3: 3 are held, it needs 1") {
		t.Errorf("explain says %s, %q", at.Gate, at.Reason)
	}
	if got := pullAll(t, d, "other"); len(got) != 10 || f.heldBy()["A/x"]+f.heldBy()["A/y"] < 8 {
		t.Errorf("the other queue gave %d, %v", len(got), f.heldBy())
	}
	for _, l := range leases {
		if strings.HasPrefix(l.Share, "A/") {
			finish(t, d, Finished, l)
			break
		}
	}
	pullAll(t, d, "q")
	var ofA int
	if f.scan(&ofA, `SELECT count(*) FROM leases l JOIN shares s ON s.id = l.share_id JOIN queues q ON q.id = l.queue_id
		WHERE s.path LIKE 'A/%' AND q.name = 'q'`); ofA != 3 {
		t.Errorf("A holds %d at q again, want 3", ofA)
	}
	f.target(d, "A", TargetSlots{Queue: "q", Slots: -1})
	var rows int
	if f.scan(&rows, "SELECT count(*) FROM target_slots"); rows != 0 {
		t.Errorf("%d rows are left", rows)
	}
	f.recount()
}

// Of jobs of one share, only those of the class are kept back, whichever comes first.
func TestTargetSlotsOfAClass(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 64))
	d := f.daemon()
	f.target(d, "", TargetSlots{Queue: "q", Class: "MCORE", Slots: 8})
	f.enqueue(batch{share: "A", n: 3, cores: 8})
	wide := func() (PullReply, error) {
		return d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 8}})
	}
	first, err := wide()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wide(); !errors.Is(err, ErrNoJobs) {
		t.Fatalf("%v, want no job: the 8 cores are held", err)
	}
	f.enqueue(batch{share: "A", n: 1})
	got, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 8}, WaitS: 5})
	if err != nil || got.Leases[0].Cores != 1 {
		t.Fatalf("%+v, %v; want the job of one core", got, err)
	}
	f.enqueue(batch{share: "A", n: 1, need: job.Requirements{MemoryMB: 64000}, cores: 8})
	if got, err = d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 8}, WaitS: 5}); err != nil || got.Leases[0].MemoryMB != 64000 {
		t.Fatalf("%+v, %v; want the job of class MCORE_HIMEM", got, err)
	}
	finish(t, d, Finished, first.Leases...)
	if _, err := wide(); err != nil {
		t.Fatalf("%v, want the next wide job", err)
	}
	f.recount()
}

// They end by themselves, and what waits hears of it.
func TestTargetSlotsExpire(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	clock := &testClock{}
	d := f.still(clock)
	f.enqueue(batch{share: "A", n: 20})
	f.target(d, "A", TargetSlots{Queue: "q", Slots: 2, Until: time.Now().Add(time.Hour)})
	if got := pullAll(t, d, "q"); len(got) != 2 {
		t.Fatalf("%d leases, want 2", len(got))
	}
	if next := d.Standing().NextChange; next == nil || time.Until(*next) > time.Hour {
		t.Fatalf("next change %v, want within the hour", next)
	}
	if n := step(t, d.Switch); n != 0 {
		t.Fatal("over before its time")
	}
	clock.ahead = 2 * time.Hour
	if n := step(t, d.Switch); n != 1 {
		t.Fatal("not over in time")
	}
	eventually(t, "the slots are free", func() bool { return len(pullAll(t, d, "q")) > 0 || f.heldBy()["A"] == 10 })
	if n := step(t, d.Switch); n != 0 {
		t.Error("switched twice")
	}
	f.recount()
}

// Two daemons hold them together, fewer than are held kill nothing, and a queue that comes later has them at once.
func TestTargetSlotsHold(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 20))
	d, other := f.daemon(), f.daemon()
	f.enqueue(batch{share: "A", n: 60})
	f.target(d, "A", TargetSlots{Queue: "q", Slots: 7})
	f.target(d, "A", TargetSlots{Queue: "later", Slots: 1})
	var leases []Lease
	eventually(t, "seven are held", func() bool {
		leases = append(leases, pullAll(t, d, "q")...)
		leases = append(leases, pullAll(t, other, "q")...)
		return f.heldBy()["A"] >= 7
	})
	if diff := cmp.Diff(map[string]int{"A": 7}, f.heldBy()); diff != "" {
		t.Fatalf("held (-want +got):\n%s", diff)
	}
	f.target(other, "A", TargetSlots{Queue: "q", Slots: 5})
	for n := range 2 {
		finish(t, d, Finished, leases[n])
		noJob(t, d, "q")
		noJob(t, other, "q")
	}
	finish(t, d, Finished, leases[2])
	eventually(t, "one is given again", func() bool { return len(pullAll(t, d, "q"))+len(pullAll(t, other, "q")) > 0 })
	if held := f.heldBy()["A"]; held != 5 {
		t.Errorf("%d held, want 5", held)
	}
	f.apply(func(v *shares.Version) {
		later := slots("later", 4)
		f.scan((*int32)(&later.ID), "INSERT INTO queues (name, position) VALUES ('later', 1) RETURNING id")
		v.Queues = append(v.Queues, later)
	})
	eventually(t, "the new queue gives one", func() bool { return f.heldBy()["A"] == 6 || len(pullAny(t, d, "later")) > 0 })
	noJob(t, d, "later")
	f.recount()
}

// Target slots bound what a share wants: others need not wait for it, and nothing is reclaimed for what it may not run.
func TestTargetSlotsBoundTheWant(t *testing.T) {
	for _, c := range []struct {
		name   string
		target TargetSlots
		share  string
		cores  int
		want   float64
		asked  float64 // of others
	}{
		{"a share", TargetSlots{Slots: 4}, "A/x", 1, 4, 4},
		{"its parent", TargetSlots{Slots: 4}, "A", 1, 4, 4},
		{"all, and others hold more", TargetSlots{Slots: 4}, "", 1, 4, 0}, // as with a queue of four slots
		{"its class", TargetSlots{Slots: 8, Class: "MCORE"}, "", 4, 8, 8},
		{"another class", TargetSlots{Slots: 4, Class: "MCORE"}, "", 1, 30, 60},
		{"nothing at all", TargetSlots{Slots: 0}, "A/x", 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			terms := &shares.Reclaim{Grace: shares.Duration(time.Minute), Scope: "parent", By: "ratio"}
			owner := node("x", 1)
			owner.Plan.Owned, owner.Plan.Reclaim = shares.Of(20*1000), terms
			f := newFixture(t, []shares.Spec{node("A", 1, owner), node("B", 1)}, slots("q", 30))
			d := f.daemon()
			f.enqueue(batch{share: "B", n: 30})
			if got := pullAll(t, d, "q"); len(got) != 30 {
				t.Fatalf("B got %d", len(got))
			}
			c.target.Queue = "q"
			f.target(d, c.share, c.target)
			f.enqueue(batch{share: "A/x", n: 60 / c.cores, cores: c.cores})
			eventually(t, "the daemon knows of it", func() bool {
				return byPath(d, "default")["A/x"].Ready > 0 && byPath(d, "default")["A/x"].Demand == c.want
			})
			d.mu.Lock()
			defer d.mu.Unlock()
			var asked shares.Units
			for _, p := range d.state.reclaimPools() {
				for _, a := range p.Asks {
					asked += a.Back.Units
				}
			}
			if asked.Float() != c.asked {
				t.Errorf("%v units are asked for, want %v", asked.Float(), c.asked)
			}
		})
	}
}

// While two daemons lease and end and the cap changes, no more is held than the larger of the last two allows, and in the
// end all that it allows.
func TestTargetSlotsUnderLoad(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 24))
	daemons := []*Dispatcher{f.daemon(), f.daemon()}
	f.enqueue(batch{share: "A", n: 5000})
	f.enqueue(batch{share: "B", n: 5000})
	f.target(daemons[0], "A", TargetSlots{Queue: "q", Slots: 5})
	ctx, stop := context.WithCancel(t.Context())
	var loops sync.WaitGroup
	for i := range 8 {
		loops.Go(func() {
			d := daemons[i%2]
			for ctx.Err() == nil {
				reply, err := d.Pull(ctx, PullRequest{Queue: "q", Pilot: fmt.Sprint(i), Slot: job.Slot{Cores: 4}, Max: 4, WaitS: 0.05})
				if err != nil {
					continue
				}
				req := FinishRequest{Pilot: fmt.Sprint(i)}
				for _, l := range reply.Leases {
					req.Results = append(req.Results, Result{Lease: l.Lease, Outcome: Finished})
				}
				if _, err := d.Finish(context.WithoutCancel(ctx), req); err != nil {
					t.Error(err)
				}
			}
		})
	}
	held := func() (n int) {
		f.scan(&n, "SELECT count(*) FROM leases l JOIN shares s ON s.id = l.share_id WHERE s.path = 'A'")
		return n
	}
	ended := func(share string) (n int) {
		f.scan(&n, "SELECT count(*) FROM ended_jobs e JOIN shares s ON s.id = e.share_id WHERE s.path LIKE $1 || '%'", share)
		return n
	}
	last := 5
	for _, slots := range []int{9, 3, 0, 6, 5} {
		f.target(daemons[slots%2], "A", TargetSlots{Queue: "q", Slots: slots})
		before := ended("")
		eventually(t, "the work goes on", func() bool {
			if n := held(); n > max(last, slots) {
				t.Errorf("%d held with %d target slots, %d before", n, slots, last)
			}
			return ended("") > before+100
		})
		last = slots
	}
	stop()
	loops.Wait()
	if n := ended("A"); n == 0 {
		t.Error("A never had a job")
	}
	eventually(t, "all that it allows is given", func() bool {
		for _, d := range daemons {
			for _, l := range pullAll(t, d, "q") {
				if l.Share == "B" { // which gets slots for which the other daemon has the escrow of A
					finish(t, d, Finished, l)
				}
			}
		}
		return held() == 5
	})
	f.recount()
}

// pullAny is one pull at a queue that the daemon may not know yet.
func pullAny(t testing.TB, d *Dispatcher, queue string) []Lease {
	t.Helper()
	reply, err := d.Pull(context.Background(), PullRequest{Queue: queue, Pilot: "p", Slot: job.Slot{Cores: 1}})
	if err != nil && !errors.Is(err, ErrNoJobs) && !errors.Is(err, ErrUnknownQueue) {
		t.Fatal(err)
	}
	return reply.Leases
}

func TestJobClass(t *testing.T) {
	for _, c := range []struct {
		cores  int
		memory int64
		class  string
	}{{1, 0, "SCORE"}, {1, 2000, "SCORE"}, {1, 2001, "SCORE_HIMEM"}, {8, 16000, "MCORE"}, {8, 16001, "MCORE_HIMEM"}} {
		if got := job.Class(job.Requirements{Cores: c.cores, MemoryMB: c.memory}); got != c.class {
			t.Errorf("%d cores, %d MB: %s, want %s", c.cores, c.memory, got, c.class)
		}
	}
}
