package dispatcher

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// prioritise gives a task's jobs another priority, batch by batch, as the generator does it.
func (f *fixture) prioritise(task int64, priority int) (sum TaskPrioritised) {
	f.t.Helper()
	for after := int64(0); ; {
		var got TaskPrioritised
		err := pgx.BeginFunc(context.Background(), f.pool, func(tx pgx.Tx) (err error) {
			got, err = PrioritiseTask(context.Background(), tx, TaskPriority{Task: task, After: after, Priority: priority})
			return err
		})
		if err != nil {
			f.t.Fatal(err)
		}
		sum.Waiting, sum.Ready, sum.Leased = sum.Waiting+got.Waiting, sum.Ready+got.Ready, sum.Leased+got.Leased
		if after = got.Next; !got.More {
			return sum
		}
	}
}

// A task that gets a higher priority goes first from then on, and last with a lower one, also out of windows that a
// daemon has read; a running job has the priority when it comes back.
func TestPrioritiseTask(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	first := f.enqueue(batch{share: "A", n: 3, priority: 10})
	second := f.enqueue(batch{share: "A", n: 3})
	running := pull1(t, d, "q") // the window is read
	if running.Job != first[0] {
		t.Fatalf("job %d first", running.Job)
	}
	if got := f.prioritise(2, 20); got != (TaskPrioritised{Ready: 3}) {
		t.Errorf("raised %+v", got)
	}
	step(t, d.Refresh)
	if l := pull1(t, d, "q"); l.Job != second[0] {
		t.Errorf("job %d, want %d: raised", l.Job, second[0])
	}
	if got := f.prioritise(2, 20); got != (TaskPrioritised{}) {
		t.Errorf("again %+v", got)
	}
	if got := f.prioritise(1, 30); got != (TaskPrioritised{Ready: 2, Leased: 1}) {
		t.Errorf("raised %+v", got)
	}
	step(t, d.Refresh)
	finish(t, d, Failed, running)
	f.recount()
	for _, want := range []int64{first[0], first[1], first[2], second[1], second[2]} {
		if l := pull1(t, d, "q"); l.Job != want {
			t.Errorf("job %d, want %d", l.Job, want)
		}
	}
	noJob(t, d, "q")
	f.recount()
	var wrong int
	if f.scan(&wrong, "SELECT count(*) FROM jobs WHERE place <> -priority OR priority <> 50 - 10 * (task_id + 1)"); wrong > 0 {
		t.Errorf("%d jobs have another place or priority", wrong)
	}
}

// With aging the place follows from the new priority and the old age; waiting jobs have theirs when they are ready again.
func TestPrioritiseTaskAges(t *testing.T) {
	f := newFixture(t, []shares.Spec{planned("A", tenAnHour)}, slots("q", 10))
	old := f.enqueue(batch{share: "A", n: 2})
	f.exec("UPDATE jobs SET created_at = created_at - interval '2 hours', place = place - 7200000")
	recent := f.enqueue(batch{share: "A", n: 2, priority: 30})
	err := pgx.BeginFunc(context.Background(), f.pool, func(tx pgx.Tx) error {
		_, err := HoldTasks(context.Background(), tx, along(1, 1))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.prioritise(1, 15); got != (TaskPrioritised{Waiting: 1, Ready: 1}) { // and 20 for their age
		t.Errorf("raised %+v", got)
	}
	d := f.daemon()
	if l := pull1(t, d, "q"); l.Job != old[1] {
		t.Errorf("job %d, want %d", l.Job, old[1])
	}
	err = pgx.BeginFunc(context.Background(), f.pool, func(tx pgx.Tx) error {
		_, err := ReleaseTasks(context.Background(), tx, along(1, 10))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	step(t, d.Refresh)
	for _, want := range []int64{old[0], recent[0], recent[1]} {
		if l := pull1(t, d, "q"); l.Job != want {
			t.Errorf("job %d, want %d", l.Job, want)
		}
	}
	f.recount()
}

// More jobs than a batch, beside those of another task, while pilots pull: each goes once, and none is lost.
func TestPrioritiseTaskUnderPulls(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10_000))
	d := f.daemon()
	const n = 3 * walkJobs / 2
	f.enqueue(batch{share: "A", n: n})
	f.enqueue(batch{share: "A", n: 50, priority: 5})
	jobs := make(chan int64, n+50)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range n / 10 {
			reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 10}, Max: 10, WaitS: 5})
			if err != nil {
				t.Error(err)
				return
			}
			for _, l := range reply.Leases {
				jobs <- l.Job
			}
		}
	}()
	for _, p := range []int{9, 1, 12} {
		f.prioritise(1, p)
	}
	<-done
	f.recount()
	for {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 10}, Max: 10})
		if err != nil {
			break
		}
		for _, l := range reply.Leases {
			jobs <- l.Job
		}
	}
	close(jobs)
	seen := map[int64]bool{}
	for j := range jobs {
		if seen[j] {
			t.Errorf("job %d twice", j)
		}
		seen[j] = true
	}
	if len(seen) != n+50 {
		t.Errorf("%d jobs were given, want %d", len(seen), n+50)
	}
}
