package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// treeT is the tree T of the sharing rules.
func treeT() []shares.Spec {
	return []shares.Spec{
		node("Prod", 70, node("MC", 50), node("Rep", 30), node("Val", 20)),
		node("Ana", 25, node("User", 80), node("Grp", 20)),
		node("Test", 5),
	}
}

// W6: 64 pulls at once at one daemon, two shares 50:50, 64 jobs each: 32/32 exactly, no job twice.
func TestW6(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 50), node("B", 50)}, slots("q", 64))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 64})
	f.enqueue(batch{share: "B", n: 64})
	var all sync.WaitGroup
	jobs := make([]int64, 64)
	for i := range jobs {
		all.Go(func() { jobs[i] = pull1(t, d, "q").Job })
	}
	all.Wait()
	if diff := cmp.Diff(map[string]int{"A": 32, "B": 32}, f.heldBy()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	seen := map[int64]bool{}
	for _, j := range jobs {
		if seen[j] {
			t.Errorf("job %d twice", j)
		}
		seen[j] = true
	}
	f.recount()
}

// P8: P1 with Val at 139 and one free slot: Val; if the slot cannot run any Val job: MC or Rep, never another branch.
func TestP8(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 1000))
	f.apply(func(v *shares.Version) { v.Queues[0].Labels = map[string]string{"val": "yes"} })
	d := f.daemon()
	for _, leaf := range []string{"Prod/MC", "Prod/Rep", "Ana/User", "Ana/Grp", "Test"} {
		f.enqueue(batch{share: leaf, n: 400})
	}
	f.enqueue(batch{share: "Prod/Val", n: 400, need: job.Requirements{Labels: map[string]string{"val": "yes"}}})
	var last Lease
	for n := 0; n < 1000; {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 50}, Max: 50, WaitS: 5})
		if err != nil {
			t.Fatal(err)
		}
		n += len(reply.Leases)
		for _, l := range reply.Leases {
			if l.Share == "Prod/Val" {
				last = l
			}
		}
	}
	want := map[string]int{"Prod/MC": 350, "Prod/Rep": 210, "Prod/Val": 140, "Ana/User": 200, "Ana/Grp": 50, "Test": 50}
	if diff := cmp.Diff(want, f.heldBy()); diff != "" {
		t.Fatalf("P1 (-want +got):\n%s", diff)
	}
	finish(t, d, Finished, last)
	if last = pull1(t, d, "q"); last.Share != "Prod/Val" {
		t.Fatalf("free slot: %s, want Val", last.Share)
	}
	finish(t, d, Finished, last)
	other := job.Slot{Cores: 1, Labels: map[string]string{"val": "no"}}
	reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: other, WaitS: 5})
	if err != nil || reply.Leases[0].Share != "Prod/MC" && reply.Leases[0].Share != "Prod/Rep" {
		t.Errorf("slot that cannot run Val: %+v %v, want a sibling", reply, err)
	}
	f.recount()
}

// P13: C falls while all is held: nothing is killed, nothing granted until held < C, then only below the new target.
func TestP13(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 20))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 20})
	var leases []Lease
	for range 20 {
		leases = append(leases, pull1(t, d, "q"))
	}
	f.enqueue(batch{share: "A", n: 20})
	f.enqueue(batch{share: "B", n: 20})
	f.apply(func(v *shares.Version) { n := 10; v.Queues[0].Slots = &n })
	for i := range 10 {
		noJob(t, d, "q")
		finish(t, d, Finished, leases[i])
	}
	noJob(t, d, "q") // held = C
	for i := range 5 {
		finish(t, d, Finished, leases[10+i])
		if l := pull1(t, d, "q"); l.Share != "B" {
			t.Fatalf("grant %d went to %s, want B: it is below the new target", i, l.Share)
		}
		noJob(t, d, "q")
	}
	if diff := cmp.Diff(map[string]int{"A": 5, "B": 5}, f.heldBy()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	f.recount()
}

// An 8-core slot takes one 8-core job, or single-core jobs as max allows.
func TestWideSlot(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 32))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1, cores: 8, priority: 1})
	f.enqueue(batch{share: "A", n: 20})
	pull := func(max int) []Lease {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 8}, Max: max, WaitS: 5})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Leases
	}
	for i, want := range []struct{ max, n, cores int }{{8, 1, 8}, {8, 8, 1}, {3, 3, 1}} {
		got := pull(want.max)
		if len(got) != want.n || got[0].Cores != want.cores {
			t.Errorf("pull %d: %d jobs of %d cores, want %d of %d", i, len(got), got[0].Cores, want.n, want.cores)
		}
	}
	// 19 cores are held, 9 single-core jobs are left, 13 slots are free.
	if got := pull(100); len(got) != 8 {
		t.Errorf("%d jobs, want the 8 that fit the slot", len(got))
	}
	f.recount()
}

// A max on a share and the slots of a queue hold, whoever pulls.
func TestHardLimits(t *testing.T) {
	a := node("A", 1)
	a.Plan.Max = shares.Of(3000)
	f := newFixture(t, []shares.Spec{a, node("B", 1)}, slots("q", 5))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 10})
	for range 3 {
		pull1(t, d, "q")
	}
	noJob(t, d, "q")
	f.enqueue(batch{share: "B", n: 10})
	first := pull1(t, d, "q")
	pull1(t, d, "q")
	noJob(t, d, "q")
	finish(t, d, Finished, first)
	if l := pull1(t, d, "q"); l.Share != "B" {
		t.Errorf("%s, want B: A is at its max", l.Share)
	}
	if diff := cmp.Diff(map[string]int{"A": 3, "B": 2}, f.heldBy()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

// A max that keeps back a share's wide job lets a narrow one through that becomes ready later, before anything has ended.
func TestNarrowJobBehindAWideOne(t *testing.T) {
	a := node("A", 1)
	a.Plan.Max = shares.Of(2000)
	f := newFixture(t, []shares.Spec{a, node("B", 1)}, slots("q", 20))
	d := f.daemon()
	f.enqueue(batch{share: "B", n: 2}) // so that the daemon knows both shapes from the start
	f.enqueue(batch{share: "A", n: 1, cores: 4})
	pull := func() (share string) {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 4}, WaitS: 5})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Leases[0].Share
	}
	if got := pull(); got != "B" {
		t.Fatalf("%s, want B: the job of A is wider than its max", got)
	}
	f.enqueue(batch{share: "A", n: 1})
	if _, err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := pull(); got != "A" {
		t.Errorf("%s, want A: it holds nothing, and its narrow job fits", got)
	}
}

func TestUnrunnable(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	ids := f.enqueue(batch{share: "A", n: 1, cores: 64})
	noJob(t, d, "q")
	var job JobRow
	eventually(t, "the daemon knows the shape", func() bool {
		var err error
		if job, err = d.Job(context.Background(), ids[0]); err != nil {
			t.Fatal(err)
		}
		return job.Reason != ""
	})
	if want := "no queue can run it; q: cores: needs 64, queue has 5 slots"; job.Reason != want {
		t.Errorf("reason %q, want %q", job.Reason, want)
	}
}

// Four daemons, more pilots than slots, short jobs: every job once, no limit exceeded at any commit, all counted.
func TestSeveralDaemons(t *testing.T) {
	const jobs, nSlots, most = 600, 8, 3
	a := node("A", 1)
	a.Plan.Max = shares.Of(most * 1000)
	f := newFixture(t, []shares.Spec{a, node("B", 1)}, slots("q", nSlots))
	var daemons []*Dispatcher
	for range 4 {
		daemons = append(daemons, f.daemon())
	}
	f.exec(`CREATE FUNCTION check_limits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF (SELECT count(*) FROM leases) > 8 OR (SELECT count(*) FROM leases l JOIN shares s ON s.id = l.share_id WHERE s.path = 'A') > 3
		THEN RAISE EXCEPTION 'a hard limit is exceeded'; END IF; RETURN NULL; END $$`)
	f.exec("CREATE TRIGGER check_limits AFTER INSERT ON leases FOR EACH STATEMENT EXECUTE FUNCTION check_limits()")
	f.enqueue(batch{share: "A", n: jobs / 2})
	f.enqueue(batch{share: "B", n: jobs / 2})
	var done atomic.Int64
	var pilots sync.WaitGroup
	for i := range 12 {
		pilots.Go(func() {
			for n := i; done.Load() < jobs; n++ {
				d := daemons[n%len(daemons)]
				reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: fmt.Sprint("p", i), Slot: job.Slot{Cores: 1}, WaitS: 0.2})
				if errors.Is(err, ErrNoJobs) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				finish(t, daemons[(n+1)%len(daemons)], Finished, reply.Leases...)
				done.Add(1)
			}
		})
	}
	start := time.Now()
	pilots.Wait()
	t.Logf("%d jobs in %v", jobs, time.Since(start))
	var ended, attempts int
	f.scan(&ended, "SELECT count(DISTINCT id) FROM ended_jobs WHERE state = 'finished'")
	f.scan(&attempts, "SELECT count(*) FROM attempts")
	if ended != jobs || attempts != jobs {
		t.Errorf("%d jobs finished in %d attempts, want %d", ended, attempts, jobs)
	}
	f.recount()
}

// A pull for many jobs gets them all at once although the daemon knows none of them yet.
func TestColdPullForMany(t *testing.T) {
	f := newFixture(t, treeT(), slots("q", 100))
	for _, leaf := range []string{"Prod/MC", "Prod/Rep", "Prod/Val", "Ana/User", "Ana/Grp", "Test"} {
		f.enqueue(batch{share: leaf, n: 50})
	}
	for range 3 {
		d := f.daemon()
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 20}, Max: 20, WaitS: 5})
		if err != nil || len(reply.Leases) != 20 {
			t.Errorf("%d jobs, %v; want 20", len(reply.Leases), err)
		}
	}
	f.recount()
}
