package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// pullOnly asks for one job among some; it does not wait.
func pullOnly(d *Dispatcher, only job.Only) (Lease, error) {
	reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1}, Only: only})
	if err != nil {
		return Lease{}, err
	}
	return reply.Leases[0], nil
}

// atOnce has 500 pilots pull at one queue at the same instant; nobody waits for a job. It returns what each was given.
func atOnce(t *testing.T, d *Dispatcher, only job.Only) map[int64]bool {
	t.Helper()
	const pilots = 500
	var begin, all sync.WaitGroup
	var mu sync.Mutex
	given := map[int64]bool{}
	begin.Add(1)
	for range pilots {
		all.Go(func() {
			begin.Wait()
			l, err := pullOnly(d, only)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("%d of %d have a job, and one gets: %v", len(given), pilots, err)
			} else if given[l.Job] {
				t.Errorf("job %d was given twice", l.Job)
			}
			given[l.Job] = true
		})
	}
	begin.Done()
	all.Wait()
	return given
}

func TestOnlyLabels(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 3)}, slots("q", 5000))
	d := f.daemon()
	byLabel := map[string][]int64{}
	for _, label := range []string{"", "user", "managed"} {
		for _, share := range []string{"A", "B"} {
			byLabel[label] = append(byLabel[label], f.enqueue(batch{share: share, n: 1, need: job.Requirements{Label: label}})...)
		}
	}
	for _, c := range []struct {
		labels []string
		share  string // of the job that it gets; empty: none
	}{
		{[]string{"test"}, ""},
		{[]string{"managed", "test"}, "B"}, {[]string{"test", "managed"}, "A"}, {[]string{"managed"}, ""},
		{[]string{""}, "B"}, {[]string{"", "managed"}, "A"},
		{nil, "B"}, {[]string{}, "A"}, {nil, ""},
	} {
		l, err := pullOnly(d, job.Only{Labels: c.labels})
		if errors.Is(err, ErrNoJobs) && c.share == "" {
			continue
		}
		if err != nil || l.Share != c.share {
			t.Errorf("%q: share %s, %v; want %q", c.labels, l.Share, err, c.share)
		}
	}
	f.recount()
}

// owned gives the fixture's tasks from the first one on to users.
func (f *fixture) owned(users ...string) {
	f.t.Helper()
	for i, user := range users {
		f.exec(`INSERT INTO tasks (id, name, user_name, state, share_id, spec) OVERRIDING SYSTEM VALUE
			VALUES ($1, 't', $2, 'running', (SELECT share_id FROM jobs WHERE task_id = $1 LIMIT 1), '{}')`, i+1, user)
	}
}

// 500 pilots that take the same jobs only, as many as there are: whatever makes them few, none goes without.
func TestManyPilotsOfOneKind(t *testing.T) {
	for name, only := range map[string]job.Only{
		"any": {}, "label": {Labels: []string{"managed"}}, "task": {Task: 3}, "user": {User: "alice"},
		"task and user": {Task: 3, User: "alice"}, "label and user": {Labels: []string{"managed"}, User: "alice"},
		"label and task": {Labels: []string{"managed", "test"}, Task: 3},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, []shares.Spec{node("A", 1), node("B", 3)}, slots("q", 5000))
			d := f.daemon()
			want := map[int64]bool{}
			for i, b := range []batch{ // task 3 has 500 jobs, so has alice with the label managed
				{share: "A", n: 300, need: job.Requirements{Label: "user"}}, {share: "B", n: 100, priority: 7},
				{share: "A", n: 500, need: job.Requirements{Label: "managed"}}, {share: "B", n: 100, priority: -1, need: job.Requirements{Label: "user"}},
			} {
				if only.None() {
					b.n = 125
				}
				for _, id := range f.enqueue(b) {
					want[id] = i == 2 || only.None()
				}
			}
			f.owned("bob", "bob", "alice", "carol")
			for job := range atOnce(t, d, only) {
				if !want[job] {
					t.Errorf("job %d is not one that the pilots take", job)
				}
			}
			if _, err := pullOnly(d, only); !errors.Is(err, ErrNoJobs) {
				t.Errorf("one job too many: %v", err)
			}
			f.recount()
		})
	}
}

// Pilots that take the jobs of one task beside others that take those of its user, and of another one, at two daemons:
// there are as many jobs as pilots, everybody gets one, and none is given twice.
func TestNarrowPullsAmongOthers(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 3)}, slots("q", 5000))
	daemons := []*Dispatcher{f.daemon(), f.daemon()}
	of := map[int64]int64{}
	for _, b := range []batch{{share: "A", n: 200}, {share: "B", n: 100}} {
		for _, id := range f.enqueue(b) {
			of[id] = f.tasks
		}
	}
	f.owned("carol", "alice")
	var all sync.WaitGroup
	var mu sync.Mutex
	given := map[int64]bool{}
	for i := range 300 {
		only := []job.Only{{Task: 1}, {User: "carol"}, {User: "alice"}}[i%3]
		all.Go(func() {
			reply, err := daemons[i%2].Pull(context.Background(), PullRequest{Queue: "q", Pilot: fmt.Sprint(i), Slot: job.Slot{Cores: 1}, Only: only, WaitS: 30})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("%+v: %v", only, err)
				return
			}
			l := reply.Leases[0]
			if given[l.Job] {
				t.Errorf("job %d was given twice", l.Job)
			}
			given[l.Job] = true
			if alices := of[l.Job] == 2; alices != (only.User == "alice") {
				t.Errorf("%+v got a job of task %d", only, of[l.Job])
			}
		})
	}
	all.Wait()
	for _, d := range daemons {
		if _, err := pullOnly(d, job.Only{}); !errors.Is(err, ErrNoJobs) {
			t.Errorf("one job too many: %v", err)
		}
	}
	f.recount()
}

// Among the jobs of a user the shares decide, and of a share priority and age, as among all.
func TestNarrowPullsKeepTheOrder(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 3)}, slots("q", 50))
	d := f.daemon()
	for _, b := range []batch{{share: "A", n: 50, priority: 9}, {share: "A", n: 2}, {share: "B", n: 3, priority: 1}, {share: "B", n: 3, priority: 5},
		{share: "B", n: 10, priority: 9}, {share: "A", n: 3, priority: 2, need: job.Requirements{MemoryMB: 500}}} {
		f.enqueue(b)
	}
	f.owned("bob", "alice", "alice", "alice", "bob", "alice")
	if _, err := d.Refresh(context.Background()); err != nil { // targets go by what the daemon knows to be wanted
		t.Fatal(err)
	}
	var tasks []int64
	for range 11 {
		l, err := pullOnly(d, job.Only{User: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, l.Task)
	}
	want := []int64{4, 6, 4, 4, 3, 6, 3, 3, 6, 2, 2} // B holds three times what A does, as long as it has jobs
	if a, b := only(tasks, 4, 3), only(want, 4, 3); !slices.Equal(a, b) {
		t.Errorf("of B: %v, want %v (%v)", a, b, tasks)
	}
	if a, b := only(tasks, 6, 2), only(want, 6, 2); !slices.Equal(a, b) {
		t.Errorf("of A: %v, want %v (%v)", a, b, tasks)
	}
	if first := only(tasks[:8], 3, 4); len(first) != 6 {
		t.Errorf("%v: of the first eight B has %d, want 6", tasks, len(first))
	}
}

// only keeps some of the values.
func only(all []int64, some ...int64) (kept []int64) {
	for _, v := range all {
		if slices.Contains(some, v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// A pull that waits for a job of one task or user gets what becomes ready: new, tried again, resumed.
func TestNarrowPullsWait(t *testing.T) {
	ctx := context.Background()
	for name, only := range map[string]job.Only{"task": {Task: 2}, "user": {User: "alice"}, "both": {Task: 2, User: "alice"}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 50))
			d := f.daemon()
			f.enqueue(batch{share: "A", n: 5})
			f.owned("bob")
			next := func(become func()) Lease {
				t.Helper()
				if _, err := pullOnly(d, only); !errors.Is(err, ErrNoJobs) {
					t.Fatalf("%v, want no job", err)
				}
				got := make(chan Lease, 1)
				go func() {
					defer close(got)
					reply, err := d.Pull(ctx, PullRequest{Queue: "q", Pilot: "w", Slot: job.Slot{Cores: 1}, Only: only, WaitS: 20})
					if err != nil {
						t.Error(err)
						return
					}
					got <- reply.Leases[0]
				}()
				eventually(t, "the pull waits", func() bool { return d.Queues()[0].Waiting == 1 })
				become()
				return <-got
			}
			var ids []int64
			first := next(func() {
				f.exec(`INSERT INTO tasks (id, name, user_name, state, share_id, spec) OVERRIDING SYSTEM VALUE VALUES (2, 't', 'alice', 'running', 1, '{}')`)
				ids = f.enqueue(batch{share: "A", n: 1})
			})
			if first.Job != ids[0] {
				t.Fatalf("%+v, want job %d", first, ids[0])
			}
			again := next(func() { finish(t, d, Failed, first) })
			if again.Job != ids[0] || again.Attempt != 2 {
				t.Fatalf("%+v, want job %d again", again, ids[0])
			}
			finish(t, d, Failed, again)
			if err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error { _, err := HoldTasks(ctx, tx, along(2, 10)); return err }); err != nil {
				t.Fatal(err)
			}
			resumed := next(func() {
				if err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error { _, err := ReleaseTasks(ctx, tx, along(2, 10)); return err }); err != nil {
					t.Error(err)
				}
			})
			if resumed.Job != ids[0] || resumed.Attempt != 3 {
				t.Fatalf("%+v, want job %d a third time", resumed, ids[0])
			}
			f.recount()
		})
	}
}

// A task with more jobs than one read brings.
func TestNarrowPullsReadOn(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5000))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 10, priority: 5})
	ids := f.enqueue(batch{share: "A", n: 2*mostNarrowRows + 300})
	var got []int64
	for len(got) < len(ids) {
		reply, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: "p", Max: 170, Only: job.Only{Task: 2}, WaitS: 10})
		if err != nil {
			t.Fatalf("after %d: %v", len(got), err)
		}
		for _, l := range reply.Leases {
			got = append(got, l.Job)
		}
	}
	if !slices.Equal(got, ids) {
		t.Errorf("%d jobs, not those of the task in their order", len(got))
	}
	if l, err := pullOnly(d, job.Only{}); err != nil || l.Task != 1 {
		t.Errorf("%+v %v: want a job of the other task", l, err)
	}
	f.recount()
}

func TestOnlyIsChecked(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 5))
	d := f.daemon()
	many := make([]string, job.MostLabels+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for field, only := range map[string]job.Only{"only.labels": {Labels: many}, "only.task": {Task: -1}, "only.user": {User: strings.Repeat("x", job.MostName+1)}} {
		_, err := pullOnly(d, only)
		if bad := (*job.FieldError)(nil); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A job that waits beside pilots that take others only is explained by that.
func TestExplainNamesWhatPilotsTake(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 50))
	d := f.daemon()
	waiting := f.enqueue(batch{share: "A", n: 1, need: job.Requirements{Label: "user"}})[0]
	f.owned("alice")
	ask := func(pilot string, only job.Only) {
		t.Helper()
		_, err := d.Pull(context.Background(), PullRequest{Queue: "q", Pilot: pilot, Slot: job.Slot{Cores: 1}, Only: only})
		if !errors.Is(err, ErrNoJobs) {
			t.Fatal(err)
		}
	}
	explained(t, d, waiting, func(e Explanation) bool { return e.Gate == GateNone })
	for _, c := range []struct {
		pilot string
		only  job.Only
		why   string
	}{
		{"p1", job.Only{Labels: []string{"managed"}}, "the pilot takes jobs of label managed only"},
		{"p1", job.Only{Task: 2}, "the pilot takes jobs of task 2 only"},
		{"p2", job.Only{User: "bob", Labels: []string{"b", "a", "a"}}, "the 2 pilots that pulled here in the last five minutes take jobs of label a or b and of user bob only, or jobs of task 2 only"},
	} {
		ask(c.pilot, c.only)
		e := explained(t, d, waiting, func(e Explanation) bool { return gateAt(e, "q").Reason == c.why })
		if e.Gate != GateStructural || !strings.Contains(e.Summary, c.why) {
			t.Errorf("%s: %s", e.Gate, e.Summary)
		}
	}
	if l, err := pullOnly(d, job.Only{Labels: []string{"user"}, Task: 1, User: "alice"}); err != nil || l.Job != waiting {
		t.Errorf("%+v %v", l, err)
	}
	again := f.enqueue(batch{share: "A", n: 1, need: job.Requirements{Label: "user"}})[0]
	explained(t, d, again, func(e Explanation) bool { return e.Gate == GateNone }) // p takes it, as far as its last pull says
}
