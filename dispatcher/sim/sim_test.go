package sim

import (
	"flag"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

var (
	seedFlag = flag.Uint64("seed", 0, "the seed that TestSeed plays and tells")
	keepFlag = flag.String("keep", "", "what TestSeed keeps of its plan, as a shrunk failure prints it")
	forFlag  = flag.Duration("for", 0, "how long TestHistories plays; 0: some seconds")
)

func sound() Wiring { return Default() }

// play runs a plan and judges its history of leases, too.
func play(p Plan, w Wiring) Result {
	r := Run(p, w, nil)
	if len(r.Wrong) == 0 {
		if text := linearizable(r.Seen.History); text != "" {
			r.Wrong = append(r.Wrong, text)
		}
	}
	return r
}

// TestSeed tells one history: go test ./dispatcher/sim -run TestSeed -seed N [-keep …].
func TestSeed(t *testing.T) {
	p := Draw(*seedFlag)
	if *keepFlag != "" {
		if err := p.Keep(*keepFlag); err != nil {
			t.Fatal(err)
		}
	}
	var told strings.Builder
	r := Run(p, sound(), &told)
	if len(r.Wrong) == 0 {
		if text := linearizable(r.Seen.History); text != "" {
			r.Wrong = append(r.Wrong, text)
		}
	}
	if *seedFlag != 0 {
		t.Logf("%v\n%s", p, &told)
	}
	if len(r.Wrong) > 0 {
		t.Errorf("seed %d: %s", *seedFlag, strings.Join(r.Wrong, "\n"))
	}
}

// TestHistories plays one seed after the other, which have entries of each kind. A failure is shrunk, and printed so that TestSeed plays it again.
func TestHistories(t *testing.T) {
	t.Parallel()
	most, limit := uint64(mostUntilFound), *forFlag
	if limit > 0 {
		most = math.MaxUint64 - *seedFlag
	} else if os.Getenv("DIVVY_LONG") != "" {
		most = 10_000
	}
	var mu sync.Mutex
	var sum Seen
	var next, played atomic.Uint64
	var steps, batches int
	of := counts{n: map[string]int{}}
	began := time.Now()
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for !t.Failed() && (limit == 0 || time.Since(began) < limit) {
				n := next.Add(1) - 1
				if n >= most {
					return
				}
				p := Draw(*seedFlag + n)
				r := play(p, of.counted(sound()))
				if len(r.Wrong) > 0 {
					t.Error(failure(p, sound(), r))
				}
				mu.Lock()
				played.Add(1)
				steps, batches = steps+r.Steps, batches+r.Batches
				sum.add(r.Seen)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	n := int(played.Load())
	t.Logf("%d histories in %v: %.0f an hour; each %d steps, %d batches; all together %+v", n, time.Since(began).Round(time.Second),
		float64(n)/time.Since(began).Hours(), steps/n, batches/n, sum)
	if sum.None == 0 || sum.Given == 0 || sum.Over == 0 || sum.Lost == 0 || sum.Renewed == 0 || sum.Unavailable == 0 || sum.Leads <= n ||
		sum.Units == 0 || sum.Bound == 0 || sum.Gangs == 0 || sum.Moved == 0 || sum.Adopted == 0 || sum.Turns == 0 || sum.Limiting == 0 ||
		sum.Expired == 0 || sum.JudgedReclaims == 0 || sum.Returned == 0 || sum.Owed == 0 || sum.Lent == 0 || sum.Hasty == 0 ||
		sum.Aside == 0 || sum.Waited == 0 || sum.Closed == 0 || sum.Dropped == 0 {
		t.Errorf("the histories are too tame: %+v", sum)
	}
	of.check(t)
}

func (s *Seen) add(o Seen) {
	s.Leads += o.Leads
	s.Reloads += o.Reloads
	s.None += o.None
	s.Given += o.Given
	s.Over += o.Over
	s.Unavailable += o.Unavailable
	s.Renewed += o.Renewed
	s.Ended += o.Ended
	s.Lost += o.Lost
	s.Stale += o.Stale
	s.Register += o.Register
	s.Units += o.Units
	s.Bound += o.Bound
	s.Gangs += o.Gangs
	s.Moved += o.Moved
	s.Adopted += o.Adopted
	s.Turns += o.Turns
	s.Reports += o.Reports
	s.Limiting += o.Limiting
	s.Expired += o.Expired
	s.Reclaimed += o.Reclaimed
	s.JudgedReclaims += o.JudgedReclaims
	s.Returned += o.Returned
	s.Owed += o.Owed
	s.Lent += o.Lent
	s.Placed += o.Placed
	s.Hasty += o.Hasty
	s.Aside += o.Aside
	s.Waited += o.Waited
	s.Closed += o.Closed
	s.Dropped += o.Dropped
}

// The same seed is the same history.
func TestSameSeedSameHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(pgtest.Draws(60)) {
		if a, b := Run(Draw(seed), sound(), nil), Run(Draw(seed), sound(), nil); a.Trace != b.Trace || a.Steps != b.Steps {
			t.Errorf("seed %d: %d and %d steps, traces %x and %x", seed, a.Steps, b.Steps, a.Trace, b.Trace)
		}
	}
}
