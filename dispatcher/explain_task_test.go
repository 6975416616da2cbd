package dispatcher

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// taskOf stores a task with pieces of which none is a job.
func (f *fixture) taskOf(id int64, state, share string, priority, pieces int, need job.Requirements) {
	f.t.Helper()
	err := pgx.BeginFunc(f.t.Context(), f.pool, func(tx pgx.Tx) error {
		shape, err := Intern(f.t.Context(), tx, need)
		if err != nil {
			return err
		}
		_, err = tx.Exec(f.t.Context(), `INSERT INTO tasks (id, name, user_name, state, resume_state, share_id, shape_id, spec, priority, n_jobs, n_pieces)
			OVERRIDING SYSTEM VALUE SELECT $1, 't', 'ann', $2, CASE WHEN $2 = 'paused' THEN 'ready' END, s.id, $4, '{}', $5, $6, $6 FROM shares s WHERE s.path = $3`, id, state, share, shape, priority, pieces)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// A task without a job is explained by a piece of it: what rules it out, or what comes before it and how long that takes.
func TestExplainTaskWithoutJobs(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 4))
	d := f.daemon()
	f.taskOf(1, "ready", "A", 5, 30, job.Requirements{Cores: 1})
	f.taskOf(2, "ready", "A", 0, 7, job.Requirements{Cores: 1})
	f.taskOf(3, "ready", "A", 0, 7, job.Requirements{Cores: 1, Queues: []string{"qq"}})
	f.taskOf(4, "paused", "A", 0, 7, job.Requirements{Cores: 1})
	f.enqueue(batch{share: "A", n: 10, task: 9})
	f.enqueue(batch{share: "A", n: 5, task: 10, priority: -1})
	refreshed(t, d)
	for task, want := range map[int64]struct {
		before  int64
		summary string
	}{
		1: {0, "None of its 30 pieces is a job yet."},
		2: {30 + 10, "None of its 7 pieces is a job yet. Of such a job: Its share is next, it is not: q: 40 ready jobs of A come before it."},
		3: {30 + 7 + 10, "None of its 7 pieces is a job yet. Of such a job: No queue can run it; queues: none is meant by qq, the site has q."},
		4: {30 + 7 + 7 + 10, "It is paused: divvy task resume 4 lets it go on."},
	} {
		e, err := d.ExplainTask(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		if e.Next == nil || e.Next.Job != 0 || e.Next.Position.Before != want.before || !strings.HasPrefix(e.Summary, want.summary) || e.Next.ETA == nil {
			t.Errorf("task %d: %q %+v, want %d before it and %q", task, e.Summary, e.Next, want.before, want.summary)
		}
	}
	// Where jobs end the wait is told.
	pull1(t, d, "q") // it runs on: targets share out what is used
	for range 3 {
		finish(t, d, Finished, pull1(t, d, "q"))
	}
	e, err := d.ExplainTask(t.Context(), 2)
	if err != nil || !e.Next.ETA.Known || e.Next.ETA.Seconds <= 0 || !strings.Contains(e.Summary, "It starts in") {
		t.Errorf("%q %+v, %v", e.Summary, e.Next.ETA, err)
	}
	if _, err := d.ExplainTask(t.Context(), 99); !errors.Is(err, ErrNoTask) {
		t.Errorf("%v", err)
	}
}

// A task with jobs is explained by the one that is to start next, and says how many run.
func TestExplainTaskByItsNextJob(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 2))
	d := f.daemon()
	f.taskOf(1, "running", "A", 0, 4, job.Requirements{Cores: 1})
	jobs := f.enqueue(batch{share: "A", n: 4, task: 1})
	f.exec("UPDATE tasks SET n_generated = 4, n_leased = 2, n_ready = 2 WHERE id = 1")
	pull1(t, d, "q")
	pull1(t, d, "q")
	e, err := d.ExplainTask(t.Context(), 1)
	if err != nil || e.Next == nil || e.Next.Job != jobs[2] || e.Next.Gate != GateCap || !strings.HasPrefix(e.Summary, "Pilots have 2 of its jobs. Its next job is ") {
		t.Errorf("%+v, %v", e, err)
	}
	f.exec("UPDATE tasks SET state = 'done', ended_at = now() WHERE id = 1")
	if e, err = d.ExplainTask(t.Context(), 1); err != nil || e.Next != nil || !strings.HasPrefix(e.Summary, "It is over: done.") {
		t.Errorf("%+v, %v", e, err)
	}
}

// Pieces before a task's own count at their size, and as far as a limit lets them become jobs.
func TestExplainTaskPiecesAhead(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 8))
	d := f.daemon()
	f.taskOf(1, "ready", "A", 5, 30, job.Requirements{Cores: 4})
	f.taskOf(2, "ready", "A", 4, 50, job.Requirements{Cores: 2})
	f.taskOf(3, "ready", "A", 3, 50, job.Requirements{Cores: 8})
	f.taskOf(4, "ready", "A", 0, 7, job.Requirements{Cores: 1})
	f.exec("UPDATE tasks SET quota = 20 WHERE id = 2")
	f.exec("UPDATE tasks SET quota = 0 WHERE id = 3")
	f.enqueue(batch{share: "A", n: 1, task: 9, priority: 9})
	refreshed(t, d)
	finish(t, d, Finished, pull1(t, d, "q"))
	e, err := d.ExplainTask(t.Context(), 4)
	if err != nil || e.Next == nil || e.Next.Position.Before != 50 || len(e.Next.ETA.Flows) != 1 {
		t.Fatalf("%+v, %v", e.Next, err)
	}
	if got, want := e.Next.ETA.Flows[0].MeanUnits, (30*4+20*2+1)/51.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("a mean of %v units before it, want %v", got, want)
	}
}

// Of a task of which pilots have more jobs than are looked at, it is said that the next one was not looked up.
func TestExplainTaskBehindManyLeases(t *testing.T) {
	task := &taskSubject{State: "running", Ready: 5, Leased: mostCounted, ToCome: 3, Cut: true}
	want := "Pilots have 10000 of its jobs. Which of its 5 ready jobs is next was not looked up: pilots have the first 10000."
	if got := taskExplanationSummary((&TaskExplanation{ToCome: 3}), task); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 8))
	d := f.daemon()
	f.taskOf(1, "running", "A", 0, 4, job.Requirements{Cores: 1})
	f.enqueue(batch{share: "A", n: 4, task: 1})
	f.exec("UPDATE tasks SET n_generated = 4, n_leased = 2, n_ready = 2 WHERE id = 1")
	pull1(t, d, "q")
	pull1(t, d, "q")
	for most, unseen := range map[int]bool{2: true, 3: false} {
		rows, err := collect[taskSubject](t.Context(), f.pool, "explain_task", pgx.StrictNamedArgs{"task": 1, "most": most})
		if err != nil || len(rows) != 1 || rows[0].unseen() != unseen {
			t.Errorf("%d are looked at: %+v, %v", most, rows, err)
		}
	}
}
