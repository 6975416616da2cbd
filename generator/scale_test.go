package generator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/dispatchertest"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/broker"
	"github.com/divvyhq/divvy/generator/groups"
	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
)

// training is case G3 of sharing.md §5: three replicas, each with a pool of 4 GPUs that five of its six jobs share.
func training(s *spec.Spec) {
	s.Count, s.Command = 0, []string{"train", "{{.Input}}"}
	s.ClaimTemplates = []spec.ClaimTemplate{{Name: "pool", Devices: map[string]int{"gpu": 4}}}
	s.Groups = []spec.Group{{Name: "g", Replicas: 3, Members: []spec.Member{{Role: "pre", Count: 2}, {Role: "train", Count: 3}, {Role: "coord"}},
		Sharing: []spec.Sharing{{Template: "pool", Scope: "per_replica", Only: []string{"pre", "train"}}}}}
}

// onNodes is training whose pools are nodes, not devices: the fleet has none.
func onNodes(s *spec.Spec) {
	training(s)
	s.ClaimTemplates = []spec.ClaimTemplate{{Name: "pool", Node: true}}
}

func (w *world) scale(t tb, id int64, s spec.Scaling) groups.ScaleChange {
	t.Helper()
	c, err := w.Scale(context.Background(), id, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pullNamed leases n jobs at a node and returns them by name.
func (w *world) pullNamed(t *testing.T, d *dispatchertest.Dispatcher, n int, req dispatcher.PullRequest) map[string]dispatcher.Lease {
	t.Helper()
	req.Queue, req.Pilot, req.Slot, req.WaitS = "CERN", "p", job.Slot{Cores: 1}, 5
	leases := map[string]dispatcher.Lease{}
	for range n {
		reply, err := d.Pull(context.Background(), req)
		if err != nil {
			t.Fatalf("%d of %d leases at %s: %v", len(leases), n, req.Node, err)
		}
		l := reply.Leases[0]
		leases[one[[]string](t, w.db, "SELECT inputs FROM jobs WHERE id = $1", l.Job)[0]] = l
	}
	w.fold(t)
	return leases
}

// gpus are n devices of a node.
func gpus(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint("gpu:", i))
	}
	return ids
}

func end(t *testing.T, d *dispatchertest.Dispatcher, outcome dispatcher.Outcome, l dispatcher.Lease) string {
	t.Helper()
	reply, err := d.Finish(context.Background(), dispatcher.FinishRequest{Pilot: "p", Results: []dispatcher.Result{{Lease: l.Lease, Outcome: outcome}}})
	if err != nil || reply.Verdicts[0].Verdict != dispatcher.Recorded {
		t.Fatal(err, reply)
	}
	return reply.Verdicts[0].JobState
}

// claimStates are the claims that are not released.
func (w *world) claimStates(t *testing.T) string {
	t.Helper()
	return one[string](t, w.db, `SELECT coalesce(string_agg(key || '=' || state, ' ' ORDER BY key, id), '') FROM claims WHERE state <> 'released'`)
}

// awaitClaims waits until the claims are those.
func (w *world) awaitClaims(t *testing.T, d *dispatchertest.Dispatcher, want string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) { // they are folded
		got := w.claimStates(t)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("claims %s, want %s", got, want)
		}
	}
}

// G6: scaled 3 → 2 → 4, claim 2 drains and goes with its last holder, and 2 and 3 are new ones.
func TestScaleDrainsAndMakesAnew(t *testing.T) {
	w := newWorld(t)
	d := w.dispatch(t)
	id := w.submit(t, managed(training)).ID
	steps(t, w.Generate)
	leases := w.pullNamed(t, d, 18, dispatcher.PullRequest{Node: "n1", Devices: gpus(12)})
	got := w.scale(t, id, spec.Scaling{Group: "g", Replicas: 2})
	if d := cmp.Diff(groups.ScaleChange{Task: id, Group: "g", Before: 3, After: 2, Leased: 6, Draining: 1}, got); d != "" {
		t.Error(d)
	}
	if again := w.scale(t, id, spec.Scaling{Group: "g", Replicas: 2}); again.Before != 2 || again.Leased+again.Draining != 0 {
		t.Errorf("again: %+v", again)
	}
	const key = "0/g/%d/pool(pre,train)=%s"
	both := fmt.Sprintf(key+" "+key+" "+key, 0, "bound", 1, "bound", 2, "draining")
	w.awaitClaims(t, d, both)
	var last dispatcher.Lease
	for name, l := range leases {
		switch {
		case !strings.HasPrefix(name, "0/g/2/"):
		case strings.Contains(name, "/train/2"):
			last = l
		default:
			end(t, d, dispatcher.Finished, l)
		}
	}
	w.awaitClaims(t, d, both)
	got = w.scale(t, id, spec.Scaling{Group: "g", Replicas: 4})
	if d := cmp.Diff(groups.ScaleChange{Task: id, Group: "g", Before: 2, After: 4, Added: 12}, got); d != "" {
		t.Error(d)
	}
	if n := steps(t, w.Generate); n != 12 {
		t.Fatalf("%d new jobs", n)
	}
	next := w.pullNamed(t, d, 7, dispatcher.PullRequest{Node: "n2", Devices: gpus(4)}) // five of one replica, two coords
	w.awaitClaims(t, d, fmt.Sprintf(key+" "+key+" "+key+" "+key+" "+key, 0, "bound", 1, "bound", 2, "draining", 2, "bound", 3, "pending"))
	if state := end(t, d, dispatcher.Failed, last); state != "cancelled" {
		t.Errorf("the last job of the old claim is %s", state)
	}
	w.awaitClaims(t, d, fmt.Sprintf(key+" "+key+" "+key+" "+key, 0, "bound", 1, "bound", 2, "bound", 3, "pending"))
	rest := w.pullNamed(t, d, 5, dispatcher.PullRequest{Node: "n1", Devices: gpus(12)})
	for name, l := range rest {
		if !strings.HasPrefix(name, "0/g/3/") || l.Env["DIVVY_CLAIM_POOL_DEVICES"] == "" || l.Env["DIVVY_CLAIM_POOL_DEVICES"] != rest["0/g/3/pre/0"].Env["DIVVY_CLAIM_POOL_DEVICES"] {
			t.Errorf("%s: %v", name, l.Env)
		}
	}
	for name, l := range leases {
		if !strings.HasPrefix(name, "0/g/2/") {
			end(t, d, dispatcher.Finished, l)
		}
	}
	for _, of := range []map[string]dispatcher.Lease{next, rest} {
		for _, l := range of {
			end(t, d, dispatcher.Finished, l)
		}
	}
	w.awaitClaims(t, d, "")
	steps(t, w.Settle)
	w.recount(t)
	task := w.task(t, id)
	if task.State != "done" || task.Jobs.Finished != 17+12 || task.Jobs.Cancelled != 1 || len(task.Scaled) != 1 || task.Spec.Groups[0].Replicas != 3 {
		t.Errorf("%s %+v %+v", task.State, task.Jobs, task.Scaled)
	}
	if _, err := w.Scale(context.Background(), id, spec.Scaling{Replicas: 2}); !errors.Is(err, judge.ErrState) {
		t.Errorf("scaled after its end: %v", err)
	}
}

// What does not run is cancelled, what is no job yet is not made; the names of the others stay theirs.
func TestScaleKeepsNames(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.mark(broker.Mark{Floor: 4, Batch: 8})
	f := &fleet{db: w}
	id := w.submit(t, managed(onNodes)).ID
	if n, err := w.Generate(ctx); n != 8 || err != nil { // replica 0, and two of replica 1
		t.Fatal(n, err)
	}
	f.lease(t, 7)
	got := w.scale(t, id, spec.Scaling{Group: "g", Replicas: 1})
	if d := cmp.Diff(groups.ScaleChange{Task: id, Group: "g", Before: 3, After: 1, Removed: 10, Cancelled: 1, Leased: 1, Draining: 1}, got); d != "" {
		t.Error(d)
	}
	if got := w.scale(t, id, spec.Scaling{Group: "g", Role: "coord", Replicas: 2}); got.Added != 1 {
		t.Errorf("%+v", got)
	}
	if got := w.scale(t, id, spec.Scaling{Replicas: 2}); got.Added != 7 || got.Before != 1 {
		t.Errorf("%+v", got)
	}
	w.mark(broker.Mark{})
	steps(t, w.Settle)
	steps(t, w.Generate)
	names := jobs[[]string](t, w, "SELECT array_agg(inputs[1] ORDER BY id) FROM live_jobs WHERE task_id = $1 AND NOT scaled_away", id)
	var want []string
	for task := range 2 {
		for _, name := range []string{"pre/0", "pre/1", "train/0", "train/1", "train/2", "coord/0", "coord/1"} {
			want = append(want, fmt.Sprintf("%d/g/0/%s", task, name))
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("jobs %v", names)
	}
	if n := jobs[int](t, w, "SELECT count(DISTINCT idx) FROM (SELECT idx FROM live_jobs UNION ALL SELECT idx FROM over_jobs) j"); n != 16 {
		t.Errorf("%d different indexes of 16 jobs", n)
	}
	f.lease(t, 20)
	f.end(t, "finished", 20)
	steps(t, w.Settle)
	w.recount(t)
	if got := w.task(t, id); got.State != "done" {
		t.Errorf("%+v", got)
	}
}

// Failed jobs of what was scaled away are not tried again; those of the rest are, under their names.
func TestScaleAndRetry(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	id := w.submit(t, managed(func(s *spec.Spec) { onNodes(s); s.MaxAttempts = 1 })).ID
	steps(t, w.Generate)
	f.lease(t, 18)
	f.end(t, "failed", 18)
	steps(t, w.Settle)
	if _, err := w.Scale(ctx, id, spec.Scaling{Group: "g", Replicas: 1}); !errors.Is(err, judge.ErrState) {
		t.Fatal(err)
	}
	if c, err := w.Say(ctx, VerbRetry, id, nil); err != nil || c.Again != 18 {
		t.Fatalf("%+v %v", c, err)
	}
	if got := w.scale(t, id, spec.Scaling{Group: "g", Replicas: 1}); got.Removed != 12 || got.Leased != 0 || got.Draining != 2 {
		t.Errorf("%+v", got)
	}
	if got := w.scale(t, id, spec.Scaling{Group: "g", Replicas: 2}); got.Added != 6 {
		t.Errorf("%+v", got)
	}
	if n := steps(t, w.Generate); n != 12 {
		t.Fatalf("%d jobs are made", n)
	}
	if n := jobs[int](t, w, "SELECT count(*) FROM live_jobs WHERE (retry_of IS NULL) = (inputs[1] LIKE '0/g/1/%')"); n != 12 {
		t.Errorf("%d jobs are what they should be", n)
	}
	f.lease(t, 12)
	f.end(t, "failed", 1)
	f.end(t, "finished", 11)
	steps(t, w.Settle)
	w.recount(t)
	if got := w.task(t, id); got.State != "finished" {
		t.Errorf("%+v", got)
	}
	if c, err := w.Say(ctx, VerbRetry, id, nil); err != nil || c.Again != 1 {
		t.Errorf("%+v %v", c, err)
	}
	steps(t, w.Generate)
	f.lease(t, 1)
	f.end(t, "finished", 1)
	steps(t, w.Settle)
	w.recount(t)
	if got := w.task(t, id); got.State != "done" {
		t.Errorf("%+v", got)
	}
}

// A piece that is not wanted any more counts once, however often it was tried: for what is tried again, and for what is done.
func TestScaleAwayOfWhatFailedTwice(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	f := &fleet{db: w}
	id := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.Roles, s.MaxAttempts = 0, []spec.Member{{Role: "r", Count: 3}}, 1 })).ID
	fail := func(n int) {
		steps(t, w.Generate)
		f.lease(t, n)
		f.end(t, "failed", n)
		steps(t, w.Settle)
		w.recount(t)
		if got := w.task(t, id); got.State != "failed" {
			t.Fatalf("%+v", got)
		}
	}
	again := func(n int64) {
		if c, err := w.Say(ctx, VerbRetry, id, nil); err != nil || c.Again != n {
			t.Fatalf("%+v %v", c, err)
		}
	}
	fail(3)
	again(3)
	fail(3)
	again(3)
	if got := w.scale(t, id, spec.Scaling{Role: "r", Replicas: 1}); got.Removed != 2 {
		t.Errorf("%+v", got)
	}
	fail(1)
	again(1)
	steps(t, w.Generate)
	f.lease(t, 1)
	f.end(t, "finished", 1)
	steps(t, w.Settle)
	w.recount(t)
	if got := w.task(t, id); got.State != "done" {
		t.Errorf("%+v", got)
	}
}

func TestScaleRefuses(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	id := w.submit(t, managed(disagg2)).ID
	plain := w.submit(t, managed(nil)).ID
	for _, c := range []struct {
		task int64
		s    spec.Scaling
		want string
	}{
		{id, spec.Scaling{Replicas: -1}, "replicas: -1 is not in 0 … 100000"},
		{id, spec.Scaling{Replicas: 100_001}, "replicas: 100001 is not in 0 … 100000"},
		{id, spec.Scaling{Group: "g", Replicas: 2}, `group: there is no group "g" (groups: sgx)`},
		{id, spec.Scaling{Group: "sgx", Role: "x", Replicas: 2}, `role: group sgx has no member "x" (members: pca, pcb)`},
		{id, spec.Scaling{Role: "x", Replicas: 2}, `role: there is no standalone role "x" (standalone roles: metrics)`},
		{id, spec.Scaling{Role: "pca", Replicas: 2}, `role: there is no standalone role "pca" (pca is a member of group sgx: name the group too)`},
		{id, spec.Scaling{Role: "sgx/pca", Replicas: 2}, `role: there is no standalone role "sgx/pca" (standalone roles: metrics)`},
		{id, spec.Scaling{Group: "sgx", Replicas: 100_000}, "replicas: the task would have 1000004 jobs, more than 1000000 (fewer replicas, or several tasks); " +
			"replicas: the task would make 200002 claims, more than 100000 (fewer replicas, a wider scope, or several tasks)"},
		{plain, spec.Scaling{Replicas: 2}, "replicas: the task has neither groups nor roles (its work is split by count)"},
	} {
		_, err := w.Scale(ctx, c.task, c.s)
		if !errors.Is(err, spec.ErrInvalid) || err.Error() != "scale: "+c.want {
			t.Errorf("%+v: %v, want %s", c.s, err, c.want)
		}
	}
	if _, err := w.Scale(ctx, 999, spec.Scaling{}); !errors.Is(err, view.ErrNoTask) {
		t.Error(err)
	}
	for i, state := range judge.States {
		w.exec(t, `UPDATE tasks SET state = $2, resume_state = NULL, ended_at = CASE WHEN $2 IN ('done', 'finished', 'failed', 'aborted') THEN now() END
			WHERE id = $1`, id, state)
		_, err := w.Scale(ctx, id, spec.Scaling{Replicas: 10 + i})
		refused := slices.Contains([]string{"submitting", "waiting", "finishing", "done", "finished", "failed", "aborting", "aborted"}, state)
		if errors.Is(err, judge.ErrState) != refused || !refused && err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// disagg2 is disagg with a template of its own for every claim.
func disagg2(s *spec.Spec) {
	disagg(s)
	s.ClaimTemplates = append(s.ClaimTemplates, spec.ClaimTemplate{Name: "metrics-gpu", Devices: map[string]int{"gpu": 1}})
}

// A task of which nothing is left is done.
func TestScaleToNothing(t *testing.T) {
	w := newWorld(t)
	w.mark(broker.Mark{Floor: 200_000, Batch: 20_000})
	const n = 5010
	id := w.submit(t, managed(func(s *spec.Spec) { s.Count, s.Roles = 0, []spec.Member{{Role: "r", Count: n}} })).ID
	steps(t, w.Generate)
	steps(t, w.Settle)
	if got := w.scale(t, id, spec.Scaling{Role: "r", Replicas: 0}); got.Cancelled != n {
		t.Errorf("%+v", got)
	}
	steps(t, w.Settle)
	w.recount(t)
	if got := w.task(t, id); got.State != "done" || got.Jobs.Cancelled != n {
		t.Errorf("%+v", got)
	}
}

// A gang that is scaled down before it starts does so with those that are left; what is added later joins it.
func TestScaleOfAGang(t *testing.T) {
	w := newWorld(t)
	d := w.dispatch(t)
	id := w.submit(t, managed(func(s *spec.Spec) {
		s.Count = 0
		s.Groups = []spec.Group{{Name: "g", Members: []spec.Member{{Role: "a"}, {Role: "b", Count: 3}}, Sharing: []spec.Sharing{{Template: "room", Scope: "per_replica"}}}}
		s.ClaimTemplates = []spec.ClaimTemplate{{Name: "room", Node: true, Gang: true}}
	})).ID
	steps(t, w.Generate)
	ask := dispatcher.PullRequest{Queue: "CERN", Pilot: "p", Node: "n1", Slot: job.Slot{Cores: 3}, Max: 3, WaitS: 0.3}
	if reply, err := d.Pull(context.Background(), ask); !errors.Is(err, dispatcher.ErrNoJobs) {
		t.Fatalf("three slots for four jobs: %v %v", reply, err)
	}
	w.fold(t)
	if got := w.scale(t, id, spec.Scaling{Group: "g", Role: "b", Replicas: 2}); got.Cancelled != 1 {
		t.Errorf("%+v", got)
	}
	ask.WaitS = 10
	reply, err := d.Pull(context.Background(), ask)
	if err != nil || len(reply.Leases) != 3 {
		t.Fatalf("%v %v", reply, err)
	}
	if got := w.scale(t, id, spec.Scaling{Group: "g", Role: "b", Replicas: 4}); got.Added != 2 {
		t.Errorf("%+v", got)
	}
	steps(t, w.Generate)
	for name, l := range w.pullNamed(t, d, 2, dispatcher.PullRequest{Node: "n1"}) {
		if name != "0/g/0/b/2" && name != "0/g/0/b/3" {
			t.Errorf("%s", name)
		}
		end(t, d, dispatcher.Finished, l)
	}
	for _, l := range reply.Leases {
		end(t, d, dispatcher.Finished, l)
	}
	w.awaitClaims(t, d, "")
	steps(t, w.Settle)
	w.recount(t)
	if got := w.task(t, id); got.State != "done" {
		t.Errorf("%+v", got)
	}
}

// A gang of which some jobs are made is scaled: it starts as soon as those that it has now are there, with or without.
func TestScaleOfAGangThatIsBeingMade(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.mark(broker.Mark{Floor: 4, Batch: 2})
	d := w.dispatch(t)
	id := w.submit(t, managed(func(s *spec.Spec) {
		s.Count = 0
		s.Groups = []spec.Group{{Name: "g", Members: []spec.Member{{Role: "a"}, {Role: "b", Count: 5}}, Sharing: []spec.Sharing{{Template: "room", Scope: "per_replica"}}}}
		s.Roles = []spec.Member{{Role: "c", Count: 9}}
		s.ClaimTemplates = []spec.ClaimTemplate{{Name: "room", Node: true, Gang: true}}
	})).ID
	for range 2 {
		if n, err := w.Generate(ctx); n != 2 || err != nil {
			t.Fatal(n, err)
		}
	}
	ask := dispatcher.PullRequest{Queue: "CERN", Pilot: "p", Node: "n1", Slot: job.Slot{Cores: 8}, Max: 8, WaitS: 0.3}
	if reply, err := d.Pull(ctx, ask); !errors.Is(err, dispatcher.ErrNoJobs) {
		t.Fatalf("four of six are made: %v %v", reply, err)
	}
	w.fold(t)
	if got := w.scale(t, id, spec.Scaling{Group: "g", Role: "b", Replicas: 2}); got.Cancelled != 1 || got.Removed != 2 {
		t.Errorf("%+v", got)
	}
	ask.WaitS = 10
	reply, err := d.Pull(ctx, ask)
	if err != nil || len(reply.Leases) != 3 {
		t.Fatalf("%v %v", reply, err)
	}
}
