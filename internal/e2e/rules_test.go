package e2e

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// apply puts a site in force.
func apply(t testing.TB, c *client.Client, yaml string) {
	t.Helper()
	if _, err := c.Site().Apply(t.Context(), []byte(yaml), client.ApplyOptions{File: "site.yml", By: "test"}); err != nil {
		t.Fatal(err)
	}
}

// submit makes a task for a share.
func submit(t testing.TB, c *client.Client, share string, count int64, change func(*wire.TaskSpec)) wire.Task {
	t.Helper()
	s := wire.TaskSpec{Name: "of " + share, User: "alice", Share: share, Count: count, Command: []string{"true"}}
	if change != nil {
		change(&s)
	}
	task, err := c.Tasks().Submit(t.Context(), s, "")
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// standing is what a daemon knows of the shares, by path.
func standing(t testing.TB, c *client.Client) map[string]shareNow {
	t.Helper()
	st, err := c.Shares().Standing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]shareNow{}
	for _, p := range st.Pools {
		for _, s := range p.Shares {
			all[s.Path] = shareNow{Ready: s.Ready, Held: s.HeldJobs, Target: s.Target}
		}
	}
	return all
}

type shareNow struct {
	Ready, Held int64
	Target      float64
}

// waitReady waits until the daemon counts so many ready jobs in each share.
func waitReady(t testing.TB, c *client.Client, want map[string]int64) {
	t.Helper()
	eventually(t, 30*time.Second, fmt.Sprintf("ready jobs: %v", want), func() bool {
		now := standing(t, c)
		for path, n := range want {
			if now[path].Ready < n {
				return false
			}
		}
		return true
	})
}

// fill pulls until the queue's slots are held, and returns the leases by share.
func fill(t testing.TB, c *client.Client, slots int) map[string][]wire.Lease {
	t.Helper()
	got := map[string][]wire.Lease{}
	for n := 0; n < slots; {
		reply, err := c.Pull(t.Context(), wire.PullRequest{Queue: "Q", Pilot: "filler", Slot: wire.Slot{Cores: 50},
			Max: min(50, slots-n), WaitS: 10, RequestID: fmt.Sprint("fill ", n)})
		if err != nil {
			t.Fatalf("with %d held: %v", n, err)
		}
		n += len(reply.Leases)
		for _, l := range reply.Leases {
			got[l.Share] = append(got[l.Share], l)
		}
	}
	return got
}

func counts(leases map[string][]wire.Lease) map[string]int {
	n := map[string]int{}
	for share, of := range leases {
		n[share] = len(of)
	}
	return n
}

// pullOne asks for one job of one core.
func pullOne(t testing.TB, c *client.Client, labels map[string]string) wire.Lease {
	t.Helper()
	reply, err := c.Pull(t.Context(), wire.PullRequest{Queue: "Q", Pilot: "p", Slot: wire.Slot{Cores: 1, Labels: labels}, WaitS: 10})
	if err != nil {
		t.Fatal(err)
	}
	return reply.Leases[0]
}

// pullNone expects 204.
func pullNone(t testing.TB, c *client.Client, when string) {
	t.Helper()
	reply, err := c.Pull(t.Context(), wire.PullRequest{Queue: "Q", Pilot: "p", Slot: wire.Slot{Cores: 1}})
	if !errors.Is(err, client.ErrNoJobs) {
		t.Fatalf("%s: %d leases, %v; want no job", when, len(reply.Leases), err)
	}
}

// finishAll reports leases finished.
func finishAll(t testing.TB, c *client.Client, leases ...wire.Lease) {
	t.Helper()
	req := wire.FinishRequest{Pilot: "p"}
	for _, l := range leases {
		req.Results = append(req.Results, wire.Result{Lease: l.Lease, Outcome: "finished"})
	}
	reply, err := c.Finish(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range reply.Verdicts {
		if v.Verdict != "recorded" {
			t.Fatalf("verdict %+v", v)
		}
	}
}

const halves = `
shares: [{name: A, weight: 50}, {name: B, weight: 50}]
on_no_match: reject
queues: [{name: Q, slots: %d}]
`

// W6: 64 pulls at once at one daemon, two shares 50:50, 64 jobs each: 32/32 exactly, no job twice.
func TestW6(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	apply(t, c, fmt.Sprintf(halves, 64))
	submit(t, c, "A", 64, nil)
	submit(t, c, "B", 64, nil)
	waitReady(t, c, map[string]int64{"A": 64, "B": 64})
	var all sync.WaitGroup
	leases, begin := make([]wire.Lease, 64), make(chan struct{})
	for i := range leases {
		all.Go(func() {
			<-begin
			reply, err := c.Pull(t.Context(), wire.PullRequest{Queue: "Q", Pilot: fmt.Sprint("p", i), WaitS: 10, RequestID: "1"})
			if err != nil {
				t.Error(err)
				return
			}
			leases[i] = reply.Leases[0]
		})
	}
	close(begin)
	all.Wait()
	by, seen := map[string]int{}, map[int64]bool{}
	for _, l := range leases {
		by[l.Share]++
		if seen[l.Job] {
			t.Errorf("job %d twice", l.Job)
		}
		seen[l.Job] = true
	}
	if diff := cmp.Diff(map[string]int{"A": 32, "B": 32}, by); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}

const treeT = `
shares:
  - {name: Prod, weight: 70, children: [{name: MC, weight: 50}, {name: Rep, weight: 30}, {name: Val, weight: 20}]}
  - {name: Ana, weight: 25, children: [{name: User, weight: 80}, {name: Grp, weight: 20}]}
  - {name: Test, weight: 5}
on_no_match: reject
queues: [{name: Q, slots: 1000, labels: {val: "yes"}}]
`

// P8: all held as P1 says; the slot of a Val job comes free: Val. A slot that cannot run Val: MC or Rep, nobody else.
func TestP8(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	apply(t, c, treeT)
	ready := map[string]int64{}
	for _, leaf := range []string{"Prod/MC", "Prod/Rep", "Prod/Val", "Ana/User", "Ana/Grp", "Test"} {
		submit(t, c, leaf, 400, func(s *wire.TaskSpec) {
			if leaf == "Prod/Val" {
				s.Requirements = wire.TaskRequirements{Labels: map[string]string{"val": "yes"}}
			}
		})
		ready[leaf] = 400
	}
	waitReady(t, c, ready)
	held := fill(t, c, 1000)
	want := map[string]int{"Prod/MC": 350, "Prod/Rep": 210, "Prod/Val": 140, "Ana/User": 200, "Ana/Grp": 50, "Test": 50}
	if diff := cmp.Diff(want, counts(held)); diff != "" {
		t.Fatalf("P1 (-want +got):\n%s", diff)
	}
	pullNone(t, c, "all slots are held")
	finishAll(t, c, held["Prod/Val"][0])
	next := pullOne(t, c, nil)
	if next.Share != "Prod/Val" {
		t.Fatalf("a free slot went to %s, want Prod/Val", next.Share)
	}
	finishAll(t, c, next)
	if next = pullOne(t, c, map[string]string{"val": "no"}); next.Share != "Prod/MC" && next.Share != "Prod/Rep" {
		t.Errorf("a slot that cannot run Val went to %s, want a sibling of Val", next.Share)
	}
}

// P13: C falls from 1000 to 500 with 1000 held. Nothing is killed, nothing is granted while held >= C, and then only
// to who is below the new target, although the other has jobs as well.
func TestP13(t *testing.T) {
	t.Parallel()
	c := serve(t, pgtest.DSN(t)).client
	apply(t, c, fmt.Sprintf(halves, 1000))
	submit(t, c, "A", 1000, nil)
	waitReady(t, c, map[string]int64{"A": 1000})
	held := fill(t, c, 1000)["A"]
	submit(t, c, "A", 400, nil)
	submit(t, c, "B", 400, nil)
	waitReady(t, c, map[string]int64{"A": 400, "B": 400})
	apply(t, c, fmt.Sprintf(halves, 500))
	pullNone(t, c, "1000 of 500 held")
	kept := renewAll(t, c, held)
	if kept != 1000 {
		t.Fatalf("%d of 1000 leases outlived the change", kept)
	}
	finishAll(t, c, held[:499]...)
	pullNone(t, c, "501 of 500 held")
	finishAll(t, c, held[499])
	pullNone(t, c, "500 of 500 held")
	for i := range 20 {
		finishAll(t, c, held[500+i])
		if l := pullOne(t, c, nil); l.Share != "B" {
			t.Fatalf("grant %d went to %s, want B: A is above its new target", i, l.Share)
		}
		pullNone(t, c, "held = C again")
	}
	want := map[string]shareNow{"A": {Ready: 400, Held: 480, Target: 250}, "B": {Ready: 380, Held: 20, Target: 250}}
	if diff := cmp.Diff(want, standing(t, c)); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

func renewAll(t testing.TB, c *client.Client, leases []wire.Lease) (kept int) {
	t.Helper()
	req := wire.RenewRequest{Pilot: "p"}
	for _, l := range leases {
		req.Leases = append(req.Leases, wire.Renewal{Lease: l.Lease, State: "running"})
	}
	reply, err := c.Renew(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Cancel) > 0 {
		t.Errorf("%d cancel orders: %s", len(reply.Cancel), strings.TrimSpace(reply.Cancel[0].Reason))
	}
	return len(reply.Kept)
}
