package dispatcher

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// oracle is the slow, obvious reference of a site: plain values, everything computed anew from the list of all jobs
// at every question. It says which job a pull must be given. It shares nothing with the dispatcher but the words of
// the requests and the targets and loans of shares.Pool, which have references of their own.
type oracle struct {
	tree   *shares.Tree
	queues []shares.Queue
	shapes []job.Requirements
	jobs   []oracleJob // by id

	// With strict ties between shares go to who waited longest since the last grant; else any of them will do.
	strict bool
	grants int              // made so far
	last   map[string][]int // the number of the last one in or below a node, by pool and node
	units  oracleUnits      // of resources
	served map[servedTo]int // by user
	judges bool             // failed attempts wait until they are judged
}

// oracleJob is a job; state is one of the ledger's letters.
type oracleJob struct {
	id, task      int64
	leaf, shape   int // node of the tree, index into shapes
	priority      int
	attempt, most int
	state         string
	queue         int // where it is leased
	user          string
	killed        bool
	unjudged      bool // it waits until its failed attempt is judged
}

// oraclePull is what a slot asks for.
type oraclePull struct {
	queue int
	slot  job.Slot
	max   int
}

func newOracle(v shares.Version, shapes []job.Requirements, strict bool) *oracle {
	o := &oracle{strict: strict, tree: v.Tree, queues: v.Queues, shapes: shapes, last: map[string][]int{}}
	for _, q := range v.Queues {
		o.last[q.Pool] = make([]int, len(v.Tree.Nodes))
	}
	return o
}

func (o *oracle) clone() *oracle {
	c := *o
	c.jobs, c.units, c.served = slices.Clone(o.jobs), o.units.clone(), maps.Clone(o.served)
	c.last = map[string][]int{}
	for pool, last := range o.last {
		c.last[pool] = slices.Clone(last)
	}
	return &c
}

func (o *oracle) equal(other *oracle) bool {
	if o.grants != other.grants || !slices.Equal(o.jobs, other.jobs) {
		return false
	}
	for pool, last := range o.last {
		if !slices.Equal(last, other.last[pool]) {
			return false
		}
	}
	return true
}

func (o *oracle) job(id int64) *oracleJob {
	i, ok := slices.BinarySearchFunc(o.jobs, id, func(j oracleJob, id int64) int { return cmp.Compare(j.id, id) })
	if !ok {
		return nil
	}
	return &o.jobs[i]
}

// enqueue adds jobs that are ready.
func (o *oracle) enqueue(jobs ...oracleJob) {
	for _, j := range jobs {
		j.state, j.attempt = isReady, 1
		o.jobs = append(o.jobs, j)
	}
	slices.SortFunc(o.jobs, func(a, b oracleJob) int { return cmp.Compare(a.id, b.id) })
}

// end is the outcome of a leased job's attempt; it returns the state of the job afterwards.
func (o *oracle) end(id int64, outcome Outcome) string {
	j := o.job(id)
	switch {
	case outcome == Finished:
		j.state = isFinished
		return "finished"
	case j.killed:
		j.state = isCancelled
		return "cancelled"
	case j.attempt >= j.most:
		j.state = isFailed
		return "failed"
	case o.judges && outcome == Failed:
		j.state, j.unjudged = isWaiting, true
		j.attempt++
		return "waiting"
	}
	j.state = isReady
	j.attempt++
	return "ready"
}

// kill cancels a job that waits or is ready, and marks one that runs.
func (o *oracle) kill(id int64) {
	switch j := o.job(id); j.state {
	case isReady, isWaiting:
		j.state = isCancelled
	case isLeased:
		j.killed = true
	}
}

// judge makes those jobs ready that waited for it.
func (o *oracle) judge() {
	for i := range o.jobs {
		if j := &o.jobs[i]; j.unjudged {
			j.unjudged = false
			if j.state == isWaiting {
				j.state = isReady
			}
		}
	}
}

// shift moves the jobs of a task from one state to another: hold and release.
func (o *oracle) shift(task int64, before, after string) {
	for i := range o.jobs {
		if j := &o.jobs[i]; j.task == task && j.state == before && !j.unjudged {
			j.state = after
		}
	}
}

func (o *oracle) cores(j oracleJob) int { return o.shapes[j.shape].Cores }

// charge is what a job charges at a queue.
func (o *oracle) charge(j oracleJob, queue int) shares.Units {
	return shares.Units(int64(o.cores(j)) * o.queues[queue].CorePowerMilli)
}

// runs says whether a queue may run a shape at all.
func (o *oracle) runs(shape, queue int) bool {
	need, q := o.shapes[shape], o.queues[queue]
	return (len(need.Queues) == 0 || slices.Contains(need.Queues, q.Name)) &&
		(q.Cores == 0 || need.Cores <= q.Cores) && (q.Slots == nil || need.Cores <= *q.Slots) &&
		(need.Locality != job.LocalityRequired || o.local(shape, queue))
}

// local says whether a queue is near the inputs of jobs of a shape, if they have any.
func (o *oracle) local(shape, queue int) bool {
	need, q := o.shapes[shape], o.queues[queue]
	for _, at := range need.Locations {
		if at == q.Name || slices.Contains(q.Locations, at) {
			return true
		}
	}
	return len(need.Locations) == 0
}

// opens says whether a queue runs jobs of a leaf.
func (o *oracle) opens(queue, leaf int) bool {
	means := func(path string) (is bool) {
		o.tree.Up(leaf, func(n int) { is = is || o.tree.Nodes[n].Path == path })
		return is
	}
	q := o.queues[queue]
	return (len(q.AllowShares) == 0 || slices.ContainsFunc(q.AllowShares, means)) && !slices.ContainsFunc(q.DenyShares, means)
}

// held sums what the jobs that are leased in a pool hold at or below a node.
func (o *oracle) held(node int, pool string) (u shares.Units) {
	for _, j := range o.jobs {
		if j.state != isLeased || o.queues[j.queue].Pool != pool {
			continue
		}
		o.tree.Up(j.leaf, func(n int) {
			if n == node {
				u += o.charge(j, j.queue)
			}
		})
	}
	return u
}

// capacity is C of a pool.
func (o *oracle) capacity(pool string) (c shares.Units) {
	for _, q := range o.queues {
		if q.Pool != pool {
			continue
		}
		u, limited := q.Capacity()
		if !limited {
			return shares.Unlimited
		}
		c += u
	}
	return c
}

// admits says whether a job at a queue keeps every hard limit: slots, C, and max all the way up.
func (o *oracle) admits(j oracleJob, queue int) bool {
	q := o.queues[queue]
	cores := 0
	for _, other := range o.jobs {
		if other.state == isLeased && other.queue == queue {
			cores += o.cores(other)
		}
	}
	if q.Slots != nil && cores+o.cores(j) > *q.Slots || o.held(0, q.Pool)+o.charge(j, queue) > o.capacity(q.Pool) {
		return false
	}
	ok := true
	o.tree.Up(j.leaf, func(n int) {
		if most, capped := o.tree.Nodes[n].Plan.Max.In(q.Pool); capped && o.held(n, q.Pool)+o.charge(j, queue) > most {
			ok = false
		}
	})
	if ok {
		_, ok = o.book(q.Pool).Admits(j.leaf, o.charge(j, queue))
	}
	return ok && o.hasUnits(j)
}

// book is the standing of a pool, made anew. It has a reference of its own, and so has what Admits says of lending.
func (o *oracle) book(pool string) *shares.Pool {
	book := shares.NewPool(o.tree, pool)
	book.SetCapacity(o.capacity(pool))
	for _, leaf := range o.tree.Leaves() {
		book.Hold(leaf, o.held(leaf, pool))
		book.SetWant(leaf, o.want(leaf, pool))
	}
	return book
}

// want is what a leaf could use in a pool beyond what it holds: its ready jobs, within the slots of the queues that
// could run them.
func (o *oracle) want(leaf int, pool string) (want shares.Units) {
	usable := map[int]bool{}
	for _, j := range o.jobs {
		if j.leaf != leaf || j.state != isReady {
			continue
		}
		var most shares.Units
		for q := range o.queues {
			if o.queues[q].Pool == pool && o.runs(j.shape, q) && o.opens(q, leaf) {
				usable[q] = true
				most = max(most, o.charge(j, q))
			}
		}
		want += most
	}
	var slots shares.Units
	for q := range usable {
		u, limited := o.queues[q].Capacity()
		if !limited {
			return want
		}
		slots += u
	}
	for _, j := range o.jobs {
		if j.leaf == leaf && j.state == isLeased && usable[j.queue] {
			slots -= o.charge(j, j.queue)
		}
	}
	return min(want, max(0, slots))
}

// targets solves the whole tree for a pull that offers these units.
func (o *oracle) targets(pool string, offered shares.Units) []float64 {
	return o.book(pool).Targets(min(o.capacity(pool), o.held(0, pool)+offered))
}

// slotLeft is what a slot offers after some jobs of the same pull.
func (o *oracle) slotLeft(p oraclePull, given []oracleJob) (cores int, memory int64) {
	cores, memory = math.MaxInt32, math.MaxInt32
	if c := cmp.Or(p.slot.Cores, o.queues[p.queue].Cores); c > 0 {
		cores = c
	}
	if p.slot.MemoryMB > 0 {
		memory = p.slot.MemoryMB
	}
	for _, j := range given {
		cores -= o.cores(j)
		memory -= o.shapes[j.shape].MemoryMB
	}
	return cores, memory
}

// better says whether a leaf gives job a before job b at a queue.
func (o *oracle) better(a, b oracleJob, queue int) bool {
	if c := o.compareUsers(a, b, queue); c != 0 {
		return c < 0
	}
	if o.queues[queue].Prefer == "wide" && o.cores(a) != o.cores(b) {
		return o.cores(a) > o.cores(b)
	}
	if a.priority == b.priority && o.local(a.shape, queue) != o.local(b.shape, queue) {
		return o.local(a.shape, queue)
	}
	return a.priority > b.priority || a.priority == b.priority && a.id < b.id
}

// next is the job that a pull must be given after what it was given already; none when no job fits. Where ties between
// shares may be broken either way it is one for each way.
func (o *oracle) next(p oraclePull, given []oracleJob) []oracleJob {
	cores, memory := o.slotLeft(p, given)
	best := map[int]oracleJob{} // by leaf
	for _, j := range o.jobs {
		if j.state != isReady || !o.runs(j.shape, p.queue) || !o.opens(p.queue, j.leaf) || o.cores(j) > cores || o.shapes[j.shape].MemoryMB > memory || !o.admits(j, p.queue) {
			continue
		}
		if b, ok := best[j.leaf]; !ok || o.better(j, b, p.queue) {
			best[j.leaf] = j
		}
	}
	if len(best) == 0 {
		return nil
	}
	offered := cores
	if cores > math.MaxInt32/2 { // nobody said how many: the jobs that it still wants, of one core
		offered = p.max - len(given)
	}
	q := o.queues[p.queue]
	w := walk{o: o, pool: q.Pool, best: best,
		targets: o.targets(q.Pool, shares.Units(int64(offered)*q.CorePowerMilli))}
	var out []oracleJob
	for _, leaf := range w.from(0) {
		out = append(out, best[leaf])
	}
	return out
}

// walk is the way from the root to the leaf that is furthest below its target.
type walk struct {
	o       *oracle
	pool    string
	best    map[int]oracleJob
	targets []float64
}

func (w *walk) from(node int) (leaves []int) {
	if w.o.tree.Leaf(node) {
		return []int{node}
	}
	deficit := func(n int) float64 { return w.targets[n] - float64(w.o.held(n, w.pool)) }
	var having []int
	most := math.Inf(-1)
	for _, c := range w.o.tree.Nodes[node].Children {
		if w.below(c) {
			having = append(having, c)
			most = max(most, deficit(c))
		}
	}
	tied := slices.DeleteFunc(having, func(c int) bool { return deficit(c) < most-shares.Tolerance })
	if w.o.strict { // longest since the last grant, then the order of the file
		last := w.o.last[w.pool]
		tied = []int{slices.MinFunc(tied, func(a, b int) int { return cmp.Or(cmp.Compare(last[a], last[b]), cmp.Compare(a, b)) })}
	}
	for _, c := range tied {
		leaves = append(leaves, w.from(c)...)
	}
	return leaves
}

// below says whether a leaf with a fitting job lies in or below a node.
func (w *walk) below(node int) (found bool) {
	for leaf := range w.best {
		w.o.tree.Up(leaf, func(n int) { found = found || n == node })
	}
	return found
}

// give leases a job.
func (o *oracle) give(id int64, queue int) {
	j := o.job(id)
	j.state, j.queue = isLeased, queue
	if o.shapes[j.shape].Resources != nil {
		o.tookUnits(j)
	}
	o.serve(*j)
	if !o.strict {
		return // so that two ways to the same state are known for one
	}
	o.grants++
	o.tree.Up(j.leaf, func(n int) { o.last[o.queues[queue].Pool][n] = o.grants })
}

// answer gives a pull the jobs that it was given, and says what is wrong with them.
func (o *oracle) answer(p oraclePull, got []int64) error {
	var given []oracleJob
	for i, id := range got {
		may := o.next(p, given)
		if !slices.ContainsFunc(may, func(j oracleJob) bool { return j.id == id }) {
			return fmt.Errorf("given %v, of which number %d must be one of %s", got, i, o.show(may))
		}
		given = append(given, *o.job(id))
		o.give(id, p.queue)
	}
	if may := o.next(p, given); len(given) < p.max && len(may) > 0 {
		return fmt.Errorf("given %v and no more, though %s fits", got, o.show(may))
	}
	return nil
}

func (o *oracle) show(jobs []oracleJob) (s string) {
	for _, j := range jobs {
		s += fmt.Sprintf("[%d of %s, priority %d, %d cores]", j.id, o.tree.Nodes[j.leaf].Path, j.priority, o.cores(j))
	}
	return cmp.Or(s, "[no job]")
}
