package dispatcher

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// fleet is daemons on one database that reach each other, until a fault befalls them.
type fleet struct {
	stage *stage
	site  shares.Version

	mu      sync.Mutex
	daemons map[int64]*member
	next    int64
}

type member struct {
	*Dispatcher
	kill func()
	cut  atomic.Bool // nothing of it reaches others, nor anything it
}

// start adds a daemon.
func (f *fleet) start(t *testing.T) {
	f.mu.Lock()
	f.next++
	no, m := f.next, &member{}
	f.mu.Unlock()
	d, err := Open(t.Context(), Config{Pool: f.stage.db, Outbox: f.stage.outbox, End: lease.Retried(3), Daemon: no, Timing: lease.Timing{TTL: 4 * time.Second, Patience: 300 * time.Millisecond},
		Site: func(context.Context, int64) (shares.Version, error) { return f.site, nil },
		Send: func(to int64, msg lease.Message) {
			f.mu.Lock()
			other := f.daemons[to]
			f.mu.Unlock()
			if other != nil && !m.cut.Load() && !other.cut.Load() {
				other.Receive(no, msg)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { d.Run(ctx) })
	m.Dispatcher, m.kill = d, func() { cancel(); all.Wait() }
	f.mu.Lock()
	f.daemons[no] = m
	f.mu.Unlock()
	f.introduce()
}

// introduce tells all daemons of each other.
func (f *fleet) introduce() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for no, m := range f.daemons {
		var others []int64
		for other := range f.daemons {
			if other != no {
				others = append(others, other)
			}
		}
		m.Reach(others)
	}
}

// any is a daemon, as a pilot finds one.
func (f *fleet) any(r *rand.Rand) *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	var numbers []int64
	for no := range f.daemons {
		numbers = append(numbers, no)
	}
	slices.Sort(numbers)
	return f.daemons[numbers[r.IntN(len(numbers))]]
}

// stop kills a daemon without a word.
func (f *fleet) stop(m *member) {
	f.mu.Lock()
	for no, other := range f.daemons {
		if other == m {
			delete(f.daemons, no)
		}
	}
	f.mu.Unlock()
	m.kill()
}

// told is what pilots were told: which attempts they were given, and which ends were recorded.
type told struct {
	mu       sync.Mutex
	given    map[lease.Key]int
	recorded map[lease.Key]entry.Outcome
}

// pilot pulls, renews and finishes until there is no more work.
func (f *fleet) pilot(r *rand.Rand, all *told, done *atomic.Int64, most int64) {
	for done.Load() < most {
		p := machine.Pull{Queue: shares.QueueID(1 + r.IntN(2)), Slot: job.Slot{Cores: 1}, Most: 1 + r.IntN(3), Pilot: "pilot", Nonce: r.Int64()}
		for i := range p.Request {
			p.Request[i] = byte(r.Uint32())
		}
		leases := f.pull(r, p, done, most)
		for _, l := range leases {
			key := lease.Key{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}
			all.mu.Lock()
			all.given[key]++
			all.mu.Unlock()
			end := lease.End{Key: key, Outcome: entry.Finished}
			if r.IntN(10) == 0 {
				end.Outcome = entry.Failed
			}
			if is, outcome := f.finish(r, end); is {
				all.mu.Lock()
				all.recorded[key] = outcome
				all.mu.Unlock()
				if outcome == entry.Finished {
					done.Add(1)
				}
			}
		}
	}
}

// pull asks until it is answered; a repeat has the same request.
func (f *fleet) pull(r *rand.Rand, p machine.Pull, done *atomic.Int64, most int64) []machine.Lease {
	for done.Load() < most {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		leases, err := f.any(r).pull(ctx, p, 200*time.Millisecond)
		cancel()
		switch {
		case err == nil:
			return leases
		case errors.Is(err, ErrNoJobs), errors.Is(err, ErrRequestOver):
			return nil
		}
	}
	return nil
}

// finish says how an attempt ended until that is answered.
func (f *fleet) finish(r *rand.Rand, end lease.End) (is bool, outcome entry.Outcome) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		verdicts, err := f.any(r).finish(ctx, []lease.End{end})
		cancel()
		if err == nil {
			return verdicts[0].Is, verdicts[0].Outcome
		}
	}
}

// Daemons die, are cut off and come back while pilots work, on a real database: every attempt has one holder, what was recorded is in
// the log, each job finishes once, and the tables are what the log says.
func TestDaemonsComeAndGo(t *testing.T) {
	for seed := range uint64(2) {
		t.Run("", func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			v := siteOf(20, 2)
			f := &fleet{stage: newTables(t), site: v, daemons: map[int64]*member{}}
			for range 3 {
				f.start(t)
			}
			defer func() {
				for no := range f.daemons {
					f.daemons[no].kill()
				}
			}()
			f.stage.Dispatcher = f.any(r).Dispatcher
			const jobs = 3000
			f.stage.stock(t, v, jobs)
			all, done := &told{given: map[lease.Key]int{}, recorded: map[lease.Key]entry.Outcome{}}, &atomic.Int64{}
			var pilots sync.WaitGroup
			for i := range 8 {
				pilots.Go(func() { f.pilot(rand.New(rand.NewPCG(seed, uint64(100+i))), all, done, jobs*95/100) })
			}
			for _, part := range []int64{20, 45, 70} { // what is done, in hundredths, when the next fault comes
				waitFor(t, func() bool { return done.Load() >= jobs*part/100 })
				switch victim := f.any(r); r.IntN(3) {
				case 0:
					f.stop(victim)
					f.start(t)
				case 1:
					victim.cut.Store(true)
					waitFor(t, func() bool { return done.Load() >= jobs*(part+5)/100 })
					victim.cut.Store(false)
				case 2:
					victim.Drain()
				}
				if _, err := f.any(r).Fold(t.Context(), 1000); err != nil {
					t.Fatal(err)
				}
			}
			pilots.Wait()
			f.check(t, all)
		})
	}
}

// waitFor polls a condition that work in progress makes true.
func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatal("it does not come true")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// check reads the whole log, applies it, and holds it against what pilots were told.
func (f *fleet) check(t *testing.T, all *told) {
	d := f.any(rand.New(rand.NewPCG(1, 1)))
	m, ended := machine.New(machine.Config{}), map[lease.Key]entry.Outcome{}
	finished := map[int64]int{}
	for seq := int64(0); ; {
		batches, err := world{d.Dispatcher}.Read(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if len(batches) == 0 {
			break
		}
		for _, b := range batches {
			for _, e := range b.Entries {
				if e, ok := e.(entry.Ended); ok {
					if l, ok := m.Lease(e.Job); ok {
						ended[lease.Key{Job: l.Job, Attempt: l.Attempt, Nonce: l.Nonce}] = e.Outcome
					}
					if e.Outcome == entry.Finished {
						finished[e.Job]++
					}
				}
				if err := m.Apply(e); err != nil {
					t.Fatalf("batch %d: %v", b.Seq, err)
				}
			}
			m.Reach(b.Seq, b.ID)
			seq = b.Seq
		}
	}
	for key, outcome := range all.recorded {
		if ended[key] != outcome {
			t.Errorf("%+v was recorded as %c, the log has %q", key, outcome, ended[key])
		}
	}
	for key, n := range all.given {
		if n > 1 {
			t.Errorf("%+v was given %d times", key, n)
		}
	}
	for id, n := range finished {
		if n > 1 {
			t.Errorf("job %d finished %d times", id, n)
		}
	}
	f.checkTables(t, d.Dispatcher)
}

// checkTables folds what is left, and compares tables and log.
func (f *fleet) checkTables(t *testing.T, d *Dispatcher) {
	for n := 1; n > 0; {
		var err error
		if n, err = d.Fold(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
	}
	wrong, err := d.folder.Compare(t.Context())
	if err != nil || len(wrong) > 0 {
		t.Errorf("%v, %d differences between tables and log: %v", err, len(wrong), wrong[:min(len(wrong), 5)])
	}
}
