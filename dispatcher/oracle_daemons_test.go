package dispatcher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/shares"
)

// seeded returns a source of choices whose seed is printed; DIVVY_ORACLE_SEED repeats one.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("DIVVY_ORACLE_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("DIVVY_ORACLE_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// together is a site that several daemons serve.
type together struct {
	*fixture
	oracle  *oracle // for its sums; it follows nothing here
	daemons []*Dispatcher
}

func serveTogether(t *testing.T, n int, root []shares.Spec, queue shares.Queue) *together {
	t.Helper()
	f := newFixture(t, root, queue)
	s := &together{fixture: f, oracle: newOracle(f.version, []job.Requirements{{Cores: 1}, {Cores: 2}}, false)}
	for range n {
		s.daemons = append(s.daemons, f.daemon())
	}
	return s
}

// know makes every daemon look at what was committed.
func (s *together) know() {
	s.t.Helper()
	for _, d := range s.daemons {
		for n := 1; n > 0; {
			var err error
			if n, err = d.Refresh(context.Background()); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// overcome waits for the end of all grants that are under way: one that tries an attempt in vain that others have used up has the
// job looked for again at the next Refresh.
func (s *together) overcome() {
	s.t.Helper()
	for _, d := range s.daemons {
		d.mu.Lock()
		last := d.state.diary.number
		d.mu.Unlock()
		eventually(s.t, "grants that were under way are over", func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, g := range d.state.inflight {
				if g.number <= last {
					return false
				}
			}
			return true
		})
	}
	s.know()
}

// look is what the leases table says, in one snapshot.
func (s *together) look() {
	rows, err := s.pool.Query(context.Background(), "SELECT job_id, share_id, cores FROM leases")
	if err != nil {
		s.t.Error(err)
		return
	}
	s.oracle.jobs = s.oracle.jobs[:0]
	var id int64
	var share shares.ShareID
	var cores int
	_, err = pgx.ForEachRow(rows, []any{&id, &share, &cores}, func() error {
		leaf, _ := s.oracle.tree.ByID(share)
		s.oracle.jobs = append(s.oracle.jobs, oracleJob{id: id, leaf: leaf, shape: cores - 1, state: isLeased})
		return nil
	})
	if err != nil {
		s.t.Error(err)
	}
}

// keepsLimits checks every hard limit against the leases at one moment.
func (s *together) keepsLimits() {
	s.look()
	for node, n := range s.oracle.tree.Nodes {
		most := s.oracle.capacity("default")
		if u, capped := n.Plan.Max.In("default"); capped {
			most = u
		}
		if held := s.oracle.held(node, "default"); held > most {
			s.t.Errorf("%q holds %v units, at most %v are allowed", n.Path, held.Float(), most.Float())
		}
	}
}

// round ends one lease at every daemon, tells all, and lets each of them pull at the same time.
func (s *together) round(leases [][]Lease, end bool) {
	for i, d := range s.daemons {
		if end {
			finish(s.t, d, Finished, leases[i][0])
			leases[i] = leases[i][1:]
		}
	}
	s.know()
	var all sync.WaitGroup
	for i, d := range s.daemons {
		all.Go(func() { leases[i] = append(leases[i], pull1(s.t, d, "q")) })
	}
	all.Wait()
	s.know()
}

// bounded checks that no node is over its target by as much as N jobs: it is given one only while it is below its target as
// the daemon sees it, and that misses one grant of each of the others at most. What a node is below its target
// follows: it is what its siblings are over theirs, and its part of what its parent is below. That may be more than N: all
// daemons may give to one sibling in one round and to another one in the next, whose slots ended meanwhile.
func (s *together) bounded() {
	s.look()
	book := shares.NewPool(s.oracle.tree, "default")
	for _, leaf := range s.oracle.tree.Leaves() {
		book.Hold(leaf, s.oracle.held(leaf, "default"))
		book.SetWant(leaf, shares.MaxAmount)
	}
	targets := book.Targets(s.oracle.capacity("default"))
	for i, n := range s.oracle.tree.Nodes {
		over := (float64(book.Held(i)) - targets[i]) / 1000
		if i > 0 && over >= float64(len(s.daemons)) {
			s.t.Errorf("%s holds %v units, its target is %.2f", n.Path, book.Held(i).Float(), targets[i]/1000)
		}
	}
}

// Several daemons, everybody demanding: once every slot has turned over, every node is within its bound after
// every round, though in each round all daemons decide by the same state.
func TestOracleDaemonsAtRest(t *testing.T) {
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			const nSlots, more = 20, 4
			s := serveTogether(t, n, treeT(), slots("q", nSlots))
			for _, leaf := range s.oracle.tree.Leaves() {
				s.enqueue(batch{share: s.oracle.tree.Nodes[leaf].Path, n: 3 * nSlots})
			}
			s.know()
			leases := make([][]Lease, n)
			for range nSlots / n {
				s.round(leases, false)
			}
			for range nSlots / n {
				s.round(leases, true)
			}
			for range more {
				s.bounded()
				s.keepsLimits()
				s.round(leases, true)
			}
			s.bounded()
			s.recount()
		})
	}
}

// granted is a job that a daemon gave, and when it may have decided to.
type granted struct {
	of       readyOnce
	daemon   int
	pull     int // number of the pull
	from, to int64
}

// readyOnce is one time that a job was ready: its attempts are so one after the other.
type readyOnce struct {
	job     int64
	attempt int
}

// witness notes what is said of the jobs while several daemons serve them.
type witness struct {
	mu     sync.Mutex
	start  time.Time
	jobs   map[int64]oracleJob
	known  map[readyOnce]int64 // since when every daemon knows that it is ready
	grants map[readyOnce]granted
	pulls  int
	twice  []granted
}

func (r *witness) now() int64 { return time.Since(r.start).Nanoseconds() }

func (r *witness) became(once readyOnce) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[once] = r.now()
}

func (r *witness) gave(daemon int, from int64, leases []Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pulls++
	for _, l := range leases {
		g := granted{of: readyOnce{l.Job, l.Attempt}, daemon: daemon, pull: r.pulls, from: from, to: r.now()}
		if _, before := r.grants[g.of]; before {
			r.twice = append(r.twice, g)
		}
		r.grants[g.of] = g
	}
}

// passed lists the jobs of the same share and shape that every daemon knew before the grant was asked for and that
// nobody had asked for, or got, until it was made.
func (r *witness) passed(g granted) (others []readyOnce) {
	for once, known := range r.known {
		a, b := r.jobs[once.job], r.jobs[g.of.job]
		later, given := r.grants[once]
		if a.leaf == b.leaf && a.shape == b.shape && once != g.of && known < g.from && (!given || later.from > g.to) {
			others = append(others, once)
		}
	}
	return others
}

// mostPassed is how many older jobs of the same priority, share and shape a daemon may pass over for each other
// daemon: those of the slices that are the others' to take first.
const mostPassed = 64

// check holds what it saw against the order of the jobs.
func (r *witness) check(t *testing.T, daemons int) {
	for _, g := range r.twice {
		t.Errorf("job %d was given twice in attempt %d", g.of.job, g.of.attempt)
	}
	worst := 0
	for _, g := range r.grants {
		mine := r.jobs[g.of.job]
		older := 0
		for _, once := range r.passed(g) {
			other := r.jobs[once.job]
			switch {
			case other.priority > mine.priority:
				t.Errorf("job %d of priority %d was given though job %d of priority %d was ready (%v: %v … %v)",
					g.of.job, mine.priority, once.job, other.priority, r.known[once], g.from, g.to)
			case other.priority == mine.priority && once.job < g.of.job:
				older++
			}
		}
		worst = max(worst, older)
	}
	t.Logf("%d jobs given; a job passed over at most %d older ones", len(r.grants), worst)
	if worst > mostPassed*(daemons-1) {
		t.Errorf("a job passed over %d older ones, at most %d may be", worst, mostPassed*(daemons-1))
	}
}

// supply makes ready what a producer would.
func (s *together) supply(r *witness, random *rand.Rand, n int) {
	for range n {
		leaves := s.oracle.tree.Leaves()
		like := oracleJob{leaf: leaves[random.IntN(len(leaves))], shape: random.IntN(2), priority: random.IntN(3)}
		ids := s.enqueue(batch{share: s.oracle.tree.Nodes[like.leaf].Path, n: 1 + random.IntN(12), cores: 1 + like.shape,
			priority: like.priority, attempts: 3})
		r.mu.Lock()
		for _, id := range ids {
			r.jobs[id] = like
		}
		r.mu.Unlock()
		s.know()
		for _, id := range ids {
			r.became(readyOnce{id, 1})
		}
	}
}

// pilot pulls at one daemon after the other and ends what it got at the next.
func (s *together) pilot(r *witness, random *rand.Rand, pulls int) {
	for range pulls {
		at := random.IntN(len(s.daemons))
		from := r.now()
		reply, err := s.daemons[at].Pull(context.Background(),
			PullRequest{Queue: "q", Pilot: "p", Slot: job.Slot{Cores: 1 + random.IntN(3)}, Max: 1 + random.IntN(3), WaitS: 0.1})
		if err != nil && !slices.Contains([]error{ErrNoJobs}, err) {
			s.t.Errorf("pull: %v", err)
			return
		}
		r.gave(at, from, reply.Leases)
		for _, l := range reply.Leases {
			outcome := Finished
			if random.IntN(5) == 0 {
				outcome = Failed
			}
			if v := finish(s.t, s.daemons[random.IntN(len(s.daemons))], outcome, l)[0]; v.JobState == "ready" {
				s.know()
				s.overcome()
				r.became(readyOnce{l.Job, l.Attempt + 1})
			}
		}
	}
}

// Several daemons, all at once: no job twice, no hard limit exceeded at any moment, and of the jobs of one share and
// shape none before one of a higher priority that all knew.
func TestOracleDaemonsAtWork(t *testing.T) {
	pulls := pgtest.Draws(25)
	a, b := node("A", 2, node("X", 1), node("Y", 1)), node("B", 1)
	a.Plan.Max, a.Children[0].Plan.Max = shares.Of(6000), shares.Of(4000)
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			random := seeded(t)
			s := serveTogether(t, n, []shares.Spec{a, b}, slots("q", 9))
			r := &witness{start: time.Now(), jobs: map[int64]oracleJob{}, known: map[readyOnce]int64{}, grants: map[readyOnce]granted{}}
			s.supply(r, random, 20)
			var work, watch sync.WaitGroup
			over := make(chan struct{})
			watch.Go(func() {
				tick := time.NewTicker(time.Millisecond)
				defer tick.Stop()
				for looks := 0; ; looks++ {
					select {
					case <-over:
						t.Logf("%d looks at the limits", looks)
						return
					case <-tick.C:
						s.keepsLimits()
					}
				}
			})
			for i := range 2*n + 1 {
				own := rand.New(rand.NewPCG(random.Uint64(), 0))
				if i == 0 {
					work.Go(func() { s.supply(r, own, pulls/2) })
					continue
				}
				work.Go(func() { s.pilot(r, own, pulls) })
			}
			work.Wait()
			close(over)
			watch.Wait()
			r.check(t, n)
			s.recount()
		})
	}
}
