package dispatcher

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

func TestLifeOfAJob(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 4))
	d := f.daemon()
	ids := f.enqueue(batch{share: "A", n: 2})

	first, second := pull1(t, d, "q"), pull1(t, d, "q")
	if first.Job != ids[0] || second.Job != ids[1] || first.Share != "A" || !slices.Equal(second.Command, []string{"echo", "1"}) {
		t.Fatalf("leases %+v %+v, want jobs %v in order", first, second, ids)
	}
	reply, err := d.Renew(context.Background(), RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: first.Lease, State: Running}, {Lease: "junk"}}})
	if err != nil || !slices.Equal(reply.Kept, []string{first.Lease}) || !slices.Equal(reply.Lost, []string{"junk"}) {
		t.Fatalf("renew: %+v %v", reply, err)
	}
	if v := finish(t, d, Finished, first)[0]; v.Verdict != Recorded || v.JobState != "finished" {
		t.Fatalf("finish: %+v", v)
	}
	if v := finish(t, d, Finished, first)[0]; v.Verdict != Recorded || v.JobState != "finished" {
		t.Fatalf("finish again: %+v", v)
	}
	if v := finish(t, d, Failed, first)[0]; v.Verdict != LeaseLost || v.JobState != "finished" {
		t.Fatalf("finish otherwise: %+v", v)
	}
	if v := finish(t, d, Failed, second)[0]; v.Verdict != Recorded || v.JobState != "ready" {
		t.Fatalf("fail: %+v", v)
	}
	again := pull1(t, d, "q")
	if again.Job != second.Job || again.Attempt != 2 {
		t.Fatalf("second attempt: %+v", again)
	}
	if v := finish(t, d, Finished, second)[0]; v.Verdict != LeaseLost || v.JobState != "leased" {
		t.Fatalf("superseded attempt: %+v", v)
	}
	if _, err := d.JobLog(context.Background(), again.Job, 2); !errors.Is(err, ErrNoAttempt) {
		t.Errorf("log of an attempt that runs: %v", err)
	}
	if _, err := d.JobLog(context.Background(), again.Job+1000, 0); !errors.Is(err, ErrNoJob) {
		t.Errorf("log of no job: %v", err)
	}
	finish(t, d, Finished, again)
	noJob(t, d, "q")
	job, err := d.Job(context.Background(), second.Job)
	if err != nil || job.State != "finished" || len(job.Attempts) != 2 || job.Attempts[0].State != "failed" {
		t.Fatalf("job: %+v %v", job, err)
	}
	f.recount()
}

func TestLeaseThatRunsOut(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 1))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 1, attempts: 2})
	for attempt := 1; attempt <= 2; attempt++ {
		l := pull1(t, d, "q")
		if l.Attempt != attempt {
			t.Fatalf("attempt %d, want %d", l.Attempt, attempt)
		}
		pgtest.Age(t, f.pool, "leases", "expires_at", time.Hour)
		d.swept = time.Time{}
		if n, err := d.Expire(context.Background()); n != 1 || err != nil {
			t.Fatalf("expire: %d %v", n, err)
		}
		if v := finish(t, d, Finished, l)[0]; v.Verdict != LeaseLost {
			t.Fatalf("late finish: %+v", v)
		}
	}
	noJob(t, d, "q")
	job, err := d.Jobs(context.Background(), JobFilter{State: "failed"})
	if err != nil || len(job) != 1 {
		t.Fatalf("failed jobs: %v %v", job, err)
	}
	f.recount()
}

// A pull is looked up while a grant of it is on its way, which takes nothing since the request id was used: what was found
// out is not lost, or it would be granted in vain again and again until its wait is over.
func TestRecallDuringAGrant(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 2})
	req := PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, RequestID: "r1", WaitS: 5}
	first, err := d.Pull(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, d, Finished, first.Leases...)
	p, err := newPull(req)
	if err != nil {
		t.Fatal(err)
	}
	p.taken, p.recall = true, recalling
	if d.recallPull(p); p.recall != notRecalled {
		t.Errorf("recall is %d, want %d: to be looked up when the grant has come to nothing", p.recall, notRecalled)
	}
}

// A repeat whose lease has run out is told so, though nobody has taken the lease back yet: whoever began its job now would run it
// beside the next one who is given it.
func TestRepeatAfterItsLeaseRanOut(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d, other := f.daemon(), f.daemon()
	f.enqueue(batch{share: "A", n: 2})
	req := PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 2}, Max: 2, RequestID: "r1", WaitS: 5}
	got, err := d.Pull(context.Background(), req)
	if err != nil || len(got.Leases) != 2 {
		t.Fatal(got, err)
	}
	first, _ := parseLease(got.Leases[0].Lease)
	f.exec("UPDATE leases SET expires_at = now() - interval '1 second' WHERE job_id = $1", first.job)
	again, err := other.Pull(context.Background(), req)
	if err != nil || len(again.Leases) != 1 || again.Leases[0].Lease != got.Leases[1].Lease || again.Leases[0].ExpiresIn <= 0 {
		t.Errorf("one has run out: %+v %v", again, err)
	}
	f.exec("UPDATE leases SET expires_at = now() - interval '1 second'")
	if again, err := other.Pull(context.Background(), req); !errors.Is(err, ErrRequestOver) {
		t.Errorf("both have run out: %+v %v", again, err)
	}
}

// A request id is one of a pilot at a queue: pilots of another queue that have the same names are not in its way.
func TestRequestIDIsOfAQueue(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10), slots("r", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 2})
	var leases []string
	for _, queue := range []string{"q", "r"} {
		got, err := d.Pull(context.Background(), PullRequest{Queue: queue, Pilot: "p", Slot: job.Slot{Cores: 1}, RequestID: "1", WaitS: 5})
		if err != nil {
			t.Fatal(queue, err)
		}
		leases = append(leases, got.Leases[0].Lease)
	}
	if leases[0] == leases[1] {
		t.Error("both got one lease")
	}
	for i, want := range []string{"q", "r"} {
		if at, err := d.LeaseQueues(context.Background(), []string{leases[i], "no lease"}); err != nil || len(at) != 1 || at[leases[i]] != want {
			t.Errorf("lease %d is at %v, want %s: %v", i, at, want, err)
		}
	}
	// A queue that this daemon has not heard of.
	key, _ := parseLease(leases[1])
	f.exec("INSERT INTO queues (id, name, position) OVERRIDING SYSTEM VALUE VALUES (77, 's', 9)")
	f.exec("UPDATE leases SET queue_id = 77 WHERE job_id = $1", key.job)
	if at, err := d.LeaseQueues(context.Background(), leases); err != nil || at[leases[0]] != "q" || at[leases[1]] != "s" {
		t.Errorf("leases at q and s are at %v: %v", at, err)
	}
	f.exec("UPDATE leases SET queue_id = 78 WHERE job_id = $1", key.job)
	if at, err := d.LeaseQueues(context.Background(), leases[1:]); err != nil || len(at) != 1 || at[leases[1]] != "" {
		t.Errorf("a lease at a queue without a row is at %v: %v", at, err)
	}
}

func TestRequestID(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d, other := f.daemon(), f.daemon()
	f.enqueue(batch{share: "A", n: 3})
	req := PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, RequestID: "r1", WaitS: 5}
	first, err := d.Pull(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]*Dispatcher{"the same daemon": d, "another daemon": other} {
		repeat, err := at.Pull(context.Background(), req)
		if err != nil || repeat.Leases[0].Lease != first.Leases[0].Lease || repeat.Leases[0].Command[1] != first.Leases[0].Command[1] {
			t.Errorf("repeat at %s: %+v %v, want %+v", name, repeat, err, first)
		}
	}
	differs := req
	differs.Max = 2
	if _, err := other.Pull(context.Background(), differs); !errors.Is(err, ErrRequestReused) {
		t.Errorf("other body: %v", err)
	}
	finish(t, d, Finished, first.Leases...)
	if _, err := other.Pull(context.Background(), req); !errors.Is(err, ErrRequestOver) {
		t.Errorf("after the end: %v", err)
	}
	var n int
	f.scan(&n, "SELECT count(*) FROM leases")
	if n != 0 {
		t.Errorf("%d leases are left, want 0: repeats took jobs", n)
	}
	// A 204 is not remembered.
	none := PullRequest{Queue: "q", Pilot: "p2", Slot: job.Slot{Cores: 1, Labels: map[string]string{"x": "y"}}, RequestID: "r2"}
	f.exec("UPDATE jobs SET state = 'waiting'")
	if _, err := d.Pull(context.Background(), none); !errors.Is(err, ErrNoJobs) {
		t.Errorf("nothing there: %v", err)
	}
	f.exec("UPDATE jobs SET state = 'ready'")
	none.WaitS = 5
	if _, err := d.Pull(context.Background(), none); err != nil {
		t.Errorf("the same id after a 204: %v", err)
	}
}

func TestLongPoll(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	got := make(chan error, 1)
	var at time.Time
	go func() {
		_, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", WaitS: 20})
		at = time.Now()
		got <- err
	}()
	eventually(t, "the pull waits", func() bool { return d.Queues()[0].Waiting == 1 })
	start := time.Now()
	f.enqueue(batch{share: "A", n: 1})
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	t.Logf("woken after %v", at.Sub(start))
}

func TestKillPauseResume(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 5})
	l := pull1(t, d, "q")
	change := func(do func() error) {
		t.Helper()
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	tx := func(do func(tx pgxTx) error) { change(func() error { return beginFunc(ctx, f.pool, do) }) }
	tx(func(tx pgxTx) error {
		w, err := HoldTasks(ctx, tx, along(1, 100))
		if w[0].Idle != 4 || w[0].More {
			t.Errorf("held %+v, want 4", w)
		}
		return err
	})
	noJob(t, d, "q")
	f.recount()
	tx(func(tx pgxTx) error {
		w, err := ReleaseTasks(ctx, tx, along(1, 3))
		if w[0].Idle != 3 || !w[0].More {
			t.Errorf("released %+v, want 3 and more", w)
		}
		return err
	})
	pull1(t, d, "q")
	tx(func(tx pgxTx) error {
		c, err := CancelTasks(ctx, tx, along(1, 100), "killed")
		if c[0].Idle != 3 || c[0].Leased != 2 {
			t.Errorf("cancelled %+v, want 3 ready and 2 leased", c)
		}
		return err
	})
	noJob(t, d, "q")
	reply, err := d.Renew(ctx, RenewRequest{Pilot: "p", Leases: []Renewal{{Lease: l.Lease, State: Running}}})
	if err != nil || len(reply.Cancel) != 1 || reply.Cancel[0].Reason != "killed" || reply.Cancel[0].GraceS != cancelGrace {
		t.Fatalf("renew of a killed job: %+v %v", reply, err)
	}
	if v := finish(t, d, Cancelled, l)[0]; v.JobState != "cancelled" {
		t.Fatalf("end of a killed job: %+v", v)
	}
	f.recount()
}
