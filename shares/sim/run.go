package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// progressEvery is how many starts are between two calls of Config.Progress.
const progressEvery = 10_000

// end is when a job of a leaf gives its units back.
type end struct {
	at  time.Duration
	job Job
}

// run drives an engine by the choices of its rule.
type run struct {
	*Engine
	progress func(started int) error
	lines    []queue[Job] // by node; leaves only
	ends     queue[end]
	promised *promise  // the job in turn that did not fit
	oneLine  *backfill // of a rule that backfills; else nil
	nStarted int
	overtook int
}

// Run simulates a workload from the first arrival to the last end. The jobs may be in any order; those of one
// instant keep theirs unless the seed says otherwise. A job that is wider than the capacity or than a max above it is
// counted as Never and otherwise left out; one that limits of lending and borrowing never let start is Stuck. Errors: a job that makes no sense,
// or that of Progress.
func Run(c Config, jobs []Job) (Result, error) { return newRun(c).play(jobs, c.Seed) }

// play is Run.
func (r *run) play(jobs []Job, seed uint64) (Result, error) {
	arrivals, never, err := r.admit(jobs, seed)
	if err != nil {
		return Result{}, err
	}
	if len(arrivals) > 0 {
		r.Begin(arrivals[0].At)
	}
	for len(arrivals) > 0 || len(r.ends.items) > 0 {
		if arrivals, err = r.step(arrivals); err != nil {
			return Result{}, err
		}
	}
	out := r.Result()
	out.Jobs, out.Overtook = len(jobs), r.overtook
	for i, n := range never {
		out.Shares[i].Never = n
	}
	for _, leaf := range r.leaves {
		r.tree.Up(leaf, func(node int) { out.Shares[node].Stuck += r.stuck(leaf) })
	}
	return out, nil
}

func newRun(c Config) *run {
	r := &run{Engine: New(c), progress: c.Progress, lines: make([]queue[Job], len(c.Tree.Nodes))}
	r.ends.before = func(a, b *end) bool {
		if a.at != b.at {
			return a.at < b.at
		}
		return a.job.Seq < b.job.Seq
	}
	for _, leaf := range r.leaves {
		r.lines[leaf].before = func(a, b *Job) bool { return a.goesBeforeInLeaf(b) }
	}
	return r
}

// admit puts the jobs that can run into the order of arrival, numbered.
func (r *run) admit(jobs []Job, seed uint64) (arrivals []Job, never []int, err error) {
	arrivals = make([]Job, 0, len(jobs))
	never = make([]int, len(r.tree.Nodes))
	for _, j := range jobs {
		if err := j.check(r.tree); err != nil {
			return nil, nil, err
		}
		if j.Units > r.widest(j.Leaf) {
			r.tree.Up(j.Leaf, func(node int) { never[node]++ })
			continue
		}
		arrivals = append(arrivals, j)
	}
	if seed != 0 {
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(arrivals), func(a, b int) { arrivals[a], arrivals[b] = arrivals[b], arrivals[a] })
	}
	slices.SortStableFunc(arrivals, func(a, b Job) int { return cmp.Compare(a.At, b.At) })
	for i := range arrivals {
		j := &arrivals[i]
		j.Seq = int64(i)
		j.place = r.tree.Nodes[j.Leaf].Plan.Aging.Place(j.Priority, time.Unix(0, 0).Add(j.At))
	}
	if r.rule.Backfills() {
		r.oneLine = newBackfill(arrivals)
	}
	return arrivals, never, nil
}

// widest is the largest job that a leaf may ever have: the capacity, or the least max above it.
func (r *run) widest(leaf int) shares.Units {
	most := r.capacity
	r.tree.Up(leaf, func(node int) {
		if u, ok := r.tree.Nodes[node].Plan.Max.In(r.pool.Name()); ok {
			most = min(most, u)
		}
	})
	return most
}

// step goes to the next moment: ends first, then arrivals, then what may start. It returns the arrivals that are left.
func (r *run) step(arrivals []Job) ([]Job, error) {
	var now time.Duration
	switch {
	case len(r.ends.items) == 0:
		now = arrivals[0].At
	case len(arrivals) == 0:
		now = r.ends.first().at
	default:
		now = min(arrivals[0].At, r.ends.first().at)
	}
	r.Advance(now)
	for len(r.ends.items) > 0 && r.ends.first().at == now {
		j := r.ends.pop().job
		r.End(j.Leaf, j.Units)
	}
	for len(arrivals) > 0 && arrivals[0].At == now {
		r.arrive(arrivals[0])
		arrivals = arrivals[1:]
	}
	return arrivals, r.startAll()
}

func (r *run) arrive(j Job) {
	line := &r.lines[j.Leaf]
	line.push(j)
	r.AddReady(j.Leaf, j.Units)
	if r.oneLine != nil {
		r.oneLine.arrive(j)
	}
	if line.first().Seq == j.Seq && (r.promised == nil || r.promised.job.Leaf != j.Leaf) {
		r.SetHead(j)
	}
}

// startAll starts jobs until none is ready or the one in turn does not fit; then others may use what is free as far
// as that does not delay it.
func (r *run) startAll() error {
	if r.oneLine != nil {
		return r.startLine()
	}
	for r.nHead > 0 && r.Free() > 0 {
		if r.promised != nil {
			if kept, err := r.keep(); !kept || err != nil {
				return err
			}
			continue
		}
		j, ok := r.Choose()
		if !ok {
			return nil
		}
		r.Decided(j)
		r.lines[j.Leaf].pop()
		if j.Units > r.Free() {
			r.promised = r.promise(j)
			continue
		}
		if err := r.start(j); err != nil {
			return err
		}
	}
	return nil
}

// start starts a job that was taken out of its line.
func (r *run) start(j Job) error {
	if j.Runtime > math.MaxInt64-r.now {
		return fmt.Errorf("job %d would end more than 292 years after the beginning", j.ID)
	}
	r.Start(j)
	r.ends.push(end{at: r.now + j.Runtime, job: j})
	r.showHead(j.Leaf)
	r.nStarted++
	if r.progress != nil && r.nStarted%progressEvery == 0 {
		return r.progress(r.nStarted)
	}
	return nil
}

func (r *run) showHead(leaf int) {
	if r.oneLine != nil {
		r.dropStarted(leaf)
	}
	if line := &r.lines[leaf]; len(line.items) > 0 {
		r.SetHead(*line.first())
	} else {
		r.ClearHead(leaf)
	}
}
