package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// caseTB lets a fixture serve one case of a property: what is cleaned up is so when the case ends, and what fails
// fails the case, which rapid then makes smaller.
type caseTB struct {
	testing.TB
	r      *rapid.T
	failed *atomic.Bool // for ever
}

func (c caseTB) Helper()                      {}
func (c caseTB) Cleanup(f func())             { c.r.Cleanup(f) }
func (c caseTB) Error(args ...any)            { c.failed.Store(true); c.r.Error(args...) }
func (c caseTB) Errorf(f string, args ...any) { c.failed.Store(true); c.r.Errorf(f, args...) }
func (c caseTB) Fail()                        { c.failed.Store(true); c.r.Fail() }
func (c caseTB) FailNow()                     { c.failed.Store(true); c.r.FailNow() }
func (c caseTB) Failed() bool                 { return c.r.Failed() }
func (c caseTB) Fatal(args ...any)            { c.failed.Store(true); c.r.Fatal(args...) }
func (c caseTB) Fatalf(f string, args ...any) { c.failed.Store(true); c.r.Fatalf(f, args...) }
func (c caseTB) Log(args ...any)              { c.r.Log(args...) }
func (c caseTB) Logf(f string, args ...any)   { c.r.Logf(f, args...) }

// onDatabases checks a property whose cases have a database each, by pgtest.Draws of n; a sixth of many where the race detector
// watches. A failure prints the seed that repeats it (-rapid.seed).
func onDatabases(t *testing.T, n int, property func(t testing.TB, r *rapid.T)) {
	t.Helper()
	most := pgtest.Draws(n)
	if pgtest.Raced {
		most = max(min(most, 2), most/6)
	}
	done := 0
	var failed atomic.Bool // once one has failed, the others are its smaller versions
	rapid.Check(t, func(r *rapid.T) {
		if done++; done <= most || failed.Load() {
			property(caseTB{t, r, &failed}, r)
		}
	})
}

// drawn is a site that was drawn, what the oracle thinks of it, and the daemons that serve it.
type drawn struct {
	*fixture
	r      *rapid.T
	oracle *oracle
	leases map[int64]string // of what is leased, by job
	tasks  []int64          // made so far
	kind   siteKind
}

func drawSite(t testing.TB, r *rapid.T, p siteKind) *drawn {
	t.Helper()
	queues := drawQueues(r, p)
	f := newFixture(t, drawLevel(r, p, 1, new(int)), queues...)
	return &drawn{fixture: f, r: r, oracle: newOracle(f.version, drawShapes(r, p, queues), p.plain), leases: map[int64]string{}, kind: p}
}

// siteKind narrows what is drawn.
type siteKind struct {
	plain bool // weights only, unit jobs, one queue; then ties are broken as they must
	lends bool // limits of lending and borrowing
	users bool // tasks have users, and shares may give them turns
}

// drawLevel draws siblings: three levels and eight leaves at the most.
func drawLevel(r *rapid.T, p siteKind, depth int, leaves *int) (out []shares.Spec) {
	n := rapid.IntRange(2, 3).Draw(r, "siblings")
	for i := range n {
		s := node(string(rune('A'+i)), float64(rapid.IntRange(1, 4).Draw(r, "weight")))
		if !p.plain {
			drawPlan(r, &s.Plan, i > 0)
		}
		if p.lends {
			drawLoans(r, &s.Plan)
		}
		if p.users {
			s.Plan.Within = rapid.SampledFrom([]string{"", shares.FairUser, shares.FairUser, shares.Fifo}).Draw(r, "within")
		}
		if *leaves++; depth < 3 && *leaves+2 <= 8 && rapid.IntRange(0, 2).Draw(r, "inner") == 0 {
			*leaves--
			s.Children = drawLevel(r, p, depth+1, leaves)
		}
		out = append(out, s)
	}
	return out
}

// drawPlan adds what not every share has.
func drawPlan(r *rapid.T, plan *shares.Plan, mayWeighNothing bool) {
	units := func(what string, low, high int) shares.Amount {
		return shares.Of(shares.Units(rapid.IntRange(low, high).Draw(r, what)) * 1000)
	}
	switch rapid.IntRange(0, 11).Draw(r, "plan") {
	case 0:
		if mayWeighNothing {
			plan.Weight = 0
		}
	case 1:
		plan.Tier = 2
	case 2, 3:
		plan.Max = units("max", 1, 5)
	case 4:
		plan.Owned = units("owned", 1, 4)
	case 5:
		plan.Min = units("min", 1, 3)
	}
}

func drawQueues(r *rapid.T, p siteKind) (out []shares.Queue) {
	if p.plain {
		return []shares.Queue{slots("q0", rapid.IntRange(3, 12).Draw(r, "slots"))}
	}
	for i := range rapid.IntRange(1, 3).Draw(r, "queues") {
		q := slots("q"+string(rune('0'+i)), rapid.IntRange(2, 10).Draw(r, "slots"))
		q.CorePowerMilli = rapid.SampledFrom([]int64{1000, 1000, 1500, 2000}).Draw(r, "power")
		q.Pool = rapid.SampledFrom([]string{"default", "default", "gpu"}).Draw(r, "pool")
		q.Prefer = rapid.SampledFrom([]string{"", "", "wide"}).Draw(r, "prefer")
		q.Cores = rapid.SampledFrom([]int{0, 0, 2}).Draw(r, "cores")
		switch rapid.IntRange(0, 7).Draw(r, "policy") {
		case 0:
			q.DenyShares = []string{rapid.SampledFrom([]string{"A", "B", "A/A", "B/B"}).Draw(r, "denied")}
		case 1:
			q.AllowShares, q.DenyShares = []string{"A", "B"}, []string{"B/A"}
		case 2:
			q.Locations = []string{"disk"}
		}
		if rapid.IntRange(0, 9).Draw(r, "unlimited") == 0 {
			q.Slots = nil
		}
		out = append(out, q)
	}
	return out
}

func drawShapes(r *rapid.T, p siteKind, queues []shares.Queue) []job.Requirements {
	shapes := []job.Requirements{{Cores: 1}}
	if p.plain {
		return shapes
	}
	for range rapid.IntRange(0, 3).Draw(r, "shapes") {
		need := job.Requirements{Cores: rapid.SampledFrom([]int{1, 2, 2, 4}).Draw(r, "cores"),
			MemoryMB: rapid.SampledFrom([]int64{0, 0, 2000}).Draw(r, "memory")}
		if rapid.IntRange(0, 3).Draw(r, "choosy") == 0 {
			need.Queues = []string{rapid.SampledFrom(queues).Draw(r, "queue").Name}
		}
		if near := rapid.SampledFrom([]string{"", "", job.LocalityRequired, job.LocalityPreferred, job.LocalityPreferred}).Draw(r, "locality"); near != "" {
			need.Locality, need.Locations = near, []string{rapid.SampledFrom([]string{"disk", "q0", "q1"}).Draw(r, "location")}
		}
		shapes = append(shapes, need)
	}
	return shapes
}

// drawJobs draws like jobs of one task: what to enqueue, and what the oracle will think of them but for their ids.
func (s *drawn) drawJobs() (batch, oracleJob) {
	leaf := rapid.SampledFrom(s.oracle.tree.Leaves()).Draw(s.r, "leaf")
	shape := rapid.IntRange(0, len(s.oracle.shapes)-1).Draw(s.r, "shape")
	need := s.oracle.shapes[shape]
	b := batch{share: s.oracle.tree.Nodes[leaf].Path, n: rapid.IntRange(1, 5).Draw(s.r, "n"), cores: need.Cores, need: need,
		priority: rapid.IntRange(-1, 2).Draw(s.r, "priority"), attempts: rapid.IntRange(1, 3).Draw(s.r, "attempts")}
	if s.kind.users {
		b.user = fmt.Sprint("u", rapid.IntRange(0, 2).Draw(s.r, "user"))
	}
	return b, oracleJob{leaf: leaf, shape: shape, priority: b.priority, most: b.attempts, user: b.user}
}

func (s *drawn) drawPull() oraclePull {
	return oraclePull{queue: rapid.IntRange(0, len(s.oracle.queues)-1).Draw(s.r, "queue"),
		max: rapid.SampledFrom([]int{1, 1, 2, 3, 4}).Draw(s.r, "max"),
		slot: job.Slot{Cores: rapid.SampledFrom([]int{1, 1, 2, 4, 8, 0}).Draw(s.r, "slot"),
			MemoryMB: rapid.SampledFrom([]int64{0, 0, 3000}).Draw(s.r, "slot memory")}}
}

// enqueued makes jobs ready.
func (s *drawn) enqueued() []oracleJob {
	b, like := s.drawJobs()
	ids := s.enqueue(b)
	like.task = s.fixture.tasks
	s.tasks = append(s.tasks, like.task)
	var jobs []oracleJob
	for _, id := range ids {
		like.id = id
		jobs = append(jobs, like)
	}
	return jobs
}

// pull asks a daemon; the answer is ids, none when there was no job.
func (s *drawn) pull(d *Dispatcher, p oraclePull, wait float64) (leases []Lease) {
	reply, err := d.Pull(context.Background(), p.request(s.oracle, wait))
	if err != nil && !errors.Is(err, ErrNoJobs) {
		s.t.Fatalf("pull: %v", err)
	}
	return reply.Leases
}

func (p oraclePull) request(o *oracle, wait float64) PullRequest {
	return PullRequest{Queue: o.queues[p.queue].Name, Pilot: "p", Slot: p.slot, Max: p.max, WaitS: wait}
}

func jobsOf(leases []Lease) (ids []int64) {
	for _, l := range leases {
		ids = append(ids, l.Job)
	}
	return ids
}

func (s *drawn) refresh(daemons ...*Dispatcher) {
	for _, d := range daemons {
		for n := 1; n > 0; {
			var err error
			if n, err = d.Refresh(context.Background()); err != nil {
				s.t.Fatalf("refresh: %v", err)
			}
		}
	}
}

func (s *drawn) tx(do func(pgx.Tx) error) {
	if err := pgx.BeginFunc(context.Background(), s.pool, do); err != nil {
		s.t.Fatal(err)
	}
}
