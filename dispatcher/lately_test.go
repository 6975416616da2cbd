package dispatcher

import (
	"context"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
)

// Decisions can be looked at as soon as they have committed: by share, queue, task and what is new.
func TestLately(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("G", 1, node("A", 3), node("B", 1)), node("C", 1)}, slots("q", 8), slots("r", 8))
	d := f.daemon()
	f.enqueue(batch{share: "G/A", n: 2}) // task 1
	f.enqueue(batch{share: "C", n: 2})   // task 2
	if got := d.Lately(DecidedFilter{}); len(got.Items) != 0 || got.Since != nil || got.Last != 0 {
		t.Fatalf("before the first one: %+v", got)
	}
	first := pull1(t, d, "q")
	pull1(t, d, "r")
	pull1(t, d, "q")
	all := d.Lately(DecidedFilter{})
	if len(all.Items) != 3 || all.Last != 3 || all.Items[0].N != 3 || all.Items[2].N != 1 || all.Since == nil || !all.Since.Equal(all.Items[2].At) {
		t.Fatalf("%+v", all)
	}
	if e := all.Items[2]; e.Job != first.Job || e.Task != first.Task || e.Queue != "q" || e.Pilot != "p" || e.Share != first.Share || e.Attempt != 1 ||
		e.RunnerUp == "" || e.Second == nil || e.Candidates != 2 || e.Units != 1 || e.Weight != 1 || e.Version != 1 {
		t.Errorf("the first one: %+v", e)
	}
	x, err := d.Explain(t.Context(), first.Job)
	if err != nil {
		t.Fatal(err)
	}
	if x.Decision == nil || x.Decision.Attempt != 1 {
		t.Errorf("explain: %+v", x)
	}
	for name, c := range map[string]struct {
		f    DecidedFilter
		want int
	}{
		"a queue":                {DecidedFilter{Queue: "q"}, 2},
		"no such queue":          {DecidedFilter{Queue: "x"}, 0},
		"what is below a share":  {DecidedFilter{Share: "G"}, count(all, func(e Decided) bool { return e.Share == "G/A" })},
		"not what begins alike":  {DecidedFilter{Share: "G/"}, 0},
		"a task":                 {DecidedFilter{Task: 2}, count(all, func(e Decided) bool { return e.Task == 2 })},
		"a job":                  {DecidedFilter{Job: first.Job}, 1},
		"what is new":            {DecidedFilter{Daemon: all.Daemon, After: 2}, 1},
		"nothing new":            {DecidedFilter{Daemon: all.Daemon, After: 3}, 0},
		"another daemon's after": {DecidedFilter{Daemon: all.Daemon + 1, After: 3}, 3},
		"a limit":                {DecidedFilter{Limit: 2}, 2},
	} {
		if got := d.Lately(c.f); len(got.Items) != c.want {
			t.Errorf("%s: %d, want %d", name, len(got.Items), c.want)
		}
	}
}

func count(l Lately, is func(Decided) bool) (n int) {
	for _, e := range l.Items {
		if is(e) {
			n++
		}
	}
	return n
}

// The ring keeps the newest, and says which is the oldest of them.
func TestLatelyKeepsTheNewest(t *testing.T) {
	var d Dispatcher
	at := time.Unix(1e9, 0)
	for i := range keptDecisions + 10 {
		d.lately.keep(Decided{At: at.Add(time.Duration(i) * time.Second)})
	}
	got := d.Lately(DecidedFilter{Limit: 1000})
	if got.Last != keptDecisions+10 || len(got.Items) != 1000 || got.Items[0].N != got.Last || got.Items[999].N != got.Last-999 {
		t.Errorf("last %d, %d items from %d to %d", got.Last, len(got.Items), got.Items[0].N, got.Items[len(got.Items)-1].N)
	}
	if want := at.Add(10 * time.Second); !got.Since.Equal(want) {
		t.Errorf("since %s, want %s", got.Since, want)
	}
}

// Who holds a queue's cores, how long pulls waited, and how attempts ended there.
func TestQueuesLately(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1), node("B", 1)}, slots("q", 8), slots("r", 8))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 3, cores: 2, attempts: 1})
	f.enqueue(batch{share: "B", n: 1, attempts: 1})
	var leases []Lease
	for range 4 {
		reply, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 2}, WaitS: 5})
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, reply.Leases...)
	}
	q := d.QueuesLately("q")
	if len(q) != 1 || len(q[0].Held) != 2 || q[0].Held[0] != (QueueHeld{Share: "A", Cores: 6, Jobs: 3}) || q[0].Held[1] != (QueueHeld{Share: "B", Cores: 1, Jobs: 1}) {
		t.Fatalf("held: %+v", q)
	}
	if q[0].Pulls != 4 || q[0].MeanS <= 0 || q[0].MostS < q[0].MeanS || q[0].Ended != 0 || q[0].Failure != 0 {
		t.Errorf("pulls: %+v", q[0])
	}
	for i, outcome := range []Outcome{Finished, Failed, Failed, Cancelled} {
		if _, err := d.Finish(context.Background(), FinishRequest{Results: []Result{{Lease: leases[i].Lease, Outcome: outcome}}}); err != nil {
			t.Fatal(err)
		}
	}
	if all := d.QueuesLately(""); len(all) != 2 || all[0].Ended != 3 || all[0].Failed != 2 || all[0].Failure < 0.66 || all[0].Failure > 0.67 ||
		len(all[0].Held) != 0 || all[1].Queue != "r" || all[1].Ended+all[1].Pulls != 0 || all[1].Held == nil {
		t.Errorf("after the ends: %+v", all)
	}
	if none := d.QueuesLately("x"); len(none) != 0 {
		t.Errorf("no such queue: %+v", none)
	}
}

// What is older than an hour does not count.
func TestQueuesForget(t *testing.T) {
	var l lately
	now := time.Unix(1e9, 0)
	l.part(1, now.Add(-2*time.Hour)).ends.Add(retry.Tally{Ends: 5, Fails: 5})
	p := l.part(1, now)
	if p.ends.Ends != 0 || p.of != partOf(now) {
		t.Errorf("a part of two hours ago counts: %+v", p)
	}
}
