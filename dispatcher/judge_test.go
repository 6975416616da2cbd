package dispatcher

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
)

// rules is a policy for tests.
func rules(rules ...retry.Rule) *retry.Policy { return &retry.Policy{Rules: rules} }

// judge runs the step until nothing is due.
func judge(t testing.TB, d *Dispatcher) {
	t.Helper()
	for n := 1; n > 0; {
		var err error
		if n, err = d.Judge(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// terms gives a task terms for its attempts.
func (f *fixture) terms(task int64, terms retry.Terms) {
	f.t.Helper()
	f.exec("UPDATE payloads SET retry = $2 WHERE task_id = $1", task, terms)
}

// fail ends the attempt of a lease as failed.
func fail(t testing.TB, d *Dispatcher, l Lease, message string) (jobState string) {
	t.Helper()
	reply, err := d.Finish(context.Background(), FinishRequest{Pilot: "p", Results: []Result{{Lease: l.Lease, Outcome: Failed, Message: message}}})
	if err != nil || reply.Verdicts[0].Verdict != Recorded {
		t.Fatalf("failed: %+v %v", reply, err)
	}
	return reply.Verdicts[0].JobState
}

// lose has a lease run out.
func (f *fixture) lose(d *Dispatcher) {
	f.t.Helper()
	pgtest.Age(f.t, f.pool, "leases", "expires_at", time.Hour)
	d.mu.Lock()
	d.swept = time.Time{}
	d.mu.Unlock()
	if _, err := d.Expire(context.Background()); err != nil {
		f.t.Fatal(err)
	}
}

// jobIs checks the state of a job, and that its reason has some words.
func jobIs(t testing.TB, d *Dispatcher, id int64, state, words string) JobRow {
	t.Helper()
	j, err := d.Job(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if j.State != state || !strings.Contains(j.Reason, words) || (words == "") != (j.Reason == "") {
		t.Fatalf("job is %s (%s), want %s (%s)", j.State, j.Reason, state, words)
	}
	return j
}

func TestFailuresAndLossesAreCountedApart(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	job := f.enqueue(batch{share: "A", n: 1, attempts: 10})[0]
	f.terms(f.tasks, retry.Terms{MaxFailures: 2, QuarantineAfter: 3})
	for range 2 {
		pull1(t, d, "q")
		f.lose(d)
		jobIs(t, d, job, "waiting", "")
		judge(t, d)
		jobIs(t, d, job, "ready", "")
	}
	if got := fail(t, d, pull1(t, d, "q"), "first"); got != "waiting" {
		t.Errorf("the pilot hears that the job is %s", got)
	}
	judge(t, d)
	for range 2 { // three in a row are not reached: one failed in between
		pull1(t, d, "q")
		f.lose(d)
		judge(t, d)
	}
	jobIs(t, d, job, "ready", "")
	f.recount()
	fail(t, d, pull1(t, d, "q"), "second")
	judge(t, d)
	j := jobIs(t, d, job, "failed", "failed for good: failed 2 times, max_failures is 2")
	if j.Attempt != 6 || len(j.Attempts) != 6 || j.Attempts[5].Judged != j.Reason {
		t.Errorf("%+v", j)
	}
	f.recount()
}

func TestQuarantine(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.apply(func(v *shares.Version) { v.Attempts = &retry.Policy{QuarantineAfter: 3} })
	d := f.daemon()
	job := f.enqueue(batch{share: "A", n: 1, attempts: 10})[0]
	for range 2 {
		pull1(t, d, "q")
		f.lose(d)
		jobIs(t, d, job, "ready", "") // at once: it cannot be three yet
	}
	pull1(t, d, "q")
	f.lose(d)
	judge(t, d)
	jobIs(t, d, job, "failed", "quarantined: 3 attempts were lost in a row")
	f.recount()
}

func TestBackoff(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	job := f.enqueue(batch{share: "A", n: 1, attempts: 10})[0]
	task := f.tasks
	f.terms(task, retry.Terms{BackoffS: 1800})
	fail(t, d, pull1(t, d, "q"), "")
	judge(t, d)
	j := jobIs(t, d, job, "waiting", "again after 30m0s")
	if left := time.Until(*j.TryAt); left < 29*time.Minute || left > 31*time.Minute {
		t.Errorf("it is tried again in %s", left)
	}
	e := explained(t, d, job, func(e Explanation) bool { return len(e.Queues) == 1 })
	if e.Gate != GateBackoff || !strings.Contains(e.Summary, "it is tried again at "+j.TryAt.UTC().Format(time.RFC3339)) {
		t.Errorf("explained: %+v", e)
	}
	noJob(t, d, "q")
	f.recount()
	pgtest.Age(t, f.pool, "retries", "due_at", time.Hour)
	judge(t, d)
	fail(t, d, pull1(t, d, "q"), "")
	judge(t, d)
	jobIs(t, d, job, "waiting", "again after 1h0m0s")
	if err := d.KillJob(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	pgtest.Age(t, f.pool, "retries", "due_at", 2*time.Hour)
	judge(t, d)
	jobIs(t, d, job, "cancelled", "")
	var left int
	f.scan(&left, "SELECT count(*) FROM retries")
	if left != 0 {
		t.Errorf("%d rows of retries are left", left)
	}
	f.recount()
}

// Rules change what the next attempt asks for, within what a queue has; else it is tried again as it was.
func TestRulesChangeTheNextAttempt(t *testing.T) {
	big := slots("big", 10)
	big.MemoryMB, big.WalltimeS = 4000, 3600
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("small", 10), big)
	f.apply(func(v *shares.Version) {
		v.Queues[0].MemoryMB, v.Queues[0].WalltimeS = 2000, 600
		v.Attempts = rules(
			retry.Rule{Name: "oom", Match: retry.Match{Message: regexp.MustCompile("memory")}, Action: retry.IncreaseMemory, Factor: 1.5},
			retry.Rule{Name: "late", Match: retry.Match{Message: regexp.MustCompile("too long")}, Action: retry.IncreaseWalltime, Factor: 4},
			retry.Rule{Name: "here", Match: retry.Match{Message: regexp.MustCompile("broken node")}, Action: retry.AvoidQueue},
			retry.Rule{Name: "bug", Match: retry.Match{Message: regexp.MustCompile("syntax")}, Action: retry.NoRetry})
	})
	d := f.daemon()
	job := f.enqueue(batch{share: "A", n: 1, attempts: 10, need: job.Requirements{MemoryMB: 2000, WalltimeS: 600}})[0]
	again := func(queue, message, words string) Lease {
		t.Helper()
		fail(t, d, pull1(t, d, queue), message)
		judge(t, d)
		f.recount()
		l := pull1(t, d, "big")
		j := jobIs(t, d, job, "leased", "")
		if got := j.Attempts[len(j.Attempts)-2].Judged; got != words {
			t.Errorf("after %q: %q, want %q", message, got, words)
		}
		// Back to where it was, with this attempt charged.
		finish(t, d, Cancelled, l)
		return l
	}
	if l := again("small", "out of memory", "rule oom: increase_memory ×1.5: memory 2000 → 3000 MB"); l.MemoryMB != 3000 || l.WalltimeS != 600 {
		t.Errorf("lease %+v", l)
	}
	noJob(t, d, "small")
	if l := again("big", "took too long", "rule late: increase_walltime ×4: walltime 600 → 2400 s"); l.WalltimeS != 2400 {
		t.Errorf("lease %+v", l)
	}
	again("big", "out of memory", "rule oom: increase_memory ×1.5: as before, since no queue could run it then: memory 3000 → 4500 MB")
	again("big", "broken node", "rule here: avoid_queue: as before, since no queue could run it then: not at big")

	fail(t, d, pull1(t, d, "big"), "syntax error")
	judge(t, d)
	jobIs(t, d, job, "failed", "failed for good: rule bug: no_retry")

	other := f.enqueue(batch{share: "A", n: 1, attempts: 10})[0]
	fail(t, d, pull1(t, d, "small"), "broken node")
	judge(t, d)
	noJob(t, d, "small")
	if e := explained(t, d, other, func(e Explanation) bool { return len(e.Queues) == 2 }); !slices.ContainsFunc(e.Queues, func(q QueueGate) bool { return q.Reason == "the task, or a retry rule, leaves it out: !small" }) {
		t.Errorf("explained: %+v", e.Queues)
	}
	if l := pull1(t, d, "big"); l.Job != other {
		t.Errorf("lease %+v", l)
	}
	f.recount()
}

// A job that has used up its attempts does not say what became of one before: that was tried again.
func TestReasonOfAJobWithoutAttemptsLeft(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.apply(func(v *shares.Version) {
		v.Attempts = rules(retry.Rule{Name: "rehearsed", Action: retry.NoRetry, DryRun: true}, retry.Rule{Name: "wait", Action: retry.Wait, Backoff: time.Second})
	})
	reg := prometheus.NewRegistry()
	d, stop := f.runWith(Config{Pool: f.pool, Load: f.load, Metrics: reg})
	t.Cleanup(stop)
	job := f.enqueue(batch{share: "A", n: 1, attempts: 2})[0]
	fail(t, d, pull1(t, d, "q"), "x")
	judge(t, d)
	jobIs(t, d, job, "waiting", "rule wait")
	pgtest.Age(t, f.pool, "retries", "due_at", time.Hour)
	judge(t, d)
	fail(t, d, pull1(t, d, "q"), "x")
	jobIs(t, d, job, "failed", "")
	want := map[string]float64{"rehearsed dry_run": 1, "wait later": 1}
	if got := metricOf(t, reg, "divvy_attempts_judged_total"); !cmp.Equal(got, want) {
		t.Errorf("judged %v, want %v", got, want)
	}
}

// Another daemon judges, and a paused task's jobs are judged too: they come back as waiting ones of a paused task do.
func TestJudgedElsewhere(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.apply(func(v *shares.Version) { v.Attempts = rules(retry.Rule{Name: "all", Action: retry.Limit, Times: 5}) })
	d, other := f.daemon(), f.daemon()
	jobs := f.enqueue(batch{share: "A", n: 3, attempts: 10})
	for range jobs {
		fail(t, d, pull1(t, d, "q"), "x")
	}
	f.say(f.tasks, ReleaseTasks, 10)
	jobIs(t, other, jobs[0], "waiting", "")
	judge(t, other)
	for range jobs {
		if l := pull1(t, d, "q"); l.Attempt != 2 {
			t.Errorf("lease %+v", l)
		}
	}
	f.recount()
}

// A job whose piece is to become two waits until that is done; then there are two, with the attempts that were left.
func TestSplitSmaller(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	f.apply(func(v *shares.Version) {
		v.Attempts = rules(retry.Rule{Name: "big", Match: retry.Match{Message: regexp.MustCompile("too large")}, Action: retry.SplitSmaller, Backoff: time.Hour})
	})
	d := f.daemon()
	job := f.enqueue(batch{share: "A", n: 1, attempts: 3})[0]
	f.exec("UPDATE jobs SET inputs = '{a,b,c}', first_event = 10, n_events = 7 WHERE id = $1", job)
	fail(t, d, pull1(t, d, "q"), "too large")
	judge(t, d)
	j := jobIs(t, d, job, "waiting", "rule big: split_smaller")
	e := explained(t, d, job, func(e Explanation) bool { return len(e.Queues) == 1 })
	if want := "its piece is split, and it is tried again with one half, at " + j.TryAt.UTC().Format(time.RFC3339); e.Gate != GateBackoff || !strings.Contains(e.Summary, want) {
		t.Errorf("explained: %+v", e)
	}
	pgtest.Age(t, f.pool, "retries", "due_at", time.Hour)
	judge(t, d)
	jobIs(t, d, job, "waiting", "rule big: split_smaller")
	if err := pgx.BeginFunc(t.Context(), f.pool, func(tx pgx.Tx) error {
		found, err := LockSplittings(t.Context(), tx, []int64{job, job + 1})
		if err != nil || len(found) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
		s := found[0]
		return Halve(t.Context(), tx, []Halves{{Splitting: s, KeepInputs: 2, KeepEvents: 4,
			Rest: &NewJob{Task: s.Task, Share: s.Share, Index: 99, Inputs: s.Inputs[2:], FirstEvent: 14, Events: 3}}})
	}); err != nil {
		t.Fatal(err)
	}
	f.recount()
	first, second := pull1(t, d, "q"), pull1(t, d, "q")
	if first.Job != job || first.Attempt != 2 || second.Attempt != 1 {
		t.Errorf("leases %+v, %+v", first, second)
	}
	var got string
	f.scan(&got, "SELECT string_agg(concat_ws(' ', inputs, first_event, n_events, max_attempts), '; ' ORDER BY id) FROM jobs")
	if got != "{a,b} 10 4 3; {c} 14 3 2" {
		t.Error(got)
	}
	if j, err := d.Job(t.Context(), job); err != nil || j.Attempts[0].Judged != fmt.Sprintf("rule big: split_smaller: the second half of its piece is job %d", second.Job) {
		t.Errorf("%+v, %v", j, err)
	}
	f.recount()
}
