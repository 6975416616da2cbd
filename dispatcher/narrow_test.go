package dispatcher

import (
	"context"
	"errors"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// A task of which the jobs that come first have slots already, some of them come back, and some wait: what is read begins
// where the first ready one is, and nothing is passed over.
func TestNarrowPullsBeginAtTheFirstReadyJob(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5000))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 10})
	f.enqueue(batch{share: "A", n: 2000})
	only := job.Only{Task: 2}
	held := pullMany(t, d, only, 1200)
	first := held[0]
	again := func(want int64) {
		t.Helper()
		if l, err := pullOnly(d, only); err != nil || l.Job != want {
			t.Fatalf("job %d, %v; want %d", l.Job, err, want)
		}
	}
	again(held[1199].Job + 1)
	set := d.state.narrows.by[narrowKey{task: 2}]
	d.mu.Lock()
	from := set.froms[2]
	d.mu.Unlock()
	if from < held[500].Job {
		t.Errorf("a read begins at job %d, of which 1200 up to %d are held", from, held[1199].Job)
	}
	finish(t, d, Failed, first) // it is ready again, before all others
	others := 0                 // that came meanwhile
	eventually(t, "the first job comes again", func() bool {
		l, err := pullOnly(d, only)
		if err == nil && l.Job != first.Job {
			others++
		}
		return err == nil && l.Job == first.Job && l.Attempt == 2
	})
	if rest := pullMany(t, d, only, 800); len(rest) != 799-others {
		t.Errorf("%d more after %d, want what is left of 2000", len(rest), others)
	}
	f.recount()
}

// pullMany pulls up to so many jobs.
func pullMany(t *testing.T, d *Dispatcher, only job.Only, n int) (all []Lease) {
	t.Helper()
	for len(all) < n {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Max: min(100, n-len(all)), Only: only})
		if errors.Is(err, ErrNoJobs) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, reply.Leases...)
	}
	return all
}

// A task with more jobs than one read brings, of which the small slot can run only some at the end: it gets those, again and
// again, and "no job" only when there is none.
func TestNarrowPullsOfAKindThatComesLate(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 50_000))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 3 * mostNarrowRows, cores: 8})
	small := f.enqueue(batch{share: "A", n: 30})
	f.exec("UPDATE jobs SET task_id = 1")
	f.rangesAnew()
	f.enqueue(batch{share: "A", n: 50}) // of another task, and of the same kind
	for _, want := range small {
		l, err := pullOnly(d, job.Only{Task: 1})
		if err != nil || l.Job != want {
			t.Fatalf("job %d, %v; want %d", l.Job, err, want)
		}
	}
	if l, err := pullOnly(d, job.Only{Task: 1}); !errors.Is(err, ErrNoJobs) {
		t.Fatalf("%+v, %v; want none", l, err)
	}
	reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 8}, Only: job.Only{Task: 1}})
	if err != nil || reply.Leases[0].Cores != 8 {
		t.Fatalf("%+v, %v; want a wide one", reply, err)
	}
}

// A user of many tasks: those of the same share in the order of priority and age, however few rows of each are read.
func TestNarrowPullsOfManyTasks(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5000))
	d := f.daemon()
	var want []int64
	var users []string
	for range 3 * firstTasks {
		want = append(want, f.enqueue(batch{share: "A", n: 3 * fewTaskRows})...)
		users = append(users, "alice")
	}
	f.owned(users...)
	got := pullMany(t, d, job.Only{User: "alice"}, len(want)+1)
	if len(got) != len(want) {
		t.Fatalf("%d jobs, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Job != want[i] {
			t.Fatalf("the %d. is job %d, want %d", i+1, got[i].Job, want[i])
		}
	}
	f.recount()
}
