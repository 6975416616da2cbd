package rules

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/tally"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

// judge folds, judges until nothing is due, and brings the verdicts into the log.
func (w *world) judge() (said []entry.Entry) {
	w.t.Helper()
	for {
		w.fold()
		n, err := w.rules.Judge(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if said = append(said, w.take()...); n == 0 {
			return said
		}
	}
}

// learn has Decide know what there is.
func (w *world) learn() {
	w.t.Helper()
	if _, err := w.rules.Learn(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) terms(task int64, terms policy.Terms) {
	w.exec("UPDATE payloads SET retry = $2 WHERE task_id = $1", task, terms)
}

// note is what was made of the last attempt of a job.
func (w *world) note(job int64) string {
	return scan[string](w, "SELECT coalesce((SELECT note FROM judgements WHERE job_id = $1 ORDER BY attempt DESC LIMIT 1), '')", job)
}

// is checks what became of a job's attempt, and what was noted.
func (w *world) is(e entry.Ended, next entry.Next, said []entry.Entry, want string, note string) {
	w.t.Helper()
	got := "nothing"
	for _, s := range said {
		switch s := s.(type) {
		case entry.Enqueued:
			got = "again"
			if s.Attempt != e.Attempt+1 || s.Low != e.Job || s.User != "ann" {
				w.t.Errorf("enqueued %+v after %+v", s, e)
			}
		case entry.Closed:
			got = "failed"
		}
	}
	if e.Next != next || got != want || !strings.Contains(w.note(e.Job), note) || (note == "") != (w.note(e.Job) == "") {
		w.t.Fatalf("after attempt %d: %c and then %s (%s), want %c and then %s (%s)", e.Attempt, e.Next, got, w.note(e.Job), next, want, note)
	}
}

func TestFailuresAndLossesAreCountedApart(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	w.enqueue("A", 1, 10, job.Requirements{})
	w.terms(w.tasks, policy.Terms{MaxFailures: 2, QuarantineAfter: 3})
	for i, outcome := range []entry.Outcome{entry.Lost, entry.Lost, entry.Failed, entry.Lost, entry.Lost} { // three in a row are not reached
		e := w.end(w.must("q"), outcome, "")
		w.is(e, entry.Waits, w.judge(), "again", "")
		if w.learn(); i == 0 && len(w.rules.known.blocks) != 1 {
			t.Error("the block was not learnt")
		}
	}
	e := w.end(w.must("q"), entry.Failed, "second")
	w.is(e, entry.Waits, w.judge(), "failed", "failed for good: failed 2 times, max_failures is 2")
	if e.Attempt != 6 {
		t.Errorf("%+v", e)
	}
}

func TestQuarantine(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	w.adopt(func(v *shares.Version) { v.Attempts = &policy.Policy{QuarantineAfter: 3} })
	w.enqueue("A", 1, 10, job.Requirements{})
	w.is(w.end(w.must("q"), entry.Lost, ""), entry.Waits, w.judge(), "again", "") // nothing is known yet
	w.learn()
	w.is(w.end(w.must("q"), entry.Lost, ""), entry.Again, w.judge(), "nothing", "") // at once: it cannot be three yet
	w.is(w.end(w.must("q"), entry.Lost, ""), entry.Waits, w.judge(), "failed", "quarantined: 3 attempts were lost in a row")
}

// The last attempt of several waits until it is known whether all of them were charged.
func TestAttemptsRunOut(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	one, two := w.enqueue("A", 1, 1, job.Requirements{}), w.enqueue("A", 1, 2, job.Requirements{})
	w.rules.known.block(one)
	w.rules.known.block(two)
	w.learn()
	w.is(w.end(w.must("q"), entry.Failed, ""), entry.Over, w.judge(), "nothing", "")
	w.is(w.end(w.must("q"), entry.Returned, ""), entry.Again, w.judge(), "nothing", "")
	w.is(w.end(w.must("q"), entry.Failed, ""), entry.Waits, w.judge(), "again", "") // the second, of which one was not charged
	w.is(w.end(w.must("q"), entry.Failed, ""), entry.Waits, w.judge(), "failed", "")
	other := w.enqueue("A", 1, 1, job.Requirements{})
	w.rules.known.block(other)
	w.learn()
	w.is(w.end(w.must("q"), entry.Cancelled, "the pilot gave up"), entry.Waits, w.judge(), "failed", "")
}

func TestBackoff(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	id := w.enqueue("A", 1, 10, job.Requirements{})
	w.terms(w.tasks, policy.Terms{BackoffS: 1800})
	e := w.end(w.must("q"), entry.Failed, "")
	w.is(e, entry.Waits, w.judge(), "nothing", "again after 30m0s")
	due := scan[time.Time](w, "SELECT due_at FROM retries WHERE job_id = $1 AND attempt = 1 AND NOT split", id)
	if left := time.Until(due); left < 29*time.Minute || left > 31*time.Minute {
		t.Errorf("it is tried again in %s", left)
	}
	if _, ok := w.pull("q"); ok {
		t.Fatal("a job before its time")
	}
	pgtest.Age(t, w.pool, "retries", "due_at", time.Hour)
	w.is(e, entry.Waits, w.judge(), "again", "again after 30m0s")
	e = w.end(w.must("q"), entry.Failed, "")
	w.is(e, entry.Waits, w.judge(), "nothing", "again after 1h0m0s")

	w.exec("UPDATE idle_ranges SET state = 'r'") // killed, or whatever: it does not wait any more
	pgtest.Age(t, w.pool, "retries", "due_at", 2*time.Hour)
	if said := w.judge(); len(said) > 0 || scan[int](w, "SELECT count(*) FROM retries") > 0 {
		t.Errorf("said %v of a job that does not wait", said)
	}
}

// Rules change what the next attempt asks for, within what a queue has; else it is tried again as it was.
func TestRulesChangeTheNextAttempt(t *testing.T) {
	small, big := slots("small", 10), slots("big", 10)
	small.MemoryMB, small.WalltimeS = 2000, 600
	big.MemoryMB, big.WalltimeS = 4000, 3600
	w := newWorld(t, []shares.Spec{node("A", 1)}, small, big)
	w.adopt(func(v *shares.Version) {
		v.Attempts = &policy.Policy{Rules: []policy.Rule{
			{Name: "oom", Match: policy.Match{Message: regexp.MustCompile("memory")}, Action: policy.IncreaseMemory, Factor: 1.5},
			{Name: "late", Match: policy.Match{Message: regexp.MustCompile("too long")}, Action: policy.IncreaseWalltime, Factor: 4},
			{Name: "here", Match: policy.Match{Message: regexp.MustCompile("broken node")}, Action: policy.AvoidQueue},
			{Name: "bug", Match: policy.Match{Message: regexp.MustCompile("syntax")}, Action: policy.NoRetry}}}
	})
	w.learn()
	w.enqueue("A", 1, 10, job.Requirements{MemoryMB: 2000, WalltimeS: 600})
	for _, c := range []struct {
		queue, message, note string
		memory, walltime     int64
	}{
		{"small", "out of memory", "rule oom: increase_memory ×1.5: memory 2000 → 3000 MB", 3000, 600},
		{"big", "took too long", "rule late: increase_walltime ×4: walltime 600 → 2400 s", 3000, 2400},
		{"big", "out of memory", "rule oom: increase_memory ×1.5: as before, since no queue could run it then: memory 3000 → 4500 MB", 3000, 2400},
		{"big", "broken node", "rule here: avoid_queue: as before, since no queue could run it then: not at big", 3000, 2400},
	} {
		e := w.end(w.must(c.queue), entry.Failed, c.message)
		w.is(e, entry.Waits, w.judge(), "again", c.note)
		v := w.m.View()
		for r := range v.Ready() {
			if need, _ := v.Shape(r.Shape); r.Ready > 0 && (need.MemoryMB != c.memory || need.WalltimeS != c.walltime) {
				t.Errorf("after %q it needs %+v", c.message, need)
			}
		}
	}
	w.is(w.end(w.must("big"), entry.Failed, "syntax error"), entry.Waits, w.judge(), "failed", "failed for good: rule bug: no_retry")
}

// A job that has used up its attempts does not say what became of one before: that was tried again.
func TestReasonOfAJobWithoutAttemptsLeft(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	w.adopt(func(v *shares.Version) {
		v.Attempts = &policy.Policy{Rules: []policy.Rule{{Name: "rehearsed", Action: policy.NoRetry, DryRun: true},
			{Name: "wait", Action: policy.Wait, Backoff: time.Second}}}
	})
	w.enqueue("A", 1, 2, job.Requirements{})
	e := w.end(w.must("q"), entry.Failed, "x")
	w.is(e, entry.Waits, w.judge(), "nothing", "rule wait")
	pgtest.Age(t, w.pool, "retries", "due_at", time.Hour)
	w.judge()
	e = w.end(w.must("q"), entry.Failed, "x")
	w.is(e, entry.Waits, w.judge(), "failed", "rule wait") // the note of the first one
	if n := scan[int](w, "SELECT count(*) FROM judgements WHERE attempt = 2"); n != 0 {
		t.Error("something is noted of the last attempt")
	}
	if want := map[tally.Judged]int64{{Rule: "wait", Verdict: "later"}: 1, {Rule: "rehearsed", Verdict: "dry_run"}: 1}; !cmp.Equal(w.counted.Judged, want) {
		t.Errorf("judged %v, want %v", w.counted.Judged, want)
	}
}

// A job whose piece is to become two is the generator's when its backoff is over.
func TestSplitSmaller(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	w.adopt(func(v *shares.Version) {
		v.Attempts = &policy.Policy{Rules: []policy.Rule{{Name: "big", Action: policy.SplitSmaller, Backoff: time.Hour}}}
	})
	id := w.enqueue("A", 1, 3, job.Requirements{})
	w.is(w.end(w.must("q"), entry.Failed, ""), entry.Waits, w.judge(), "nothing", "rule big: split_smaller")
	splits := func() string {
		return scan[string](w, "SELECT coalesce(string_agg(concat_ws(' ', job_id, task_id, shape_id, attempt), '; ' ORDER BY job_id), '') FROM splittings")
	}
	if splits() != "" {
		t.Fatal("it is split before its time")
	}
	pgtest.Age(t, w.pool, "retries", "due_at", 2*time.Hour)
	if said := w.judge(); len(said) > 0 {
		t.Errorf("said %v of a job that the generator splits", said)
	}
	if got, want := splits(), fmt.Sprintf("%d %d 1 2", id, w.tasks); got != want {
		t.Errorf("to be split: %s, want %s", got, want)
	}
	w.adopt(func(v *shares.Version) {
		v.Attempts = &policy.Policy{Rules: []policy.Rule{{Name: "big", Action: policy.SplitSmaller}}}
	})
	w.enqueue("A", 1, 3, job.Requirements{})
	w.end(w.must("q"), entry.Failed, "")
	if w.judge(); !strings.Contains(splits(), ";") || scan[int](w, "SELECT count(*) FROM retries") > 0 {
		t.Errorf("to be split at once: %s", splits())
	}
}

// Several daemons judge at once, some of them with crashes: each job is judged once.
func TestJudgedOnce(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 2000))
	w.enqueue("A", 1000, 10, job.Requirements{})
	w.terms(w.tasks, policy.Terms{MaxFailures: 5})
	for range 1000 {
		w.end(w.must("q"), entry.Failed, "")
	}
	w.fold()
	done := make(chan error)
	for range 4 {
		go func() {
			r := w.daemon()
			for range 40 {
				if _, err := r.Judge(w.t.Context()); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	jobs := int64(0)
	for _, e := range w.take() { // those of a page are one range
		jobs += e.(entry.Enqueued).Jobs()
	}
	if jobs != 1000 {
		t.Errorf("verdicts about %d jobs, of 1000", jobs)
	}
	n := 0
	for ; ; n++ {
		if l, ok := w.pull("q"); !ok {
			break
		} else if l.Attempt != 2 {
			t.Fatalf("lease %+v", l)
		}
	}
	if n != 1000 {
		t.Errorf("%d jobs are ready again, want 1000", n)
	}
}

// A job of which something is missing does not keep the others waiting.
func TestJudgedWithoutFacts(t *testing.T) {
	w := newWorld(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	w.enqueue("A", 1, 10, job.Requirements{})
	w.enqueue("A", 1, 10, job.Requirements{})
	w.exec("DELETE FROM job_blocks WHERE low = 1")
	a, b := w.end(w.must("q"), entry.Failed, ""), w.end(w.must("q"), entry.Failed, "")
	said := w.judge()
	if len(said) != 2 {
		t.Fatalf("said %v", said)
	}
	w.is(a, entry.Waits, said[:1], "failed", "its block, its shape or its attempts are not in the tables")
	w.is(b, entry.Waits, said[1:], "again", "")
}
