package dispatcher

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// heldByUser is what the user of a job holds of its share in the pool of a queue, where the share gives turns to users; else 0.
func (o *oracle) heldByUser(of oracleJob, queue int) (u shares.Units) {
	if o.tree.Nodes[of.leaf].Plan.Within != shares.FairUser {
		return 0
	}
	for _, j := range o.jobs {
		if j.state == isLeased && j.leaf == of.leaf && j.user == of.user && o.queues[j.queue].Pool == o.queues[queue].Pool {
			u += o.charge(j, j.queue)
		}
	}
	return u
}

// servedTo is a user of a leaf in a pool.
type servedTo struct {
	leaf       int
	user, pool string
}

// compareUsers is negative when the user of a goes before that of b in their leaf: he holds less, or was served longer ago.
func (o *oracle) compareUsers(a, b oracleJob, queue int) int {
	pool := o.queues[queue].Pool
	return cmp.Or(cmp.Compare(o.heldByUser(a, queue), o.heldByUser(b, queue)),
		cmp.Compare(o.served[servedTo{a.leaf, a.user, pool}], o.served[servedTo{b.leaf, b.user, pool}]))
}

// serve numbers a grant, where the leaf gives turns.
func (o *oracle) serve(j oracleJob) {
	if o.tree.Nodes[j.leaf].Plan.Within != shares.FairUser {
		return
	}
	last := 0
	for _, n := range o.served {
		last = max(last, n)
	}
	if o.served == nil {
		o.served = map[servedTo]int{}
	}
	o.served[servedTo{j.leaf, j.user, o.queues[j.queue].Pool}] = last + 1
}

// forget is for leaves that give no turns any more: who was served is not known when they do so again.
func (o *oracle) forget() {
	maps.DeleteFunc(o.served, func(to servedTo, _ int) bool { return o.tree.Nodes[to.leaf].Plan.Within != shares.FairUser })
}

func (s *sequence) drawWithin() {
	how := rapid.SampledFrom([]string{shares.FairUser, shares.FairUser, shares.Fifo}).Draw(s.r, "within")
	s.within(s.oracle.tree.Nodes[rapid.SampledFrom(s.oracle.tree.Leaves()).Draw(s.r, "leaf")].Path, how)
	s.oracle.tree = s.version.Tree
	s.oracle.forget()
}

// reassign gives a task to another share, or what does not run of it.
func (s *sequence) reassign() {
	if len(s.tasks) == 0 {
		return
	}
	task := rapid.SampledFrom(s.tasks).Draw(s.r, "task")
	leaf := rapid.SampledFrom(s.oracle.tree.Leaves()).Draw(s.r, "to")
	running := rapid.Bool().Draw(s.r, "running")
	s.moveTask(TaskMove{Task: task, To: s.oracle.tree.Nodes[leaf].ID, Running: running, Limit: 100})
	for i := range s.oracle.jobs {
		if j := &s.oracle.jobs[i]; j.task == task && (running || j.state != isLeased) {
			j.leaf = leaf
		}
	}
}

func init() {
	sequenceSteps["within"] = func(s *sequence) { s.drawWithin(); s.tend(s.d) }
	sequenceSteps["reassign"] = func(s *sequence) { s.reassign(); s.tend(s.d) }
	sequenceSteps["release and tend"] = func(s *sequence) { sequenceSteps["release"](s); s.tend(s.d) }
}

// Where shares give turns to users, begin to and cease to, while tasks go from one to another, every answer is the oracle's.
func TestOracleUsers(t *testing.T) {
	onDatabases(t, 8, func(t testing.TB, r *rapid.T) {
		s := &sequence{drawn: drawSite(t, r, siteKind{users: true})}
		if rapid.Bool().Draw(r, "with resources") {
			s.drawUnits()
		}
		s.run("enqueue", "enqueue", "enqueue", "pull", "pull", "pull", "pull", "pull", "end", "end", "end", "kill", "hold", "release and tend",
			"within", "reassign")
	})
}

// When all slots are taken every user holds what the solver of shares gives him of the share, but for less than one job: where some
// want less than an equal part, and again where all want more, after all have ended that ran first.
func TestFairTurnsComeToTheSolversParts(t *testing.T) {
	const n, users = 60, 25
	f := newFixture(t, []shares.Spec{fair("A", 1), node("B", 1)}, slots("q", 2*n))
	d := f.daemon()
	f.enqueue(batch{share: "B", n: 2 * n})
	for i := range users {
		f.enqueue(batch{share: "A", n: 1 + i*i%17, user: fmt.Sprint("u", i)})
	}
	leases := f.fill(d, 2*n)
	f.parts(d, n)
	finish(t, d, Finished, leases...)
	for i := range users {
		f.enqueue(batch{share: "A", n: 5, user: fmt.Sprint("u", i), priority: i % 3})
	}
	f.fill(d, 2*n)
	f.parts(d, n)
	f.recount()
}

// fill has slots of one core pull.
func (f *fixture) fill(d *Dispatcher, n int) (leases []Lease) {
	f.t.Helper()
	for range n {
		leases = append(leases, pull1(f.t, d, "q"))
	}
	return leases
}

// parts compares what the users of A hold with their parts of its target.
func (f *fixture) parts(d *Dispatcher, target float64) {
	f.t.Helper()
	held := f.heldByUser("A")
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.state
	leaf, _ := s.version.Tree.ByPath("A")
	p := s.pools["default"]
	sum := 0.0
	for name, part := range s.userParts(s.leaves[leaf].users, p, target*1000) {
		if sum += part; math.Abs(part-float64(held[name])) >= 1 {
			f.t.Errorf("%s holds %d, his part is %.2f", name, held[name], part)
		}
	}
	if math.Abs(sum-target) > 1e-6 {
		f.t.Errorf("the parts are %.3f together, want %.0f", sum, target)
	}
}
