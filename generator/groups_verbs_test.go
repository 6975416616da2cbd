package generator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/dispatchertest"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
)

// twoGPUs is a task of two group replicas of two jobs, each of which shares a GPU.
func twoGPUs(s *spec.Spec) {
	s.Count, s.Command, s.MaxAttempts = 0, []string{"train", "{{.Input}}"}, 1
	s.ClaimTemplates = []spec.ClaimTemplate{{Name: "gpu", Devices: map[string]int{"gpu": 1}}}
	s.Groups = []spec.Group{{Name: "g", Replicas: 2, Members: []spec.Member{{Role: "a"}, {Role: "b"}}, Sharing: []spec.Sharing{{Template: "gpu", Scope: "per_replica"}}}}
}

func atNode(node string, n int) dispatcher.PullRequest {
	return dispatcher.PullRequest{Node: node, Devices: gpus(n)}
}

// nothingAt says that a pull at a node gets nothing.
func nothingAt(t *testing.T, d *dispatchertest.Dispatcher, req dispatcher.PullRequest) {
	t.Helper()
	req.Queue, req.Pilot, req.Slot, req.WaitS = "CERN", "p", job.Slot{Cores: 1}, 0.3
	d.Settle()
	if reply, err := d.Pull(context.Background(), req); !errors.Is(err, dispatcher.ErrNoJobs) {
		t.Fatalf("%v %v", reply, err)
	}
}

// G7 as new jobs: those that Retry makes hold the claims that the ones that failed held, by their names.
func TestRetryOfGroups(t *testing.T) {
	w := newWorld(t)
	d := w.dispatch(t)
	id := w.submit(t, managed(twoGPUs)).ID
	steps(t, w.Generate)
	for name, l := range w.pullNamed(t, d, 4, atNode("n1", 2)) {
		end(t, d, map[bool]dispatcher.Outcome{true: dispatcher.Failed, false: dispatcher.Finished}[strings.HasPrefix(name, "0/g/1")], l)
	}
	w.awaitClaims(t, d, "")
	steps(t, w.Settle)
	if c, err := w.Say(context.Background(), VerbRetry, id, nil); err != nil || c.Again != 2 {
		t.Fatalf("%+v %v", c, err)
	}
	if n := steps(t, w.Generate); n != 2 {
		t.Fatalf("%d jobs", n)
	}
	w.awaitClaims(t, d, "0/g/1/gpu=pending")
	again := w.pullNamed(t, d, 2, atNode("n2", 3))
	if a, b := again["0/g/1/a/0"], again["0/g/1/b/0"]; a.Env["DIVVY_CLAIM_GPU_DEVICES"] != "gpu:0" || b.Env["DIVVY_CLAIM_GPU_DEVICES"] != "gpu:0" {
		t.Errorf("%v", again)
	}
	for _, l := range again {
		end(t, d, dispatcher.Finished, l)
	}
	steps(t, w.Settle)
	w.recount(t)
	if got := w.task(t, id); got.State != "done" {
		t.Errorf("%+v", got)
	}
}

// A paused task's claims stay with those that run; resumed, the others join them.
func TestPauseOfGroups(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	d := w.dispatch(t)
	id := w.submit(t, managed(twoGPUs)).ID
	steps(t, w.Generate)
	running := w.pullNamed(t, d, 1, atNode("n1", 1))
	if c, err := w.Say(ctx, VerbPause, id, nil); err != nil || c.Ready != 3 {
		t.Fatalf("%+v %v", c, err)
	}
	nothingAt(t, d, atNode("n1", 4))
	if c, err := w.Say(ctx, VerbResume, id, nil); err != nil || c.Ready != 3 {
		t.Fatalf("%+v %v", c, err)
	}
	for name, l := range w.pullNamed(t, d, 1, atNode("n1", 1)) {
		running[name] = l
	}
	names := strings.Join(slices.Sorted(func(yield func(string) bool) {
		for name := range running {
			if !yield(name[:len("0/g/0")]) {
				return
			}
		}
	}), " ")
	if names != "0/g/0 0/g/0" && names != "0/g/1 0/g/1" {
		t.Errorf("%s", names)
	}
	nothingAt(t, d, atNode("n1", 1))
	steps(t, w.Settle)
	w.recount(t)
}

// Killed, a task's claims are free as soon as its jobs are over; finished, as soon as those that run are.
func TestKillAndFinishOfGroups(t *testing.T) {
	for verb, outcome := range map[Verb]dispatcher.Outcome{VerbKill: dispatcher.Cancelled, VerbFinish: dispatcher.Finished} {
		t.Run(string(verb), func(t *testing.T) {
			w := newWorld(t)
			d := w.dispatch(t)
			id := w.submit(t, managed(twoGPUs)).ID
			steps(t, w.Generate)
			running := w.pullNamed(t, d, 1, atNode("n1", 2))
			if c, err := w.say1(verb, id); err != nil || c.Ready != 3 {
				t.Fatalf("%+v %v", c, err)
			}
			for name, l := range running {
				w.awaitClaims(t, d, strings.TrimSuffix(strings.TrimSuffix(name, "a/0"), "b/0")+"gpu=bound")
				end(t, d, outcome, l)
			}
			w.awaitClaims(t, d, "")
			steps(t, w.Settle)
			w.recount(t)
			want := map[Verb]string{VerbKill: "aborted", VerbFinish: "finished"}[verb]
			if got := w.task(t, id); got.State != want || got.Jobs.Cancelled+got.Jobs.Finished != 4 {
				t.Errorf("%+v", got)
			}
			if n := one[int](t, w.db, "SELECT coalesce(sum(cardinality(devices)), 0) FROM claims WHERE state IN ('bound', 'draining')"); n != 0 {
				t.Errorf("%d devices are not given back", n)
			}
		})
	}
}

// Another priority and another share change nothing about who shares what.
func TestMovesOfGroups(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	d := w.dispatch(t)
	id := w.submit(t, managed(twoGPUs)).ID
	steps(t, w.Generate)
	leases := w.pullNamed(t, d, 1, atNode("n1", 1))
	if c, err := w.Prioritise(ctx, id, 7); err != nil || c.Ready != 3 || c.Leased != 1 {
		t.Fatalf("%+v %v", c, err)
	}
	if c, err := w.Reassign(ctx, ReassignRequest{Share: "Prod/Rep", Tasks: []int64{id}, Running: true}); err != nil || len(c.Tasks) != 1 || !c.Tasks[0].Moved {
		t.Fatalf("%+v %v", c, err)
	}
	for name, l := range w.pullNamed(t, d, 1, atNode("n1", 1)) {
		leases[name] = l
	}
	for name, l := range w.pullNamed(t, d, 2, atNode("n2", 1)) {
		leases[name] = l
	}
	if a, b := leases["0/g/0/a/0"].Env["DIVVY_CLAIM_GPU_NODE"], leases["0/g/0/b/0"].Env["DIVVY_CLAIM_GPU_NODE"]; len(leases) != 4 || a == "" || a != b {
		t.Errorf("%v", leases)
	}
	for _, l := range leases {
		end(t, d, dispatcher.Finished, l)
	}
	w.awaitClaims(t, d, "")
	steps(t, w.Settle)
	w.recount(t)
}

// A task submitted with the specification of another one has claims of its own.
func TestCopyOfGroups(t *testing.T) {
	w := newWorld(t)
	d := w.dispatch(t)
	first := w.task(t, w.submit(t, managed(twoGPUs)).ID)
	w.submit(t, *first.Spec)
	steps(t, w.Generate)
	w.pullNamed(t, d, 8, atNode("n1", 4))
	w.awaitClaims(t, d, "0/g/0/gpu=bound 0/g/0/gpu=bound 0/g/1/gpu=bound 0/g/1/gpu=bound")
	if n := one[int](t, w.db, "SELECT count(DISTINCT d) FROM claims, unnest(devices) d WHERE state = 'bound'"); n != 4 {
		t.Errorf("%d devices", n)
	}
}

// A template that the site gets later is the one of claims that wait for it; it goes and they stay. The task's own shadows it.
func TestTemplatesThatComeLater(t *testing.T) {
	w := newWorld(t)
	d := w.dispatch(t)
	own := managed(func(s *spec.Spec) { twoGPUs(s); s.Groups[0].Name = "own" })
	other := managed(func(s *spec.Spec) { twoGPUs(s); s.ClaimTemplates = nil })
	w.submit(t, other)
	steps(t, w.Generate)
	nothingAt(t, d, atNode("n1", 8))
	w.apply(t, siteYAML+"claim_templates: [{name: gpu, devices: {gpu: 3}}]\n")
	first := w.pullNamed(t, d, 1, atNode("n1", 8))
	for _, l := range first {
		if l.Env["DIVVY_CLAIM_GPU_DEVICES"] != "gpu:0,gpu:1,gpu:2" {
			t.Errorf("%v", l.Env)
		}
	}
	w.apply(t, siteYAML)
	w.submit(t, own)
	steps(t, w.Generate)
	for name, l := range w.pullNamed(t, d, 7, atNode("n1", 8)) {
		if n := len(strings.Split(l.Env["DIVVY_CLAIM_GPU_DEVICES"], ",")); (n == 1) != strings.HasPrefix(name, "0/own/") || n != 1 && n != 3 {
			t.Errorf("%s: %v", name, l.Env)
		}
	}
}

// Jobs of several tasks share a claim that people made; a task without it waits.
func TestClaimsFromOutside(t *testing.T) {
	w := newWorld(t)
	d := w.dispatch(t)
	task := managed(func(s *spec.Spec) {
		s.Count, s.Roles, s.Sharing = 0, []spec.Member{{Role: "r", Count: 2}}, []spec.Sharing{{Claim: "disk"}}
	})
	w.submit(t, task)
	w.submit(t, task)
	steps(t, w.Generate)
	nothingAt(t, d, atNode("n1", 0))
	w.awaitClaims(t, d, "disk=pending")
	if _, err := d.CreateClaim(context.Background(), dispatcher.OutsideClaim{Name: "disk", Queue: "CERN", Node: "n1"}); err != nil {
		t.Fatal(err)
	}
	for _, req := range []int{3, 1} {
		req := w.pullNamed(t, d, req, atNode("n1", 0))
		for _, l := range req {
			if l.Env["DIVVY_CLAIM_DISK_NODE"] != "n1" {
				t.Errorf("%v", l.Env)
			}
			end(t, d, dispatcher.Finished, l)
		}
	}
	w.awaitClaims(t, d, "disk=bound")
}
