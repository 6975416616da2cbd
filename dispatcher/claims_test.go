package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// enqueueLayout makes all jobs of a task of groups ready, as package generator does it, and returns their names by id.
func (f *fixture) enqueueLayout(share string, l resource.Layout) (names map[int64]string) {
	f.t.Helper()
	return f.enqueueRoles(share, l, func(resource.JobKey) job.Requirements { return job.Requirements{Cores: 1, Resources: f.own} })
}

// enqueueRoles is enqueueLayout with what each role needs.
func (f *fixture) enqueueRoles(share string, l resource.Layout, needOf func(resource.JobKey) job.Requirements) (names map[int64]string) {
	f.t.Helper()
	if err := l.Validate(); err != nil {
		f.t.Fatal(err)
	}
	ctx := context.Background()
	f.mu.Lock()
	f.tasks++
	task := f.tasks
	node, _ := f.version.Tree.ByPath(share)
	of := f.version.Tree.Nodes[node].ID
	f.mu.Unlock()
	x := resource.Expand(l)
	names = map[int64]string{}
	err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		if err := AddPayload(ctx, tx, Payload{Task: task, Command: []string{"echo", "{{.Input}}"}}); err != nil {
			return err
		}
		made, sharers := make([]NewClaim, len(x.Claims)), x.Sharers()
		for i, key := range x.Claims {
			t, ok := l.Template(key.Template, nil)
			if t.Name = key.Template; key.External {
				made[i] = NewClaim{Key: key.Template, Template: t, Outside: true}
				continue
			}
			made[i] = NewClaim{Key: key.Name(), Template: t, SharingID: "u", Members: sharers[i], Made: sharers[i], Missing: !ok}
		}
		claims, err := MakeClaims(ctx, tx, task, made)
		if err != nil {
			return err
		}
		jobs := make([]NewJob, len(x.Jobs))
		for i, j := range x.Jobs {
			need := needOf(j.JobKey)
			var held []NewClaim
			jobs[i] = NewJob{Task: task, Share: of, MaxAttempts: 3, Index: int64(i), Inputs: []string{j.Name()}}
			for _, c := range j.Claims {
				jobs[i].Claims = append(jobs[i].Claims, claims[c])
				held = append(held, made[c])
			}
			if len(held) > 0 {
				need.Claims, need.SharingID = ClaimNeedOf(held), "u"
			}
			if jobs[i].Shape, err = Intern(ctx, tx, need); err != nil {
				return err
			}
		}
		ids, err := Enqueue(ctx, tx, jobs)
		for i, id := range ids {
			names[id] = x.Jobs[i].Name()
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.told()
	return names
}

// tending has the claims of a daemon tended while a test runs.
func (f *fixture) tending(ds ...*Dispatcher) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, d := range ds {
				if _, err := d.TendClaims(ctx); err != nil && ctx.Err() == nil {
					f.t.Errorf("tend: %v", err)
					return
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	f.t.Cleanup(func() { stop(); <-done })
}

// recountClaims compares claims with leases and jobs.
func (f *fixture) recountClaims() {
	f.t.Helper()
	for name, sql := range map[string]string{
		"sharers": `SELECT count(*) FROM resource_claims c WHERE sharers <>
			(SELECT count(*) FROM leases l JOIN jobs j ON j.id = l.job_id WHERE j.claims @> ARRAY[c.id])`,
		"places": `SELECT count(*) FROM leases l JOIN jobs j ON j.id = l.job_id JOIN resource_claims c ON c.id = ANY (j.claims)
			WHERE c.state NOT IN ('bound', 'draining') OR (c.queue_id <> l.queue_id OR c.node <> l.node) AND (c.template ? 'node' OR c.template ? 'devices')`,
		"charges": `SELECT count(*) FROM (
			SELECT share_id, shape_id, queue_id FROM (
				SELECT share_id, shape_id, queue_id, held FROM counters
				UNION ALL SELECT share_id, shape_id, queue_id, (after = 'l')::int * n - (before = 'l')::int * n FROM ledger_tail_moves
				UNION ALL SELECT share_id, charge_id, queue_id, -1 FROM resource_claims WHERE charge_id <> 0 AND share_id <> 0
			) x JOIN shapes s ON s.id = shape_id AND s.cores = 0 GROUP BY 1, 2, 3 HAVING sum(held) <> 0) wrong`,
		"payers": `SELECT count(*) FROM resource_claims WHERE share_id = 0 AND state = 'bound' AND task_id <> 0`,
		"devices": `SELECT count(*) FROM (
			SELECT c.id, d.device FROM resource_claims c, jsonb_array_elements_text(c.devices) AS d (device)
			EXCEPT SELECT claim_id, device FROM claim_devices) wrong`,
		"devices of none": `SELECT count(*) FROM claim_devices d JOIN resource_claims c ON c.id = d.claim_id
			WHERE c.state NOT IN ('bound', 'draining') OR NOT c.devices ? d.device`,
		"released": `SELECT count(*) FROM resource_claims c WHERE state = 'released' AND EXISTS (SELECT FROM jobs j WHERE j.claims @> ARRAY[c.id])`,
	} {
		var wrong int
		f.scan(&wrong, sql)
		if wrong != 0 {
			f.t.Errorf("%s: %d claims differ from a recount", name, wrong)
		}
	}
}

// slotAt is a pull for one core at a node.
func slotAt(queue, node string, devices ...string) PullRequest {
	return PullRequest{Queue: queue, Pilot: "p-" + node, Node: node, Devices: devices, Slot: job.Slot{Cores: 1}, WaitS: 5}
}

func pullAt(t testing.TB, d *Dispatcher, req PullRequest) Lease {
	t.Helper()
	reply, err := d.Pull(context.Background(), req)
	if err != nil {
		t.Fatalf("pull at %s: %v", req.Node, err)
	}
	return reply.Leases[0]
}

func noneAt(t testing.TB, d *Dispatcher, req PullRequest) {
	t.Helper()
	req.WaitS = 0.3
	if reply, err := d.Pull(context.Background(), req); !errors.Is(err, ErrNoJobs) {
		t.Fatalf("pull at %s: %v %v, want ErrNoJobs", req.Node, reply, err)
	}
}

func gpus(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("gpu:%d", i))
	}
	return ids
}

// g3 is case G3 of sharing.md §5: three replicas, each with a pool of 4 GPUs that five of its six jobs share.
func g3() resource.Layout {
	return resource.Layout{Replicas: 1,
		Templates: []shares.ClaimTemplate{{Name: "pool", Devices: map[string]int{"gpu": 4}, Linger: time.Minute}},
		Groups: []resource.Group{{Name: "g", Replicas: 3,
			Members: []resource.Role{{Name: "pre", Count: 2}, {Name: "train", Count: 3}, {Name: "coord", Count: 1}},
			Sharing: []resource.Sharing{{Template: "pool", Scope: resource.PerReplica, Only: []string{"pre", "train"}}}}}}
}

// replicaOf is the group replica in the name of a job.
func replicaOf(name string) string { return strings.Split(name, "/")[2] }

// G3: a node of eight GPUs takes two of three replicas; the third waits, its coord does not.
func TestClaimsOfAGroupShareANode(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	names := f.enqueueLayout("A", g3())
	at := map[string]map[string]bool{} // devices by replica
	held := map[string][]Lease{}
	for range 2*5 + 3 {
		l := pullAt(t, d, slotAt("q", "n1", gpus(8)...))
		name := names[l.Job]
		held[name] = append(held[name], l)
		if strings.Contains(name, "/coord/") {
			if l.Env["DIVVY_CLAIM_POOL_NODE"] != "" {
				t.Errorf("%s holds a claim: %v", name, l.Env)
			}
			continue
		}
		if l.Env["DIVVY_CLAIM_POOL_NODE"] != "n1" || len(strings.Split(l.Env["DIVVY_CLAIM_POOL_DEVICES"], ",")) != 4 {
			t.Errorf("%s: %v", name, l.Env)
		}
		if at[replicaOf(name)] == nil {
			at[replicaOf(name)] = map[string]bool{}
		}
		at[replicaOf(name)][l.Env["DIVVY_CLAIM_POOL_DEVICES"]] = true
	}
	if len(at) != 2 {
		t.Fatalf("%v", at)
	}
	seen := map[string]bool{}
	for replica, devices := range at {
		for ids := range devices {
			if len(devices) != 1 || seen[ids] {
				t.Errorf("replica %s has %v of %v", replica, devices, at)
			}
			seen[ids] = true
		}
	}
	noneAt(t, d, slotAt("q", "n1", gpus(8)...))
	noneAt(t, d, slotAt("q", "n2", gpus(3)...))
	noneAt(t, d, slotAt("q", ""))
	for range 5 {
		l := pullAt(t, d, slotAt("q", "n2", gpus(4)...))
		held[names[l.Job]] = append(held[names[l.Job]], l)
	}
	f.recountClaims()
	f.recount()
	for _, ls := range held {
		finish(t, d, Finished, ls...)
	}
	eventually(t, "all claims are released", func() bool {
		var n int
		f.scan(&n, "SELECT count(*) FROM resource_claims WHERE state <> 'released'")
		return n == 0
	})
	f.recountClaims()
	f.recount()
}

// G7: a job that is tried again joins its claim, whose devices stay what they are; another node does not get it.
func TestRetriesRejoinTheirClaim(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	l := g3()
	l.Groups[0].Replicas, l.Groups[0].Members = 1, []resource.Role{{Name: "pre", Count: 1}, {Name: "train", Count: 1}}
	f.enqueueLayout("A", l)
	first := pullAt(t, d, slotAt("q", "n1", gpus(8)...))
	finish(t, d, Failed, first)
	var other Lease
	noneAt(t, d, slotAt("q", "n2", gpus(8)...))
	for range 2 {
		other = pullAt(t, d, slotAt("q", "n1", gpus(8)[4:]...))
		if got := other.Env["DIVVY_CLAIM_POOL_DEVICES"]; got != first.Env["DIVVY_CLAIM_POOL_DEVICES"] {
			t.Errorf("devices %s, want those of the first attempt: %v", got, first.Env)
		}
	}
	f.recountClaims()
	f.recount()
}

// G8: the node of a claim dies, and its jobs go to another one together; other claims stay where they are.
func TestLostNodeUnbindsItsClaims(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	l := g3()
	l.Groups[0].Replicas, l.Groups[0].Members = 2, []resource.Role{{Name: "pre", Count: 1}, {Name: "train", Count: 2}}
	names := f.enqueueLayout("A", l)
	dead := []Lease{}
	for range 3 {
		dead = append(dead, pullAt(t, d, slotAt("q", "n1", gpus(4)...)))
	}
	stays := pullAt(t, d, slotAt("q", "n2", gpus(4)...))
	for _, l := range dead {
		f.exec("UPDATE leases SET expires_at = now() - interval '1 second' WHERE job_id = $1", l.Job)
	}
	d.mu.Lock()
	d.swept = time.Time{}
	d.mu.Unlock()
	if n, err := d.Expire(t.Context()); err != nil || n != 3 {
		t.Fatalf("%d %v", n, err)
	}
	var again []string
	for range 3 {
		again = append(again, replicaOf(names[pullAt(t, d, slotAt("q", "n3", gpus(4)...)).Job]))
	}
	if slices.Contains(again, replicaOf(names[stays.Job])) {
		t.Errorf("%v, but %s is at n2", again, names[stays.Job])
	}
	for range 2 {
		if got := replicaOf(names[pullAt(t, d, slotAt("q", "n2", gpus(4)...)).Job]); got != replicaOf(names[stays.Job]) {
			t.Errorf("replica %s at n2", got)
		}
	}
	f.recountClaims()
	f.recount()
}

// A claim that nobody holds stays where it is for linger, then any node may have it.
func TestIdleClaimLingers(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	l := g3()
	l.Groups[0].Replicas, l.Groups[0].Members = 1, []resource.Role{{Name: "pre", Count: 1}, {Name: "train", Count: 1}}
	f.enqueueLayout("A", l)
	finish(t, d, Finished, pullAt(t, d, slotAt("q", "n1", gpus(4)...)))
	noneAt(t, d, slotAt("q", "n2", gpus(4)...))
	f.exec("UPDATE resource_claims SET linger_s = 0")
	if got := pullAt(t, d, slotAt("q", "n2", gpus(4)...)); got.Env["DIVVY_CLAIM_POOL_NODE"] != "n2" {
		t.Errorf("%v", got.Env)
	}
	f.recountClaims()
	f.recount()
}

// Pulls that wait when the first job with claims comes are told apart by node from then on; who names none gets other jobs.
func TestPullsThatWaitForTheFirstClaim(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	type answer struct {
		node  string
		reply PullReply
		err   error
	}
	answers := make(chan answer, 3)
	for _, at := range []string{"", "n1", "n2"} {
		req := slotAt("q", at, gpus(2)...)
		if at == "" {
			req.Devices = nil
		}
		if at == "n2" {
			req.Devices = gpus(4)
		}
		go func() {
			reply, err := d.Pull(context.Background(), req)
			answers <- answer{at, reply, err}
		}()
	}
	eventually(t, "three pulls wait", func() bool { return d.Queues()[0].Waiting == 3 })
	l := g3()
	l.Groups[0].Replicas, l.Groups[0].Members = 1, []resource.Role{{Name: "pre", Count: 1}, {Name: "train", Count: 1}}
	f.enqueueLayout("A", l)
	if a := <-answers; a.node != "n2" || a.err != nil {
		t.Fatalf("%+v", a)
	}
	f.enqueue(batch{share: "A", n: 2})
	for range 2 {
		if a := <-answers; a.err != nil || a.reply.Leases[0].Env["DIVVY_CLAIM_POOL_NODE"] != "" {
			t.Fatalf("%+v", a)
		}
	}
	f.recountClaims()
	f.recount()
}

// Pulls for one task get its jobs with claims, and the repeat of one is told the same devices.
func TestClaimsOfARepeatedNarrowPull(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 100))
	d := f.daemon()
	f.tending(d)
	f.enqueueLayout("A", g3())
	req := slotAt("q", "n1", gpus(8)[4:]...)
	req.Only.Task, req.RequestID = f.tasks, "r1"
	for {
		first := pullAt(t, d, req)
		again := pullAt(t, d, req)
		if first.Lease != again.Lease || first.Env["DIVVY_CLAIM_POOL_DEVICES"] != again.Env["DIVVY_CLAIM_POOL_DEVICES"] {
			t.Fatalf("%v, then %v", first, again)
		}
		if first.Env["DIVVY_CLAIM_POOL_DEVICES"] == "gpu:4,gpu:5,gpu:6,gpu:7" && first.Env["DIVVY_CLAIM_POOL_NODE"] == "n1" {
			break
		}
		if first.Env["DIVVY_CLAIM_POOL_NODE"] != "" {
			t.Fatalf("%v", first.Env)
		}
		req.RequestID += "1" // that was a coord
	}
	f.recountClaims()
	f.recount()
}

// News of two claims that have the same device one after the other may come in any order: it is the later one's.
func TestNewsOfClaimsInAnyOrder(t *testing.T) {
	template := claimTemplate{Name: "gpu", Devices: map[string]int{"gpu": 1}}
	row := func(id int64, state string) claimRow {
		r := claimRow{ID: id, Key: fmt.Sprint(id), Template: template, State: state}
		if state == "bound" {
			r.Queue, r.Node, r.Devices = "q", "n", []string{"gpu:0"}
		}
		return r
	}
	p := &pull{req: slotAt("q", "n", gpus(2)...)}
	for _, last := range [][]claimRow{{row(1, "released"), row(2, "bound")}, {row(2, "bound"), row(1, "pending")}} {
		cs := newClaims()
		if !cs.follow([]claimRow{row(1, "bound"), row(2, "pending")}) || !cs.follow(last) || cs.follow(last[:0]) {
			t.Error("it is not said what has changed")
		}
		if got := cs.offer(p).Devices; !slices.Equal(got, []string{"gpu:1"}) {
			t.Errorf("%v are free", got)
		}
		cs.follow([]claimRow{row(2, "released")})
		if got := cs.offer(p).Devices; !slices.Equal(got, gpus(2)) {
			t.Errorf("%v are free", got)
		}
	}
}
